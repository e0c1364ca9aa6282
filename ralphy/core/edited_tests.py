"""Tests that were edited: whether their old versions are worth a run, and which of what fails there are theirs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ralphy.core.cases import Case
from ralphy.core.runner_output import named
from ralphy.core.runs import Key

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


def theirs(names: Iterable[str], cases: Sequence[Case]) -> Mapping[str, Sequence[str]]:
    """The failing tests that are written among these cases, each once, by the file that they are written in."""
    first: dict[Case, str] = {}
    for name in map(named, names):
        case = next(filter(Key.of(name).means, cases), None)
        if case:
            first.setdefault(case, name)
    return {path: [name for case, name in first.items() if case.path == path] for path in {c.path: 0 for c in first}}
