"""Which tests would pass if no function of the code did anything?

An edited test that noticed this before the story, and does not now, asserts nothing any more. A new test that never
noticed is named. Decision record 021 says why both versions are asked on the code of before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from ralphy.checks.listing import FAILED, PASSED, XFAILED
from ralphy.checks.narrowing import folder_of
from ralphy.engine.lane_use.checks import argv
from ralphy.engine.verify.baseline_records import tests_of
from ralphy.engine.verify.case import Case, Verdict
from ralphy.engine.verify.hollow_trees import emptied, with_new_names
from ralphy.engine.verify.old_tests import EditedTests
from ralphy.engine.verify.own_tests import StoryTests, without_code
from ralphy.testguard.findings import Finding, Kind, listed_names
from ralphy.testguard.test_keys import Key
from ralphy.testguard.tests_kept import may_go

_WHY = "it passes although no function does anything; before the story it failed then"


def tests_ask_something(c: Case) -> Verdict | None:
    """Edited tests still notice when no function does anything; what new ones do not is said."""
    is_proved = c.own is not None and (c.own.is_proof or c.story.kind == "refactor")
    edited, tests = set(_edited(c)), StoryTests.of(c)
    elsewhere = set(_elsewhere(c, tests))
    blind = [test for test in c.own.blind if test not in elsewhere] if c.own and is_proved else []
    trees = _hollow_trees(c, tests) if tests.files and (edited or blind) else []
    passing = _passing_on(c, tests, trees, {*edited, *blind} if trees else ())
    idle = [test for test in blind if test in passing]
    c.notes += [f"tests that prove nothing, as they pass although no function does anything: {listed_names(idle)}"
                ] if idle else []  # fmt: skip
    return c.weigh([Finding(Kind.EMPTIED, f"{test} ({_WHY})") for test in _lost(c, tests, trees, edited & passing)])


def _elsewhere(c: Case, tests: StoryTests) -> Iterator[str]:
    """The checks that run in a folder, of another project say, in which none of the story's tests is."""
    for check, _ in c.testing:
        folder = folder_of(argv(check))
        if folder and not any(test.path.startswith(f"{folder}/") for test in tests.own):
            yield check.name


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
    old = _outcomes(c, tests, c.w.objects.graft(trees[0], before), passing)
    return [test for test in sorted(passing) if old.get(test) == FAILED]


def _edited(c: Case) -> Iterator[str]:
    """The tests that passed before and pass now, and that the story edited, or what stands beside them."""
    for check, result in c.testing:
        before = (c.before or {}).get(check.name)
        if not before:
            continue
        edits = EditedTests.of(c, before)
        for test, outcome in tests_of(result).items():
            is_same = outcome == before.tests.get(test) == PASSED and not may_go(test, c.story.removes)
            if is_same and (edits.beside or edits.file_of(test)):
                yield test


def _passing_on(c: Case, tests: StoryTests, trees: Iterable[str], names: Collection[str]) -> set[str]:
    """The tests, and checks, that pass on each of these trees, or may fail there as a mark says."""
    passing = set(names)
    for tree in dict.fromkeys(trees):
        outcomes = _outcomes(c, tests, tree, passing) if passing else {}
        passing = {test for test in passing if outcomes.get(test) in (PASSED, XFAILED)}
    return passing


def _outcomes(c: Case, tests: StoryTests, tree: str, names: Collection[str]) -> dict[str, str]:
    """What becomes of these tests, and of these checks as a whole, on a tree."""
    outcomes: dict[str, str] = {}
    for check, result in c.testing:
        own = {test for test in tests_of(result) if test in names}
        if not own and check.name not in names:
            continue
        keys = [Key.of(test) for test in own]
        written = {test.path for test in tests.there if any(key.means(test) for key in keys)}
        on_tree = without_code(c, tree, check, result, written | {key.path for key in keys})
        if on_tree and check.name in names:
            outcomes[check.name] = PASSED if on_tree.is_green else FAILED
        outcomes |= {test: outcome for test, outcome in tests_of(on_tree).items() if test in own}
    return outcomes
