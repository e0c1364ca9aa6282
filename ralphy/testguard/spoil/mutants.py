"""Mutants: a line of code spoiled so that the program may do something else, to ask whether any check notices.

The operators are the usual ones of mutation testing (DeMillo, Lipton, Sayward, 1978): comparisons, arithmetic, logic,
constants. Texts and comments are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ralphy.testguard.read.test_parser import parsed

_MOST_BYTES = 1_000_000
# In this order: a line gets the first that fits. Generics, pointers and decorators look like operators without spaces.
_SWAPS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(old), new)
    for old, new in (
        (r"===", "!=="), (r"!==", "==="), (r"==", "!="), (r"!=", "=="), (r" <= ", " > "), (r" >= ", " < "),
        (r" < ", " >= "), (r" > ", " <= "), (r"&&", "||"), (r" \|\| ", " && "), (r"\band\b", "or"), (r"\bor\b", "and"),
        (r"\bif not\b", "if"), (r"\bnot in\b", "in"), (r" \+ ", " - "), (r" - ", " + "), (r" / ", " + "),
        (r"\+=", "-="), (r"-=", "+="), (r"\bTrue\b", "False"), (r"\bFalse\b", "True"), (r"\btrue\b", "false"),
        (r"\bfalse\b", "true"), (r"(?<![\w.$])(\d{1,9})(?![\w.])", "+1"),
    )
)  # fmt: skip
_TEXTS = re.compile(
    r'"""[\s\S]*?"""|\'\'\'[\s\S]*?\'\'\'|/\*[\s\S]*?\*/|`(?:\\[\s\S]|[^`\\])*`|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
)
_COMMENT = {"#": re.compile(r"#.*"), "//": re.compile(r"//.*"), "--": re.compile(r"--.*")}
_HASHED = ("py", "rb", "sh", "r", "pl", "ex", "exs", "jl", "nim")
_NO_STATEMENT = re.compile(r"\s*(?:@|import\b|from\b|use\b|package\b|#include\b|#\[|require\b|export \* )")


@dataclass(frozen=True, slots=True)
class Mutant:
    """Line `line` (from 1) of the file at `path`, which is `old`, and `new` in its place; both without margins."""

    path: str
    line: int
    old: str
    new: str

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}"

    def spoiled(self, data: bytes) -> bytes:
        lines = data.decode().splitlines(keepends=True)
        lines[self.line - 1] = lines[self.line - 1].replace(self.old, self.new, 1)
        return "".join(lines).encode()


def mutants_of(path: str, data: bytes) -> list[Mutant]:
    """At most one for each line of the file; none of what is not text, and of Python none that cannot be parsed."""
    try:
        text = data.decode() if len(data) <= _MOST_BYTES else ""
    except UnicodeDecodeError:
        return []
    found = _each(path, text)
    return [one for one in found if parsed(one.spoiled(data)) is not None] if path.endswith(".py") else list(found)


def _each(path: str, text: str) -> Iterator[Mutant]:
    bare = _TEXTS.sub(lambda match: re.sub(r"[^\n]", "\0", match[0]), text)
    ending = path.rpartition(".")[2].lower()
    comment = _COMMENT["#" if ending in _HASHED else "--" if ending in ("lua", "hs", "elm", "sql") else "//"]
    for number, (line, code) in enumerate(zip(text.splitlines(), bare.splitlines(), strict=False), start=1):
        code = comment.sub("", code)
        if _NO_STATEMENT.match(code):
            continue
        for pattern, new in _SWAPS:
            if match := pattern.search(code):
                to = str(int(match[1]) + 1) if new == "+1" else new
                spoiled = line[: match.start()] + to + line[match.end() :]
                yield Mutant(path, number, line.strip(), spoiled.strip())
                break
