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
from ralphy.engine.lane_use.trial import try_tree, words_for
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
    if not is_open or any(_is_certain(w, tree, name, before) for name in first):
        return None
    w.say(f"  running again: {', '.join(sorted(test for _, test in first)[:5])}", is_detail=True)
    runs, began = [list(results)], time.monotonic()
    left = w.config.verify.retries if _pass_alone(w, tree, first) else 0
    while left and _never_passed(w, runs) and time.monotonic() - began < _MOST_SECONDS:
        runs.append(_whole(w, tree))
        left -= 1
    without = frozenset[Name]()
    if _never_passed(w, runs) and before and before.was_green:
        without = _failing(w, _whole(w, before.tree))
        if len(runs) == 1 and first <= without:
            runs.append(_whole(w, tree))
    if not _never_passed(w, runs) <= without or not all(map(_came_to_an_end, runs)):
        return None
    seen = {name[1]: _seen(w, runs, name, is_old=name in without) for name in sorted(_ever_failed(w, runs))}
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


def _is_certain(w: Workspace, tree: str, failing: Name, before: Before | None) -> bool:
    """Is there no use in asking again? Not for a file that cannot be loaded, nor for a check that runs no tests; and a
    test that was not there before is the change's own."""
    name, test = failing
    if test == name:
        return not runs_tests(name, next((check.run for check in w.checks if check.name == name), ""))
    path, listing = Key.of(test).path, before.listed.get(name) if before else None
    is_new_file = before is not None and bool(path) and w.objects.at(before.tree, path) is None
    is_new = listing is not None and bool(listing.tests) and test not in listing.tests
    return is_new_file or is_new or w.objects.at(tree, test) is not None


def _pass_alone(w: Workspace, tree: str, failing: frozenset[Name]) -> bool:
    """Did each failing test pass at least once where its file was run alone? Yes, where that cannot be asked."""
    for check in w.checks:
        left = {test for name, test in failing if name == check.name}
        words = words_for(w, check, sorted({Key.of(test).path for test in left} - {""}))
        for _ in range(w.config.verify.retries if words else 0):
            left = _still_failing(try_tree(w, tree, check, words or (), "again"), left)
            if not left:
                break
        if left and words:
            return False
    return True


def _still_failing(told: CheckResult | None, tests: set[str]) -> set[str]:
    if told is None:
        return tests
    if told.listing and told.listing.tests:
        return {test for test in tests if told.listing.tests.get(test) != PASSED}
    red = set(failing_tests(told.output))
    return set() if told.is_green else (tests & red if red else tests)


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


def _seen(w: Workspace, runs: Sequence[Sequence[CheckResult]], name: Name, *, is_old: bool) -> str:
    asked = [run for run in runs if any(result.name == name[0] for result in run)]
    said = f"failed in {sum(name in _failing(w, run) for run in asked)} of {len(asked)} runs"
    return f"{said}, and fails without the change, too" if is_old else f"{said} of the same code"
