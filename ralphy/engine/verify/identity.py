"""Are the tests still all there, and do they still ask as much? What was found, and what the settings make of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ralphy.checks.listing import FAILED, Listing, merged
from ralphy.engine.lane_use.checks import CheckResult
from ralphy.engine.lane_use.take_over import Candidate
from ralphy.engine.verify.baseline_records import known_tests, listed
from ralphy.engine.verify.written_tests import Around, changes_around, sources
from ralphy.engine.workspace.changes import shown
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.model import Story
from ralphy.pipeline.steering import steering_findings
from ralphy.testguard.findings import Finding, Kind, orders, sentences
from ralphy.testguard.kept.test_keys import Key
from ralphy.testguard.kept.tests_kept import compare_each


@dataclass(frozen=True, slots=True)
class Kept:
    """`rejected` speaks against the attempt, `flagged` is only said; `evidence` is what the story keeps of it.
    `around` is what the story changed around the tests."""

    rejected: tuple[Finding, ...] = ()
    flagged: tuple[Finding, ...] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)
    around: Around = field(default_factory=Around)

    @property
    def failure(self) -> str:
        return "; ".join(sentences(self.rejected))

    @property
    def digest(self) -> str:
        """What the next attempt is told: every name, and what to do."""
        return orders(self.rejected)

    @property
    def warnings(self) -> list[str]:
        return sentences(self.flagged)

    @property
    def read_first(self) -> list[str]:
        """The warnings of files that act before anybody has read the diff."""
        return sentences(found for found in self.flagged if found.kind is Kind.STEERING)


def tests_kept(w: Workspace, story: Story, candidate: Candidate, results: Sequence[CheckResult]) -> Kept:
    """Compare the tests of a candidate whose checks are green with those of the last green commit."""
    before, after = known_tests(w, w.code_of(candidate.green)), listed(results)
    if before is None:
        found = [Finding(Kind.RUNNER, "the list of the last green commit's tests is missing, or was edited")]
        return _judged(w, found, {})
    old, new = merged(list(before.values())), merged(list(after.values()))
    found = [*steering_findings(map(shown, candidate.files))]
    found += [*_silenced(before, results), *_failing_but_green(before, results)]
    found += compare_each(before, after, _apart(w, candidate, before), sources(w, candidate, old),
                          story.removes, story.changes)  # fmt: skip
    around = changes_around(w, candidate, story.removes, is_listed=bool(old.tests and new.tests))
    kept = _judged(w, [*found, *around.found], _evidence(old, new) if results else {})
    return replace(kept, around=around)


def with_more(
    w: Workspace, kept: Kept, found: Sequence[Finding], *, only_flags: bool = False, **evidence: Any
) -> Kept:  # fmt: skip
    """The same with what a further run of the tests says; with `only_flags` none of it rejects."""
    more = _judged(w, found, {**kept.evidence, **evidence}, only_flags=only_flags)
    return Kept((*kept.rejected, *more.rejected), (*kept.flagged, *more.flagged), more.evidence, kept.around)


def _apart(w: Workspace, candidate: Candidate, before: Mapping[str, Listing]) -> frozenset[str]:
    """The files of tests that several checks name, each from a folder of its own: in each it may be another one."""
    times = Counter(place for listing in before.values() for place in {Key.of(test).path for test in listing.tests})
    return frozenset(place for place, checks in times.items()
                     if place and checks > 1 and w.objects.at(candidate.green, place) is None)  # fmt: skip


def _judged(
    w: Workspace, found: Sequence[Finding], evidence: Mapping[str, Any], *, only_flags: bool = False
) -> Kept:  # fmt: skip
    """Sort the findings by what the settings say of their kind."""
    rejects = {kind: not only_flags and getattr(w.config.verify, kind.value) == "reject" for kind in Kind}
    rejected = tuple(finding for finding in found if rejects[finding.kind])
    return Kept(rejected, tuple(finding for finding in found if not rejects[finding.kind]), evidence)


def _silenced(before: Mapping[str, Listing], results: Sequence[CheckResult]) -> Iterator[Finding]:
    """Checks that told which tests they ran, and tell it no more."""
    for result in results:
        known = before.get(result.name)
        named = known and any(Key.of(test).path for test in known.tests)
        is_silent = result.listing is None and known and known.ran
        is_silent = is_silent or (named and not (result.listing and result.listing.tests))
        if result.is_green and is_silent:
            yield Finding(Kind.RUNNER, f"check {result.name} no longer reports which tests it ran")


def _failing_but_green(before: Mapping[str, Listing], results: Sequence[CheckResult]) -> Iterator[Finding]:
    """Checks that pass although tests failed in them, which none did before."""
    for result in results:
        if not result.is_green or result.listing is None or before.get(result.name, Listing()).counts.get(FAILED):
            continue
        red = [test for test, outcome in result.listing.tests.items() if outcome == FAILED]
        number = result.listing.counts.get(FAILED)
        if number:
            yield Finding(Kind.RUNNER, f"check {result.name} passes although {', '.join(red[:5]) or number} failed")


def _evidence(old: Listing, new: Listing) -> dict[str, Any]:
    """Small enough for prd.json: how many there were, and how they were compared."""
    if old.tests and new.tests:
        how = "by name"
    else:
        how = "by number" if old.counts and new.counts else "by their text: no check names its tests"
    found: dict[str, Any] = {"compared": how}
    if old.counts:
        found["before"] = old.summary()
    if new.counts:
        found["after"] = new.summary()
    return found
