"""The hunks of a change: what can be taken back alone, to see whether any test needs it.

They are those of `git diff --unified=0`; an addition is split behind blank lines, where the next block begins. What no
test can need is left out: comments, white space, docstrings, tests and manifests. So is what leaves no program when it
is taken back.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ralphy.testguard.substance import FileChange, is_manifest, is_test, why_no_work
from ralphy.testguard.test_files import parsed, tests_beside_code

_HEAD = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.M)
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines `begin` to `end` (from 0, `end` excluded) of the new file at `path`, which stand for the lines `old`."""

    path: str
    begin: int
    end: int
    old: tuple[bytes, ...]

    @property
    def place(self) -> str:
        """As people read it: `src/pay.py:40-52`."""
        last = max(self.begin + 1, self.end)
        return f"{self.path}:{self.begin + 1}" + (f"-{last}" if last > self.begin + 1 else "")

    def taken_back(self, new: bytes) -> bytes:
        """The new file without this hunk."""
        lines = _LINE.findall(new)
        return b"".join([*lines[: self.begin], *self.old, *lines[self.end :]])


def is_changed_code(change: FileChange) -> bool:
    """Is it a changed file of code; no test, manifest, link or bytes?"""
    is_code = not (is_test(change.path) or is_manifest(change.path)) and change.mode.startswith("100")
    return change.new is not None and b"\0" not in change.new and is_code


def hunks_of(change: FileChange, diff: bytes) -> Iterator[Hunk]:
    """The hunks of a changed file of code, whose diff without context this is."""
    new = change.new or b""
    before, after = _LINE.findall(change.old or b""), _LINE.findall(new)
    at = tests_beside_code(change.path, new.decode("latin-1"))
    tests = new.count(b"\n", 0, at) if at < len(new) else len(new) + 1
    for head in _HEAD.finditer(diff):
        (was, until), (begin, end) = _span(head[1], head[2]), _span(head[3], head[4])
        old = tuple(before[was:until])
        for first, last in _blocks(after, begin, end):
            hunk, old = Hunk(change.path, first, last, old), ()
            if first < tests and _does_something(change, hunk):
                yield hunk


def _span(first: bytes, number: bytes | None) -> tuple[int, int]:
    """Where lines begin (from 0) and end; of no lines git names the line before them."""
    count = 1 if number is None else int(number)
    begin = int(first) - 1 if count else int(first)
    return begin, begin + count


def _blocks(lines: Sequence[bytes], begin: int, end: int) -> Iterator[tuple[int, int]]:
    """A run of lines, split at blank ones where the code is no deeper than at its beginning; without these."""
    depth = next((_depth(line) for line in lines[begin:end] if line.strip()), 0)
    first = begin
    for at in range(begin + 1, end):
        if lines[at].strip() and not lines[at - 1].strip() and _depth(lines[at]) <= depth:
            yield _without_blank(lines, first, at)
            first = at
    yield _without_blank(lines, first, end)


def _without_blank(lines: Sequence[bytes], begin: int, end: int) -> tuple[int, int]:
    while begin < end and not lines[begin].strip():
        begin += 1
    while begin < end and not lines[end - 1].strip():
        end -= 1
    return begin, end


def _depth(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def _does_something(change: FileChange, hunk: Hunk) -> bool:
    """Is the program another one without this hunk? Of Python: is there one, and does it differ in more than texts?"""
    new = change.new or b""
    without = hunk.taken_back(new)
    if change.path.endswith(".py"):
        return _program(without) not in (None, _program(new))
    return not why_no_work([FileChange(change.path, without, new)])


def _program(data: bytes) -> str | None:
    """Python without docstrings and what stands for nothing; None if it cannot be parsed."""
    tree = parsed(data)
    if tree is None:
        return None
    for node in ast.walk(tree):
        if isinstance(body := getattr(node, "body", None), list):
            vars(node)["body"] = [one for one in body if not _is_silent(one)]
    return ast.dump(tree)


def _is_silent(node: ast.stmt) -> bool:
    match node:
        case ast.Expr(ast.Constant()) | ast.Pass() | ast.ImportFrom(module="__future__"):
            return True
    return False
