"""The parts of a change: what can be taken back alone, to ask whether any test would miss it.

Lines of git's zero-context hunks, with long additions split where a new block begins; comments, white space, type
annotations and docstrings are no parts: no test can miss them. Nor is what leaves no program when it is taken back.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from ralphy.testguard.substance import FileChange, is_manifest, is_test, why_no_work
from ralphy.testguard.test_parser import parsed

_MOST_LINES = 10_000


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
        """The new file without this part."""
        lines = new.splitlines(keepends=True)
        return b"".join([*lines[: self.begin], *self.old, *lines[self.end :]])


def hunks_of(change: FileChange) -> Iterator[Hunk]:
    """The parts of a changed file of code; none of tests, manifests, links, bytes and what is only documented."""
    is_code = not (is_test(change.path) or is_manifest(change.path)) and change.mode.startswith("100")
    if change.new is None or b"\0" in change.new or not is_code:
        return
    old, new = ((data or b"").splitlines(keepends=True) for data in (change.old, change.new))
    if len(old) + len(new) > _MOST_LINES:
        return
    bare = _bare(change.new) if change.path.endswith(".py") else None
    for was, until, begin, end in _split(SequenceMatcher(None, old, new, autojunk=False), new):
        hunk = Hunk(change.path, begin, end, tuple(old[was:until]))
        if _is_code(change, hunk, bare):
            yield hunk


def without_all(hunks: Sequence[Hunk], new: bytes) -> bytes:
    """The new file without any of these parts, which stand in their order."""
    for hunk in reversed(hunks):
        new = hunk.taken_back(new)
    return new


def _split(matcher: SequenceMatcher[bytes], new: Sequence[bytes]) -> Iterator[tuple[int, int, int, int]]:
    """(begin and end in the old file, begin and end in the new one) of each part."""
    for tag, was, until, begin, end in matcher.get_opcodes():
        if tag == "delete":
            yield was, until, begin, end
        elif tag != "equal":
            for first, last in _blocks(new, begin, end):
                yield (was, until, first, last) if first == begin else (until, until, first, last)


def _blocks(lines: Sequence[bytes], begin: int, end: int) -> Iterator[tuple[int, int]]:
    """A run of added lines, split behind blank lines where the code is no deeper than at its beginning."""
    depth = next((_depth(line) for line in lines[begin:end] if line.strip()), 0)
    first = begin
    for at in range(begin + 1, end):
        is_new = lines[at].strip() and not lines[at - 1].strip() and _depth(lines[at]) <= depth
        if is_new:
            yield first, at
            first = at
    yield first, end


def _depth(line: bytes) -> int:
    return len(line) - len(line.lstrip())


def _is_code(change: FileChange, hunk: Hunk, bare: str | None) -> bool:
    """Would the program be another one without this part? Of Python, whose program as it is is `bare`: is there one
    without it, and does it differ in more than docstrings and annotations?"""
    new = change.new or b""
    without = hunk.taken_back(new)
    if why_no_work([FileChange(change.path, without, new)]):
        return False
    return not change.path.endswith(".py") or _bare(without) not in (None, bare)


def _bare(data: bytes) -> str | None:
    """Python without docstrings and annotations; None if it cannot be parsed."""
    tree = parsed(data)
    if tree is None:
        return None
    for node in ast.walk(tree):
        _strip(node)
    return ast.dump(tree)


def _strip(node: ast.AST) -> None:
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(node):
        node.body = node.body[1:] or [ast.Pass()]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        node.returns = None
    if isinstance(node, ast.arg):
        node.annotation = None
