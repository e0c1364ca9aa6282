"""Flakes: a test that fails now and then, or fails without the story, too, says nothing about the story.

What failed is asked again (`verify.retries` times): the tests alone first, where the runner can be asked for their
files, then all checks. A test is excused only if it passed in one of the whole runs, or fails in one of the code
before. So none of them costs an attempt, and none lets anything pass that never passed. The story is flagged, and
nothing else is remembered.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ralphy.checks.listing import PASSED, Listing
from ralphy.checks.runner_output import failing_tests
from ralphy.engine.lane_use.checks import CheckResult, run_checks
from ralphy.engine.lane_use.lane_layout import lay_out_clean
from ralphy.engine.lane_use.trial import Told, try_tree, words_for
from ralphy.engine.workspace.workspace import Workspace
from ralphy.lanes.probe import runs_tests
from ralphy.testguard.kept.test_keys import Key
from ralphy.text.tone import WAITING

_MOST_SECONDS = 300.0  # for runs beyond the first of a kind
_MOST_NAMED = 10

Name = tuple[str, str]  # a check, and a test of it (or the check again, where it names none)


@dataclass(frozen=True, slots=True)
class Before:
    """The code before a change: what its checks listed, and whether they passed on it when they were last asked."""

    tree: str
    listed: Mapping[str, Listing]
    was_green: bool


@dataclass(frozen=True, slots=True)
class Again:
    """`results` are the last whole run, with what is excused; `seen` says of each excused test how it failed."""

    results: list[CheckResult]
    seen: Mapping[str, str]

    @property
    def evidence(self) -> dict[str, str]:
        """Small enough for prd.json: the first of them."""
        return dict(list(self.seen.items())[:_MOST_NAMED])

    @property
    def flags(self) -> list[str]:
        rows = [f"{test} {said}" for test, said in self.evidence.items()]
        more = [f"and {len(self.seen) - _MOST_NAMED} more tests"] if len(self.seen) > _MOST_NAMED else []
        return [f"flaky: {'; '.join([*rows, *more])}"]


def ask_again(w: Workspace, tree: str, results: Sequence[CheckResult], before: Before | None = None) -> Again | None:
    """What the checks of a tree say after all; None if their failures count."""
    first = _failing(w, results)
    is_open = bool(w.config.verify.retries and first and _came_to_an_end(results))
    if not is_open or _is_certain(w, tree, first, before):
        return None
    w.say(f"  running again: {', '.join(sorted(test for _, test in first)[:5])}", is_detail=True)
    runs = [list(results)]
    if _passes_alone(w, tree, first):
        _run_until_passed(w, tree, runs)
    never = _never_passed(w, runs)
    without = _failing(w, _whole(w, before.tree)) if never and before and before.was_green else frozenset()
    if not never <= without:
        return None
    if len(runs) == 1:
        runs.append(_whole(w, tree))
    if not _never_passed(w, runs) <= without or not all(map(_came_to_an_end, runs)):
        return None
    seen = {test: _seen(w, runs, (check, test), without) for check, test in sorted(_ever_failed(w, runs))}
    for test, said in seen.items():
        w.say(f"{test} {said}", WAITING)
    return Again([replace(result, excused=frozenset(seen)) for result in runs[-1]], seen)


def _failing(w: Workspace, results: Iterable[CheckResult]) -> frozenset[Name]:
    """What speaks against a tree, by check: not what was known to fail."""
    return frozenset(
        (result.name, name) for result in results if not result.is_green and not result.is_empty
        for name in result.names if name not in w.history.known_red
    )  # fmt: skip


def _came_to_an_end(results: Iterable[CheckResult]) -> bool:
    """Did each red check run to its end, and find something to run?"""
    return all(r.is_green or not (r.exit is None or r.killed_by or r.is_empty) for r in results)


def _is_certain(w: Workspace, tree: str, failing: Iterable[Name], before: Before | None) -> bool:
    """Is there no use in asking again? Not for a file that cannot be loaded, nor for a check that runs no tests; and a
    test that was not there before is the change's own."""
    commands = {check.name: check.run for check in w.checks}
    for check, test in failing:
        path, listing = Key.of(test).path, before.listed.get(check) if before else None
        if test == check and not runs_tests(check, commands.get(check, "")):
            return True
        if w.objects.at(tree, test) is not None or (before and path and w.objects.at(before.tree, path) is None):
            return True
        if test != check and listing and listing.tests and test not in listing.tests:
            return True
    return False


def _passes_alone(w: Workspace, tree: str, failing: frozenset[Name]) -> bool:
    """Did each failing test pass at least once where its file was run alone? Yes, where that cannot be asked."""
    for check in w.checks:
        left = {test for name, test in failing if name == check.name}
        files = sorted({path for test in left if (path := Key.of(test).path)})
        words = words_for(w, check, files)
        if not left or words is None:
            continue
        for _ in range(w.config.verify.retries):
            left = _still_failing(try_tree(w, tree, check, words, "again"), left)
            if not left:
                break
        if left:
            return False
    return True


def _still_failing(told: Told | None, tests: set[str]) -> set[str]:
    if told is None:
        return tests
    if told.listing and told.listing.tests:
        return {test for test in tests if told.listing.tests.get(test) != PASSED}
    red = set(failing_tests(told.output))
    return set() if told.is_green else (tests & red if red else tests)


def _run_until_passed(w: Workspace, tree: str, runs: list[list[CheckResult]]) -> None:
    """Run all checks again until each test has passed in one of the runs, or nobody would wait any longer."""
    began = time.monotonic()
    for _ in range(w.config.verify.retries):
        runs.append(_whole(w, tree))
        if not _never_passed(w, runs) or time.monotonic() - began > _MOST_SECONDS:
            return


def _whole(w: Workspace, tree: str) -> list[CheckResult]:
    lay_out_clean(w, tree)
    return run_checks(w, "again", until_red=False)


def _ever_failed(w: Workspace, runs: Sequence[Sequence[CheckResult]]) -> frozenset[Name]:
    return frozenset[Name]().union(*(_failing(w, run) for run in runs))


def _never_passed(w: Workspace, runs: Sequence[Sequence[CheckResult]]) -> frozenset[Name]:
    """What failed, and passed in none of the runs."""
    return frozenset(name for name in _ever_failed(w, runs) if not any(_passed_in(run, name) for run in runs))


def _passed_in(run: Sequence[CheckResult], name: Name) -> bool:
    result = next((result for result in run if result.name == name[0]), None)
    listed = result.listing.tests if result and result.listing else {}
    return listed.get(name[1], PASSED if result and result.is_green else "") == PASSED


def _seen(w: Workspace, runs: Sequence[Sequence[CheckResult]], name: Name, without: frozenset[Name]) -> str:
    asked = [run for run in runs if any(result.name == name[0] for result in run)]
    failures = sum(1 for run in asked if name in _failing(w, run))
    said = f"failed in {failures} of {len(asked)} runs"
    return f"{said}, and fails without the change, too" if name in without else f"{said} of the same code"
