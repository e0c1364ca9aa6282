"""What the commands of checks run: recipes of a Makefile, scripts of a package.json, and when they became greener."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence

# What swallows a failure, or leaves tests out, in a shell line.
_GREENER = re.compile(
    r"\|\|\s*(?:(?:/usr)?(?:/bin/)?true|:|exit 0|echo|printf)|;\s*(?:true|exit 0)\b|^\t@?-|\bset \+e\b|\bexit 0\b"
    r"|--ignore\b|--ignore-glob|--deselect|--collect-only|--co\b|-p[ =]?no:|--testPathIgnorePatterns|--passWithNoTests"
    r"|--testNamePattern|--test-skip-pattern|--no-run\b|--exclude\b|--skip\b|\bpytest\b.*\s-[km]\b"
    r"|(?<!&)&\s*$|\bPYTHONOPTIMIZE\b|\bpython[\d.]*\s+-O|[)}]\s+-OO?\s+-m|--assert[ =]plain"
)
# Lines that swallow what is no check's business: whether a file could be removed.
_HOUSEKEEPING = re.compile(
    r"[\t @+-]*(?:rm|mkdir|touch|cp|mv|ln|kill|pkill|echo|printf|docker (?:rm|stop|network|volume))\b[^;&|]*"
    r"(?:2>&1\s*)?(?:\|\|\s*(?:true|:)\s*)?$"
)
SETTINGS = ("jest", "vitest", "mocha", "ava")
_BENT_MAKE = re.compile(
    r"^\s*(?:export\s+|override\s+)*(?:SHELL\s*[:?+!]*=\s*(?!(?:\S*/)?(?:env\s+)?(?:ba|da|z|k|a)?sh\b|\$)\S"
    r"|(?:GNU)?MAKEFLAGS\s*[:?+!]*=.*(?<![\w-])(?:-[^\WCIOWfjlo]*[inqt]\w*(?![\w-])"
    r"|--(?:ignore-errors|dry-run|just-print|touch|question)\b)"
    r"|\.SHELLFLAGS\s*[:?+!]*=(?!.*c\s*$))|^\.IGNORE\b"
)
_NOTHING = re.compile(r"\s*@?(?:(?:echo|printf)\b.*|true|:|exit 0|#.*|set -.*|)$")
_RULE = re.compile(r"^([^\s#=:][^=:#]*?)\s*:{1,2}(?!=)\s*([^=]*)$")
_VARIABLE = re.compile(r"^\s*(?:export\s+|override\s+)?([\w.-]+)\s*[:?+!]*=")


def added_lines(old: str, new: str) -> list[str]:
    """The lines that `new` has and `old` has not."""
    return list((Counter(new.splitlines()) - Counter(old.splitlines())).elements())


def is_greener(old: str, new: str) -> bool:
    """Was something added that swallows failures or leaves tests out, or is nothing left that could fail?"""
    is_empty = all(_NOTHING.match(line) for line in new.splitlines())
    added = (line for line in added_lines(old, new) if not _HOUSEKEEPING.match(line))
    return is_empty or any(_GREENER.search(line) for line in added)


def bends_make(old: str, new: str) -> bool:
    """Was something added that changes how make runs every recipe: another shell, `.IGNORE`, flags?"""
    return any(_BENT_MAKE.match(line) for line in added_lines(old, new))


def recipes_of(kind: str, text: str, called: Sequence[str] = ()) -> dict[str, str]:
    """The recipes in a file, by name; of a Makefile those that `called` targets need, with their variables."""
    return _scripts(text) if kind == "package.json" else _targets(text, called)


def _scripts(text: str) -> dict[str, str]:
    """The scripts, and the settings of jest and vitest, of a package.json; none if it is no JSON."""
    try:
        found = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict):
        return {}
    scripts = found.get("scripts")
    named = {str(k): str(v) for k, v in scripts.items()} if isinstance(scripts, dict) else {}
    return {**named, **{key: json.dumps(found[key]) for key in SETTINGS if key in found}}


def _targets(text: str, called: Sequence[str]) -> dict[str, str]:
    blocks, needs, variables, first = _parsed(text)
    wanted = [word or first for word in called if not word.startswith("-") and "=" not in word] or [first]
    found: dict[str, str] = {}
    while wanted:
        name = wanted.pop()
        if name in found or name not in blocks:
            continue
        found[name] = "\n".join(blocks[name] + _used(blocks[name], variables))
        wanted += needs[name]
    return found


def _used(lines: Sequence[str], variables: Mapping[str, str]) -> list[str]:
    names = re.findall(r"\$[({]([\w.-]+)[)}]", "\n".join(lines))
    return [variables[name] for name in dict.fromkeys(names) if name in variables]


def _parsed(text: str) -> tuple[dict[str, list[str]], dict[str, list[str]], dict[str, str], str]:
    """(recipe lines, needed targets, variables) by name, and the first target."""
    blocks: dict[str, list[str]] = {}
    needs: dict[str, list[str]] = {}
    variables: dict[str, str] = {}
    first = ""
    current: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.startswith("\t"):
            for name in current:
                blocks[name].append(line)
        elif (variable := _VARIABLE.match(line)) and not _RULE.match(line):
            variables[variable[1]] = line
        elif rule := _RULE.match(line):
            current = rule[1].split()
            for name in current:
                blocks.setdefault(name, [])
                needs.setdefault(name, []).extend(rule[2].split())
            first = first or next((name for name in current if not name.startswith(".")), "")
    return blocks, needs, variables, first
