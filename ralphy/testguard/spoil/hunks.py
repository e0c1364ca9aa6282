"""The parts of a change: what can be taken back alone, to ask whether any test would miss it.

Lines of git's zero-context hunks, with long additions split where a new block begins. In what is added, each function
is a part that can be made to do nothing, and each compound statement one that can be left out. Comments, white space,
type annotations, docstrings, lines that log and tests are not parts: no test can miss them. Nor is what leaves no
program when it is taken back.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from ralphy.testguard.read.test_parser import parsed
from ralphy.testguard.spoil.statements import is_silent, without_each
from ralphy.testguard.substance import FileChange, is_manifest, is_test, why_no_work

_MOST_LINES = 10_000
_NO_CODE = (b"#", b"//", b"/*", b"*", b"@", b"--")
_RUST_TESTS = re.compile(rb"^#\[cfg\(test\)\]\s*mod\b", re.M)


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines `begin` to `end` (from 0, `end` excluded) of the new file at `path`, which stand for the lines `old`.

    The parts `within` it can be taken back as well, each alone; they overlap this one. `old` may also stand for lines
    `ahead` of `begin`: an `else` is turned off where its condition is.
    """

    path: str
    begin: int
    end: int
    old: tuple[bytes, ...]
    within: tuple[Hunk, ...] = ()
    ahead: int = 0

    @property
    def place(self) -> str:
        """As people read it: `src/pay.py:40-52`."""
        last = max(self.begin + 1, self.end)
        return f"{self.path}:{self.begin + 1}" + (f"-{last}" if last > self.begin + 1 else "")

    def taken_back(self, new: bytes) -> bytes:
        """The new file without this part."""
        lines = new.splitlines(keepends=True)
        return b"".join([*lines[: self.begin - self.ahead], *self.old, *lines[self.end :]])


def hunks_of(change: FileChange) -> Iterator[Hunk]:
    """The parts of a changed file of code; none of tests, manifests, links, bytes and what is only documented."""
    is_code = not (is_test(change.path) or is_manifest(change.path)) and change.mode.startswith("100")
    if change.new is None or b"\0" in change.new or not is_code:
        return
    old, new = ((data or b"").splitlines(keepends=True) for data in (change.old, change.new))
    if len(old) + len(new) > _MOST_LINES:
        return
    bare = _bare(change.new) if change.path.endswith(".py") else None
    inner = sorted(_inner(change.path, change.new), key=lambda part: (part.begin, -part.end))
    tests = _first_test(change.path, change.new)
    for was, until, begin, end in _split(SequenceMatcher(None, old, new, autojunk=False), new):
        hunk = Hunk(change.path, begin, end, tuple(old[was:until]))
        if begin < tests and _is_code(change, hunk, bare):
            yield _with_inner(hunk, _inside(hunk, inner), new)


def _inner(path: str, new: bytes) -> Iterator[Hunk]:
    """The functions and compound statements of a file, each standing for the lines that are there without it."""
    before = new.splitlines(keepends=True)
    for begin, end, data in without_each(path, new):
        lines = data.splitlines(keepends=True)
        first = next((at for at in range(begin) if lines[at] != before[at]), begin)
        yield Hunk(path, begin, end, tuple(lines[first : len(lines) - len(before) + end]), ahead=begin - first)


def _inside(part: Hunk, others: Sequence[Hunk]) -> list[Hunk]:
    return [other for other in others if part.begin <= other.begin and other.end <= part.end]


def _with_inner(hunk: Hunk, inner: Sequence[Hunk], lines: Sequence[bytes]) -> Hunk:
    """The part with those inside of it; where one of them is all of its code, and new, that one in its place."""
    tops: list[Hunk] = []
    for part in inner:
        if not tops or part.end > tops[-1].end:
            tops.append(part)
    found = tuple(_with_inner(top, [part for part in _inside(top, inner) if part != top], lines) for top in tops)
    if len(found) != 1 or any(_is_said(line) for line in _around(hunk, found[0], lines)):
        return replace(hunk, within=found)
    return replace(hunk, within=found[0].within) if any(map(_is_said, hunk.old)) else found[0]


def _around(hunk: Hunk, part: Hunk, lines: Sequence[bytes]) -> Sequence[bytes]:
    return [*lines[hunk.begin : part.begin], *lines[part.end : hunk.end]]


def _is_said(line: bytes) -> bool:
    """Does a line say something to a program, as far as its beginning tells?"""
    return bool(line.strip()) and not line.lstrip().startswith(_NO_CODE)


def _first_test(path: str, new: bytes) -> int:
    """The line where a file of Rust has its own tests, which stand at its end."""
    found = _RUST_TESTS.search(new) if path.endswith(".rs") else None
    return new.count(b"\n", 0, found.start()) if found else len(new) + 1


def without_all(hunks: Sequence[Hunk], new: bytes) -> bytes:
    """The new file without any of these parts, which stand in their order."""
    for hunk in reversed(hunks):
        new = hunk.taken_back(new)
    return new


def _split(matcher: SequenceMatcher[bytes], new: Sequence[bytes]) -> Iterator[tuple[int, int, int, int]]:
    """(begin and end in the old file, begin and end in the new one) of each part."""
    codes, free = matcher.get_opcodes(), 0
    for at, (tag, was, until, begin, end) in enumerate(codes):
        if tag == "insert":
            least, most = free, codes[at + 1][4] if at + 1 < len(codes) else end
            by = _slide(new, begin, end, least, most)
            was, until, begin, end = was + by, until + by, begin + by, end + by
        if tag == "delete":
            yield was, until, begin, end
        elif tag != "equal":
            for first, last in _blocks(new, begin, end):
                yield (was, until, first, last) if first == begin else (until, until, first, last)
        free = end if tag != "equal" else free


def _slide(lines: Sequence[bytes], begin: int, end: int, least: int, most: int) -> int:
    """By how many lines added ones move, so that they begin with a block, not with the end of the one before.

    The lines before and behind them that are the same as theirs can stand for them.
    """
    ways = [0]
    while begin + ways[0] > least and lines[begin + ways[0] - 1] == lines[end + ways[0] - 1]:
        ways.insert(0, ways[0] - 1)
    while end + ways[-1] < most and lines[end + ways[-1]] == lines[begin + ways[-1]]:
        ways.append(ways[-1] + 1)

    def cost(way: int) -> tuple[int, bool]:
        first = lines[begin + way]
        return (_depth(first) if first.strip() else 10_000, begin + way > 0 and bool(lines[begin + way - 1].strip()))

    return min(ways, key=cost)


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
    if change.path.endswith(".py"):
        return _bare(without) not in (None, bare)
    return not why_no_work([FileChange(change.path, without, new)])


def _bare(data: bytes) -> str | None:
    """Python without what no test can miss; None if it cannot be parsed."""
    tree = parsed(data)
    if tree is None:
        return None
    for node in ast.walk(tree):
        _strip(node)
    return ast.dump(tree)


def _strip(node: ast.AST) -> None:
    for name in ("body", "orelse", "finalbody"):
        if isinstance(body := getattr(node, name, None), list):
            said = [one for one in body if not is_silent(one)]
            setattr(node, name, said or ([ast.Pass()] if name == "body" else []))
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        node.returns = None
    if isinstance(node, ast.arg):
        node.annotation = None
