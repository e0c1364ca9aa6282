"""Which tests would pass if no function of the code did anything?

An edited test that noticed this before the story, and does not now, asserts nothing any more. A new test that never
noticed is named. Decision record 021 says why both versions are asked on the code of before.
"""

from __future__ import annotations

from collections.abc import Iterator

from ralphy.checks.listing import FAILED, PASSED
from ralphy.engine.verify.case import Case, Verdict
from ralphy.engine.verify.hollow_trees import emptied, with_new_names
from ralphy.engine.verify.old_tests import EditedTests
from ralphy.engine.verify.own_tests import StoryTests, outcomes, passing_on
from ralphy.testguard.findings import Finding, Kind, listed_names
from ralphy.testguard.kept.tests_kept import may_go

_WHY = "it passes although no function does anything; before the story it failed then"


def tests_ask_something(c: Case) -> Verdict | None:
    """Edited tests still notice when no function does anything; what new ones do not is said."""
    is_proved = c.own is not None and (c.own.is_proof or c.story.kind == "refactor")
    blind = c.own.blind if c.own and is_proved else ()
    edited = set(_edited(c))
    tests = StoryTests.of(c)
    trees = _hollow_trees(c, tests) if tests.files and (edited or blind) else []
    passing = passing_on(c, tests, trees, {*edited, *blind} if trees else ())
    idle = [test for test in blind if test in passing]
    c.notes += [f"tests that prove nothing, as they pass although no function does anything: {listed_names(idle)}"
                ] if idle else []  # fmt: skip
    return c.weigh([Finding(Kind.EMPTIED, f"{test} ({_WHY})") for test in _lost(c, tests, trees, edited & passing)])


def _hollow_trees(c: Case, tests: StoryTests) -> list[str]:
    """The code of before and the names that are new, all hollow, with the story's tests: with functions that return
    something, and with such that return nothing. None where nothing could be made hollow."""
    base = c.w.objects.graft(c.green, tests.files)
    trees = [emptied(c, with_new_names(c, base, says=says).tree, says=says) for says in (True, False)]
    return [] if trees[0] == base else trees


def _lost(c: Case, tests: StoryTests, trees: list[str], passing: set[str]) -> list[str]:
    """The edited tests that failed on hollow code with their old text."""
    if not passing:
        return []
    before = {change.path: change.was for change in c.changes if change.path in tests.files}
    old = outcomes(c, tests, c.w.objects.graft(trees[0], before), passing)
    return [test for test in sorted(passing) if old.get(test) == FAILED]


def _edited(c: Case) -> Iterator[str]:
    """The tests that passed before and pass now, and that the story edited, or what stands beside them."""
    for check, result in c.testing:
        before = (c.before or {}).get(check.name)
        if not before or not result.listing:
            continue
        edits = EditedTests.of(c, before)
        for test, outcome in result.listing.tests.items():
            is_same = outcome == before.tests.get(test) == PASSED and not may_go(test, c.story.removes)
            if is_same and (edits.beside or edits.file_of(test)):
                yield test
