"""What the commands of checks run: recipes of a Makefile, scripts of a package.json."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence

SETTINGS = ("jest", "vitest", "mocha", "ava")
_RULE = re.compile(r"^([^\s#=:][^=:#]*?)\s*:{1,2}(?!=)\s*([^=]*)$")
_VARIABLE = re.compile(r"^\s*(?:export\s+|override\s+)?([\w.-]+)\s*[:?+!]*=")


def added_lines(old: str, new: str) -> list[str]:
    """The lines that `new` has and `old` has not."""
    return list((Counter(new.splitlines()) - Counter(old.splitlines())).elements())


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
