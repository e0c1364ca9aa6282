"""Are the tests that did not run still there, still as demanding, and silent for no other reason than before?

A runner lists a skipped module as one entry, or leaves tests out without a word. So these tests are known by their
text: whatever the story's files held that did not run must be found in them afterwards, in the same words, or run now.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ralphy.testguard.findings import Finding, Kind
from ralphy.testguard.kept.test_index import Written
from ralphy.testguard.kept.test_keys import Runs
from ralphy.testguard.kept.test_matching import Sources, holds, resembles, weakness
from ralphy.testguard.read.test_parser import Case


class SkippedTests:
    """The tests of the changed files that did not run; `old` and `new` are None where no runner named its tests."""

    def __init__(self, sources: Sources, old: Runs | None, new: Runs | None) -> None:
        self._old, self._new = old, new
        self._before = [case for case in sources.old if _asks(case) and not (old and old.times(case))]
        self._after = {(case.path, case.name): case for case in sources.new}
        known = {(case.path, case.name) for case in sources.old}
        self._all = Written(map(awake, sources.new))
        self._added = Written(awake(case) for case in sources.new if (case.path, case.name) not in known)

    def findings(self) -> Iterator[tuple[Case, Finding]]:
        """Each test that is gone, asks for less or something else, or is silent in another way; with the old one."""
        for case in self._before:
            now = self._after.get((case.path, case.name))
            found = self._edited(case, now) if now else self._gone(case)
            if found:
                yield case, found

    def has(self, lost: Case) -> bool:
        """Is all that a test asserted in one that is there now: at another place, or under another name?"""
        meant = awake(lost)
        same = (case for case in self._all.holding(meant) if holds(case, meant))
        alike = (case for case in self._added.named(meant.short) if resembles(case, meant))
        return any(self._is_as_loud(case, lost) for cases in (same, alike) for case in cases)

    def _gone(self, lost: Case) -> Finding | None:
        if not _is_silent(lost, self._old):
            # It was left out by a setting, or never was a test; of files that no runner speaks of others take care.
            is_left_out = (
                self._old is not None and self._old.has_file(lost.path) and not self._old.short.get(lost.short)
            )
            if not is_left_out or self.has(lost):
                return None
            return Finding(Kind.FEWER, f"{lost.shown} (it did not run, and is gone)")
        return None if self.has(lost) else Finding(Kind.REMOVED, lost.shown)

    def _edited(self, old: Case, new: Case) -> Finding | None:
        if not _is_silent(old, self._old):
            return None
        was, now = awake(old), awake(new)
        kind = weakness(was, now)
        if kind:
            return Finding(kind, old.shown)
        if self._runs(new):
            return None  # whether it passes as it was written is asked by running it
        if not self._is_as_loud(new, old):
            return Finding(Kind.SKIPPED, f"{old.shown} (it was skipped, and is now skipped in another way)")
        if was.asserts != now.asserts and not holds(now, was):
            return Finding(Kind.REWORDED, f"{old.shown}{_both(old, new)}")
        return None

    def _is_as_loud(self, case: Case, lost: Case) -> bool:
        """Does a test run now, or is there nothing more than before that keeps it silent?"""
        return self._runs(case) or case.silencers <= lost.silencers

    def _runs(self, case: Case) -> bool:
        return bool(self._new.times(case)) if self._new is not None else not case.silencers


def awake(case: Case) -> Case:
    """The test without what takes it out in its own body."""
    return replace(case.awake, silencers=case.silencers) if case.awake else case


def _asks(case: Case) -> bool:
    meant = awake(case)
    return bool(meant.asserts or meant.calls)


def _is_silent(case: Case, runs: Runs | None) -> bool:
    """Was a test known to be there and not to run: by the runner's word, or by its own text?"""
    return bool(case.silencers) or (runs is not None and runs.is_listed(case))


def _both(old: Case, new: Case) -> str:
    """What differs, in both versions."""
    was, now = ([said for said in one.wording if said not in other.wording] for one, other in ((old, new), (new, old)))
    return f" (it said: {'; '.join(was)[:60]}; it says: {'; '.join(now)[:60]})" if was or now else ""
