"""The tests as they are written in the files that a story changed, before and after."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from ralphy.checks.listing import Listing
from ralphy.engine.verify.case import Case, Change, Places, source_of
from ralphy.engine.workspace.changes import files_of, shown
from ralphy.testguard.kept.test_matching import Sources
from ralphy.testguard.read.assertions import FUNCTION, assertions
from ralphy.testguard.read.test_parser import Case as WrittenTest
from ralphy.testguard.read.test_parser import functions_of, is_named_test, parsed, python_cases
from ralphy.testguard.read.text_test_parser import has_tests_beside_code, text_cases
from ralphy.testguard.substance import is_test

_MOST_FILES = 2_000

_Files = list[tuple[str, bytes]]


def sources(c: Case, known: Listing) -> Sources:
    """Read what holds tests: by the file's name, or because the runner said so in `known`."""
    changes = list(_of_tests(c, Places.of([known])))
    old = [(one.name, one.old) for one in changes if one.old is not None]
    new = [(one.name, one.new) for one in changes if one.new is not None]
    callers = _callers(c, _lessened(old, new))
    old, new = old + callers, new + callers
    unread = frozenset(path for path, data in new if path.endswith(".py") and parsed(data) is None)
    return Sources(tests_in(old), tests_in(new), frozenset(map(shown, c.candidate.files)), unread)


def _of_tests(c: Case, places: Places) -> Iterator[Change]:
    left = _MOST_FILES
    for change in c.changes:
        if left and (is_test(change.path) or has_tests_beside_code(change.path) or places.has(change.path)):
            left -= 1
            yield change


def tests_in(files: Sequence[tuple[str, bytes]]) -> list[WrittenTest]:
    """The tests that are written in files, as far as their language is known."""
    trees = [(path, tree) for path, data in files if path.endswith(".py") and (tree := parsed(data)) is not None]
    shared = functions_of([tree for _, tree in trees])
    read = [case for path, tree in trees for case in python_cases(path, tree, shared)]
    return read + [case for path, data in files for case in text_cases(path, data.decode("utf-8", "replace"))]


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


def _callers(c: Case, names: frozenset[str]) -> _Files:
    """The files of Python tests that the story did not touch, and that speak of one of these names."""
    found: _Files = []
    words = [name.encode() for name in names]
    for path, entry in files_of(c.w, c.tree) if words else ():
        if path.endswith(".py") and is_test(path) and path not in c.candidate.files and len(found) < _MOST_FILES:
            data = source_of(c.w, entry) or b""
            found += [(shown(path), data)] if any(word in data for word in words) else []
    return found
