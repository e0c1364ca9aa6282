"""Tests that were edited: whether their old versions are worth a run, and which of what fails there are theirs."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from ralphy.checks.runner_output import named
from ralphy.testguard.assertions import FUNCTION, names_in
from ralphy.testguard.test_keys import Key
from ralphy.testguard.test_parser import Case, parsed

_CLOSING = " ;})"


def is_edited(old: str, new: str, before: Sequence[Case], after: Iterable[Case]) -> bool:
    """Was anything changed or taken out? What was only added behind, between or before the tests is no edit."""
    if not is_same(before, after):
        return True
    left = iter([line.strip() for line in new.splitlines()])
    return not all(line in left for line in map(str.strip, old.splitlines()) if line)


def is_same(before: Iterable[Case], after: Iterable[Case]) -> bool:
    """Are these tests all among those, as they were?"""
    kept = {(case.name, case.body.rstrip(_CLOSING)) for case in after}
    return all((case.name, case.body.rstrip(_CLOSING)) in kept for case in before)


def only_offers(old: bytes, new: bytes) -> bool:
    """Did a conftest, or another module beside tests, only get what tests have to ask for: functions and imports?"""
    before, after = parsed(old), parsed(new)
    if before is None or after is None:
        return False
    was, now = (Counter(map(ast.dump, tree.body)) for tree in (before, after))
    added = [node for node in after.body if not was[ast.dump(node)]]
    return not was - now and all(map(_is_offer, added))


def _is_offer(node: ast.stmt) -> bool:
    """A function that no runner calls by itself, or an import of names."""
    if isinstance(node, FUNCTION):
        words = [word.arg for mark in node.decorator_list if isinstance(mark, ast.Call) for word in mark.keywords]
        is_plain = all(names_in(mark) <= {"fixture", "pytest"} for mark in node.decorator_list)
        return is_plain and "autouse" not in words and not node.name.startswith("pytest_")
    return isinstance(node, ast.ImportFrom | ast.Import)


def theirs(names: Iterable[str], cases: Sequence[Case]) -> Mapping[str, Sequence[str]]:
    """The failing tests that are written among these cases, each once, by the file that they are written in."""
    first: dict[Case, str] = {}
    for name in map(named, names):
        case = next(filter(Key.of(name).means, cases), None)
        if case:
            first.setdefault(case, name)
    return {path: [name for case, name in first.items() if case.path == path] for path in {c.path: 0 for c in first}}
