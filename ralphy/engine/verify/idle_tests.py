"""Which tests would pass if no function of the code did anything?

An edited test that noticed this before the story, and does not now, asserts nothing any more. A new test that never
noticed is named. Where running tells nothing (both versions fail, or none is named), what reads the tests' text
decides alone. Decision record 021 says why both versions are asked on the code of before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ralphy.checks.listing import FAILED, PASSED
from ralphy.engine.lane_use.checks import CheckResult
from ralphy.engine.lane_use.take_over import Candidate
from ralphy.engine.verify.baseline_records import known_tests
from ralphy.engine.verify.hollow_trees import Hollow
from ralphy.engine.verify.old_tests import edits_of
from ralphy.engine.verify.own_tests import outcomes
from ralphy.engine.verify.red_first import laid_over, with_tests
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.objects import Entry
from ralphy.pipeline.model import Story
from ralphy.testguard.findings import Finding, Kind
from ralphy.testguard.kept.tests_kept import may_go

_WHY = "it passes although no function does anything; before the story it failed then"


def idle_tests(
    w: Workspace, story: Story, candidate: Candidate, results: Sequence[CheckResult], blind: Collection[str],
    weak: Collection[str],
) -> tuple[list[Finding], list[str], list[str]]:  # fmt: skip
    """A finding for each edited test that asserts nothing any more, those of the `blind` tests that never did, and
    those of the `weak` ones that do not guard what was there before."""
    edited = set(_edited(w, story, candidate, results))
    files = laid_over(w, candidate, results) if edited or blind or weak else {}
    if not files:
        return [], [], list(weak)
    says, silent = (_hollow(w, candidate, results, files, says=says) for says in (True, False))
    if says == w.objects.graft(candidate.green, files):  # nothing there could be made hollow
        return [], [], list(weak)
    left: Collection[str] = edited | set(blind) | set(weak)
    guards = set[str]()
    for tree in dict.fromkeys((says, silent)):
        told = outcomes(w, candidate, results, tree, left) if left else {}
        guards |= {test for test, outcome in told.items() if outcome == FAILED}
        left = [test for test in left if told.get(test) == PASSED]
    lost = edited & set(left)
    before = {path: was for path, was, _ in w.objects.changes(candidate.green, candidate.tree) if path in files}
    old = outcomes(w, candidate, results, w.objects.graft(says, before), lost) if lost else {}
    found = [Finding(Kind.EMPTIED, f"{test} ({_WHY})") for test in sorted(lost) if old.get(test) == FAILED]
    return found, [test for test in blind if test in left], [test for test in weak if test not in guards]


def _hollow(
    w: Workspace, candidate: Candidate, results: Sequence[CheckResult], files: Mapping[str, Entry | None], *, says: bool
) -> str:
    """The code of before and the names that are new, all hollow, with the story's tests."""
    hollow = Hollow.of(w, results, says=says)
    tree, _ = hollow.with_names(w.objects.graft(candidate.green, files), candidate)
    return hollow.emptied(tree)


def _edited(w: Workspace, story: Story, candidate: Candidate, results: Sequence[CheckResult]) -> Iterator[str]:
    """The tests that passed before and pass now, and that the story edited, or what stands beside them."""
    known = known_tests(w, w.code_of(candidate.green)) or {}
    for check, result in with_tests(w, results):
        before = known.get(check.name)
        if not before or not result.listing:
            continue
        edits = edits_of(w, candidate, check, before).within_reason
        for test, outcome in result.listing.tests.items():
            is_same = outcome == before.tests.get(test) == PASSED and not may_go(test, story.removes)
            if is_same and (edits.beside or edits.has(test)):
                yield test
