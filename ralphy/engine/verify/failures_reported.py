"""Do the checks still report failures? They are run on tests that are made to fail, and must turn red.

They are run when a story changed what runs the tests, or what reports on them; so no list of ways to swallow a failure
has to be complete. A check that names no tests and stays green is run on broken code as well; one that stayed green
there before the story, too, never reported a failure. The story's own tests are asked while they are run without its
code: a failure is expected there anyway, and a twin that fails stands in each of their files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from ralphy.checks.listing import FAILED, Listing
from ralphy.config.values import Check
from ralphy.engine.lane_use.checks import CheckResult
from ralphy.engine.verify.baseline_records import tests_of
from ralphy.engine.verify.case import MOST_REWRITTEN, Case, Verdict, source_of
from ralphy.engine.workspace.changes import files_of
from ralphy.git.objects import Entry
from ralphy.lanes.probe import spoiled_files, spoiled_tree
from ralphy.testguard.findings import Finding, Kind, listed_names
from ralphy.testguard.spoiled_tests import passing_although_spoiled, silent_twins, spoiled, with_twin
from ralphy.testguard.substance import is_test
from ralphy.testguard.surroundings import could_hide_failures
from ralphy.testguard.test_files import WrittenTest, has_tests_beside_code
from ralphy.testguard.test_keys import Key
from ralphy.text.plain_text import as_utf8


def checks_can_say_no(c: Case) -> Verdict | None:
    """If the story changed something around the tests, the checks turn red on tests that are made to fail. So they do
    if it changed tests, and nobody asks what these say without its code."""
    are_asked_later = c.asks_for_proof or not c.written[1]
    around = (could_hide_failures(one.name, one.old_text, one.new_text, c.command_words) for one in c.changes)
    if are_asked_later and not any(around):
        return None
    return c.weigh([finding for check, result in _green(c) for finding in _hides_failures(c, check, result)])


def with_twins(c: Case, tree: str, paths: Collection[str]) -> tuple[str, list[WrittenTest]]:
    """A tree in which each of the changed files of tests at these paths has a twin that fails, and these twins."""
    files: dict[str, tuple[Entry, bytes]] = {}
    twins: list[WrittenTest] = []
    for change in c.changes:
        text, twin = with_twin(change.name, change.new or b"") if change.path in paths else (b"", None)
        if change.now and twin:
            files[change.path] = (change.now, text)
            twins.append(twin)
    return c.tree_with(tree, files), twins


def hidden_failures(c: Case, check: Check, result: CheckResult | None, twins: Sequence[WrittenTest]) -> list[str]:
    """What a check hides of failures, by its result on a tree without the story's code, with `twins` that must fail.
    Nothing if it hid some before the story as well."""
    outcomes = tests_of(result)
    hidden = [f"{test} does not fail although it is made to fail" for test in silent_twins(outcomes, twins)]
    failed = [test for test, outcome in outcomes.items() if outcome == FAILED]
    if result and result.is_green and failed:
        hidden.append(f"check {check.name} passes although {listed_names(failed)} failed")
    return [] if hidden and _hid_failures_before(c, check) else hidden


def _hid_failures_before(c: Case, check: Check) -> bool:
    before = (c.before or {}).get(check.name, Listing())
    tree, cases = _with_spoiled_tests(c, c.green)
    result = c.ask(tree, check, "probe")
    return bool(result and (result.is_green or passing_although_spoiled(before.tests, tests_of(result), cases)))


def a_check_runs_tests(c: Case) -> bool:
    """Does a green check turn red when the tests are made to fail? One that does not runs none of them, as a linter."""
    tree, _ = _with_spoiled_tests(c, c.tree)
    results = (c.ask(tree, check, "probe") for check, _ in _green(c))
    return any(result is not None and not result.is_green for result in results)


def _green(c: Case) -> Iterator[tuple[Check, CheckResult]]:
    commands = {check.name: check for check in c.w.checks}
    return ((commands[one.name], one) for one in c.checks if one.is_green and one.name in commands)


def _hides_failures(c: Case, check: Check, result: CheckResult) -> list[Finding]:
    c.w.say(f"  check {check.name} is run on tests that are made to fail")
    tree, cases = _with_spoiled_tests(c, c.tree)
    if not any(Key.of(test).means(case) for case in cases for test in tests_of(result)):
        return _hides_broken_code(c, check)
    spoiled_result = c.ask(tree, check, "probe")
    if spoiled_result is None:
        return [Finding(Kind.EDITED, f"check {check.name} comes to no end on tests that are made to fail")]
    passing = passing_although_spoiled(tests_of(result), tests_of(spoiled_result), cases)
    if passing:
        return [Finding(Kind.RUNNER, f"{test} passes although it is made to fail") for test in passing]
    hides = [Finding(Kind.RUNNER, f"check {check.name} passes although its tests are made to fail")]
    return hides if spoiled_result.is_green else []


def _hides_broken_code(c: Case, check: Check) -> list[Finding]:
    """Whether a check that names no tests passes on tests that fail and on broken sources, and did not before."""
    for spoil in (_with_spoiled_tests, _with_spoiled_sources):
        now = c.ask(spoil(c, c.tree)[0], check, "probe")
        if now and not now.is_green:
            continue
        before = c.ask(spoil(c, c.green)[0], check, "probe")
        if before and not before.is_green:
            return [Finding(Kind.RUNNER, f"check {check.name} passes on broken code since the story")]
    return []


def _with_spoiled_sources(c: Case, tree: str) -> tuple[str, list[WrittenTest]]:
    paths = [path for path, _ in files_of(c.w, tree)]
    excluded = (c.w.config.project.features_dir,)
    spoils = spoiled_files(paths, [check.run for check in c.w.checks], excluded)
    return spoiled_tree(c.w.objects, tree, spoils), []


def _with_spoiled_tests(c: Case, tree: str) -> tuple[str, list[WrittenTest]]:
    """The tree with tests that fail, and which tests these are."""
    failing: list[WrittenTest] = []
    files: dict[str, tuple[Entry, bytes]] = {}
    for path, entry in files_of(c.w, tree):
        holds_tests = is_test(path) or c.places.has(path) or has_tests_beside_code(path)
        data = source_of(c.w, entry) if holds_tests and len(files) < MOST_REWRITTEN else None
        text, cases = spoiled(as_utf8(path), data) if data else (b"", [])
        if cases:
            failing += cases
            files[path] = (entry, text)
    return c.tree_with(tree, files), failing
