"""The tests as they are written in the files that a story changed, before and after."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ralphy.checks.listing import Listing
from ralphy.engine.lane_use.checks import argv
from ralphy.engine.lane_use.take_over import Candidate
from ralphy.engine.workspace.changes import files_of, shown
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.objects import Entry
from ralphy.testguard.findings import Finding, Kind
from ralphy.testguard.kept.surroundings import around, is_run, may_deafen, untold
from ralphy.testguard.kept.test_keys import Key
from ralphy.testguard.kept.test_matching import Sources
from ralphy.testguard.kept.tests_kept import may_go
from ralphy.testguard.read.assertions import FUNCTION, assertions
from ralphy.testguard.read.silencers import skips_others
from ralphy.testguard.read.test_parser import Case, functions_of, is_named_test, parsed, python_cases
from ralphy.testguard.read.text_test_parser import has_tests_beside_code, language_of, text_cases
from ralphy.testguard.substance import is_test

_MOST_BYTES = 2_000_000
_MOST_FILES = 2_000
_CONFIGS = {"pyproject.toml": "[tool.pytest", "tox.ini": "[pytest]", "setup.cfg": "[tool:pytest]"}

_Files = list[tuple[str, bytes]]


def sources(w: Workspace, candidate: Candidate, known: Listing) -> Sources:
    """Read what holds tests: by the file's name, or because the runner said so in `known`."""
    old: _Files = []
    new: _Files = []
    for path, was, now in _test_files(w, candidate, known):
        old += _read(w, path, was)
        new += _read(w, path, now)
    callers = _callers(w, candidate, _lessened(old, new))
    old, new = old + callers, new + callers
    unread = frozenset(path for path, data in new if path.endswith(".py") and parsed(data) is None)
    return Sources(_cases(old), _cases(new), frozenset(map(shown, candidate.files)), unread)


def _lessened(old: _Files, new: _Files) -> frozenset[str]:
    """The helpers among the tests that assert less than before, or are gone: their callers may assert less.

    What is imported instead may be the same; it is not read.
    """
    before, after = _strengths(old), _strengths(new)
    theirs = {alias.asname or alias.name for _, data in new for node in ast.walk(parsed(data) or ast.Module([], []))
              if isinstance(node, ast.ImportFrom) for alias in node.names}  # fmt: skip
    return frozenset(name for name, strength in before.items()
                     if strength > after.get(name, 0) and (name in after or name not in theirs))  # fmt: skip


def _strengths(files: _Files) -> dict[str, int]:
    """How many assertions the functions hold that are not tests, by name."""
    trees = [tree for path, data in files if path.endswith(".py") and (tree := parsed(data)) is not None]
    helpers = functions_of(trees)
    return {name: len(list(assertions(node, helpers))) for name, node in helpers.items()
            if isinstance(node, FUNCTION) and not is_named_test(node)}  # fmt: skip


def _callers(w: Workspace, candidate: Candidate, names: frozenset[str]) -> _Files:
    """The files of Python tests that the story did not touch, and that speak of one of these names."""
    found: _Files = []
    words = [name.encode() for name in names]
    for path, entry in files_of(w, candidate.tree) if words else ():
        if path.endswith(".py") and is_test(path) and path not in candidate.files and len(found) < _MOST_FILES:
            found += [(name, data) for name, data in _read(w, path, entry) if any(word in data for word in words)]
    return found


@dataclass(frozen=True, slots=True)
class Around:
    """What the story changed around the tests: what is said of it, the files after which checks are asked whether they
    can still say no, and the runner's settings and what checks run, as they were (None: not there)."""

    found: tuple[Finding, ...] = ()
    asks: tuple[str, ...] = ()
    old: Mapping[str, Entry | None] = field(default_factory=dict)


def changes_around(w: Workspace, candidate: Candidate, removes: Sequence[str], *, is_listed: bool) -> Around:
    """What the story changed around the tests; `removes` names tests that may go."""
    named = frozenset(word for check in w.checks for word in argv(check))
    changes = list(w.objects.changes(candidate.green, candidate.tree))
    places = [now for _, was, now in changes if now and now != was]
    found: list[Finding] = []
    asks: list[str] = []
    settings: dict[str, Entry | None] = {}
    for path, was, now in changes:
        if was == now:
            continue
        is_untold = was and not is_listed and is_test(path) and not _is_read(path)
        if is_untold and not may_go(shown(path), removes) and not (now is None and was in places):
            found.append(untold(shown(path), is_gone=now is None))
        old, new, plain = _text(w, was), _text(w, now), shown(path)
        found += around(plain, old, new, named)
        found += _overrides(w, candidate, path) if was is None else ()
        found += _skips_others(w, path, was, now) if path.rpartition("/")[2] == "conftest.py" else ()
        if may_deafen(plain, old, new, named):
            asks.append(path)
        if is_run(plain, named):
            settings[path] = was
    return Around(tuple(found), tuple(asks), settings)


def _overrides(w: Workspace, candidate: Candidate, path: str) -> Iterator[Finding]:
    """A new configuration of pytest, beside one that it hides."""
    folder, mark, name = path.rpartition("/")
    for other, section in _CONFIGS.items() if name in ("pytest.ini", ".pytest.ini") else ():
        if section in (_text(w, w.objects.at(candidate.tree, f"{folder}{mark}{other}")) or ""):
            yield Finding(Kind.RUNNER, f"{shown(path)} overrides {folder}{mark}{other}")


def _is_read(path: str) -> bool:
    """Is the language of a file of tests known?"""
    return path.endswith(".py") or language_of(path) is not None


def _skips_others(w: Workspace, path: str, was: Entry | None, now: Entry | None) -> Iterator[Finding]:
    """A conftest that skips tests in a new way: one that was skipped before may never run because of it."""
    before, after = (skips_others(parsed(_data(w, entry) or b"")) for entry in (was, now))
    if after - before:
        yield Finding(Kind.EDITED, f"{shown(path)} skips tests now, or expects them to fail")


def _text(w: Workspace, entry: Entry | None) -> str | None:
    data = _data(w, entry)
    return None if data is None else data.decode("utf-8", "replace")


def _test_files(w: Workspace, candidate: Candidate, known: Listing) -> Iterator[tuple[str, Entry | None, Entry | None]]:
    places = {Key.of(test).path for test in known.tests} - {""}
    below = tuple(f"/{place}" for place in places)
    left = _MOST_FILES
    for path, was, now in w.objects.changes(candidate.green, candidate.tree):
        if left and (is_test(path) or has_tests_beside_code(path) or path in places or path.endswith(below)):
            left -= 1
            yield path, was, now


def _read(w: Workspace, path: str, entry: Entry | None) -> _Files:
    data = _data(w, entry)
    return [] if data is None else [(shown(path), data)]


def _data(w: Workspace, entry: Entry | None) -> bytes | None:
    """The bytes of a file that is neither a link nor too large to be source."""
    data = w.objects.read(entry.oid) if entry and entry.mode.startswith("100") else None
    return data if data is not None and len(data) <= _MOST_BYTES else None


def _cases(files: Sequence[tuple[str, bytes]]) -> list[Case]:
    trees = [(path, tree) for path, data in files if path.endswith(".py") and (tree := parsed(data)) is not None]
    shared = functions_of([tree for _, tree in trees])
    read = [case for path, tree in trees for case in python_cases(path, tree, shared)]
    return read + [case for path, data in files for case in text_cases(path, data.decode("utf-8", "replace"))]
