"""Where a test may have gone to: the tests, written in the files that a story changed, that hold what it asserted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ralphy.testguard.findings import Kind
from ralphy.testguard.kept.test_index import Written
from ralphy.testguard.kept.test_keys import Key, Runs
from ralphy.testguard.read.test_parser import Case


@dataclass(frozen=True, slots=True)
class Sources:
    """The tests in the files that a story changed, before and after, and the names of all files that it changed.

    `unread` names files that are there, but whose syntax this Python does not know.
    """

    old: Sequence[Case] = ()
    new: Sequence[Case] = ()
    changed: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()


class Homes:
    """The tests of the changed files that run now."""

    def __init__(self, sources: Sources, old: Runs, new: Runs) -> None:
        self._changed, self._old_runs, self._new_runs = sources.changed, old, new
        self._old, self._new = Written(sources.old), Written(sources.new)
        self._room = {case: new.times(case) - old.times(case) for case in sources.new}

    def is_written(self, key: Key) -> bool:
        """Is there a test of that name in the files as they were before?"""
        return any(map(key.means, self._old.named(key.short)))

    def is_unchanged(self, key: Key) -> bool:
        """Is a test still written where it was, although it does not run?"""
        if key.path and not any(map(key.is_at, self._changed)):
            return True
        return any(map(key.means, self._new.named(key.short)))

    def has(self, key: Key, times: int) -> bool:
        """Is the test's body, or all that it asserts, in one that runs now?"""
        lost = next(filter(key.means, self._old.named(key.short)), None)
        if lost is None:
            return self._moved_unread(key)
        if any(holds(case, lost) for case in self._new.holding(lost) if self._new_runs.times(case)):
            return True
        for case in self._new.resembling(lost):
            if self._room[case] >= min(times, 1) and self._new_runs.times(case) and resembles(case, lost):
                self._room[case] -= 1
                return True
        return False

    def _moved_unread(self, key: Key) -> bool:
        """A test of a kind that cannot be read is where one of its name newly runs in another file."""
        return any(found.own_name == key.own_name and found.path != key.path and times > self._old_runs.ran[found]
                   for found, times in self._new_runs.ran.items() if found.path)  # fmt: skip


def holds(case: Case, lost: Case) -> bool:
    """Is all that a lost test asserted in this one: the same body, or the same assertions?"""
    if case.body == lost.body:
        return True
    if not lost.asserts or Counter(lost.asserts) - Counter(case.asserts):
        return False
    return lost.calls <= case.calls or any("(func=" in said or "attr=" in said for said in lost.asserts)


def resembles(case: Case, lost: Case) -> bool:
    """Is it the lost test with other values or another place: parametrised, or moved and edited?"""
    if case.short == lost.short:
        return not weakness(lost, case)
    return bool(lost.asserts) and lost.calls <= case.calls and set(lost.shapes) <= set(case.shapes)


def weakness(old: Case, new: Case) -> Kind | None:
    """Does an edited test assert nothing any more, or less?"""
    if old.asserts and not new.asserts:
        return Kind.EMPTIED
    if not old.asserts and old.calls and not new.calls:
        return Kind.EMPTIED
    return Kind.FEWER if len(new.asserts) < len(old.asserts) else None
