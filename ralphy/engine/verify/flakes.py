"""Flakes: a test that fails now and then, or fails without the story, too, says nothing about the story.

What failed is run again (`verify.retries` times): the tests alone first, where the runner can be asked for their
files, then all checks. A test is excused only if it passed in one of the whole runs, or fails in one of the code
before. So no flaky test costs an attempt, and no test lets a story pass that never passed with it. The story is
flagged, and nothing else is remembered.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ralphy.checks.listing import PASSED, Listing
from ralphy.engine.lane_use.checks import CheckResult, run_checks
from ralphy.engine.lane_use.lane_layout import lay_out_clean
from ralphy.engine.lane_use.trial import try_tree, words_for
from ralphy.engine.verify.baseline_records import is_known_green, known_tests, tests_of
from ralphy.engine.workspace.workspace import Workspace
from ralphy.lanes.probe import runs_tests
from ralphy.testguard.test_keys import Key
from ralphy.text.tone import WAITING

_MOST_SECONDS = 300.0  # for runs beyond the first of a kind
_MOST_NAMED = 10

Name = tuple[str, str]  # a check, and a test of it (or the check again, where it names none)


@dataclass(frozen=True, slots=True)
class Again:
    """`results` are those of the last whole run, with what is excused; `reasons` says of each excused test why."""

    results: list[CheckResult]
    reasons: Mapping[str, str]

    @property
    def evidence(self) -> dict[str, str]:
        """Small enough for prd.json: the first of them."""
        return dict(list(self.reasons.items())[:_MOST_NAMED])

    @property
    def flags(self) -> list[str]:
        rows = [f"{test} {reason}" for test, reason in self.evidence.items()]
        more = [f"and {len(self.reasons) - _MOST_NAMED} more tests"] if len(self.reasons) > _MOST_NAMED else []
        return [f"flaky: {'; '.join([*rows, *more])}"]


def ask_again(
    w: Workspace, tree: str, results: Sequence[CheckResult], known_red: frozenset[str], before: str = ""
) -> Again | None:
    """The checks' results on a tree once the flaky tests are excused; None if their failures count. Those of the tests
    in `known_red` do not. `before` is the tree of the last green commit, without the change; "" if nothing has changed.
    """
    first = _failing(results, known_red)
    if not (w.config.verify.retries and first and _came_to_an_end(results)):
        return None
    known = (known_tests(w, w.code_of(before)) or {}) if before else {}
    if any(_is_certain(w, tree, name, before, known) for name in first):
        return None
    w.say(f"  running again: {', '.join(sorted(test for _, test in first)[:5])}", is_detail=True)
    runs, began = [list(results)], time.monotonic()
    left = w.config.verify.retries if _pass_alone(w, tree, first) else 0
    while left and _never_passed(runs, known_red) and time.monotonic() - began < _MOST_SECONDS:
        runs.append(_whole(w, tree))
        left -= 1
    without = frozenset[Name]()
    if _never_passed(runs, known_red) and before and is_known_green(w, w.code_of(before)):
        without = _failing(_whole(w, before), known_red)
        if len(runs) == 1 and first <= without:
            runs.append(_whole(w, tree))
    if not _never_passed(runs, known_red) <= without or not all(map(_came_to_an_end, runs)):
        return None
    reasons = {name[1]: _reason(runs, name, known_red, is_old=name in without)
               for name in sorted(_ever_failed(runs, known_red))}  # fmt: skip
    for test, reason in reasons.items():
        w.say(f"{test} {reason}", WAITING)
    return Again([replace(result, excused=frozenset(reasons)) for result in runs[-1]], reasons)


def _failing(results: Iterable[CheckResult], known_red: frozenset[str]) -> frozenset[Name]:
    """What speaks against a tree, by check: not what was known to fail."""
    return frozenset(
        (result.name, name) for result in results if not result.is_green and not result.is_empty
        for name in result.names if name not in known_red
    )  # fmt: skip


def _came_to_an_end(results: Iterable[CheckResult]) -> bool:
    """Did each red check run to its end, and find something to run?"""
    return all(r.is_green or not (r.exit is None or r.killed_by or r.is_empty) for r in results)


def _is_certain(w: Workspace, tree: str, failing: Name, before: str, known: Mapping[str, Listing]) -> bool:
    """Is there no use in running it again: a file that cannot be loaded, a check that runs no tests, or a test that was
    not there before, and is the change's own?"""
    name, test = failing
    if test == name:
        return not runs_tests(name, next((check.run for check in w.checks if check.name == name), ""))
    path, listing = Key.of(test).path, known.get(name)
    is_new_file = bool(before and path) and w.objects.at(before, path) is None
    is_new = listing is not None and bool(listing.tests) and not _is_listed(test, listing)
    return is_new_file or is_new or w.objects.at(tree, test) is not None


def _is_listed(test: str, listing: Listing) -> bool:
    """Is a test in a list? A runner that names no file may put the names of its suites before the test's."""
    key = Key.of(test)
    has_suites = not key.path and any(Key.of(known).short == key.short for known in listing.tests)
    return test in listing.tests or has_suites


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


def _still_failing(result: CheckResult | None, tests: set[str]) -> set[str]:
    if result is None:
        return tests
    if outcomes := tests_of(result):
        return {test for test in tests if outcomes.get(test) != PASSED}
    red = set(result.failing)
    return set() if result.is_green else (tests & red if red else tests)


def _whole(w: Workspace, tree: str) -> list[CheckResult]:
    lay_out_clean(w, tree)
    return run_checks(w, "again", until_red=False)


def _ever_failed(runs: Sequence[Sequence[CheckResult]], known_red: frozenset[str]) -> frozenset[Name]:
    return frozenset[Name]().union(*(_failing(run, known_red) for run in runs))


def _never_passed(runs: Sequence[Sequence[CheckResult]], known_red: frozenset[str]) -> frozenset[Name]:
    """What failed, and passed in none of the runs."""
    return frozenset(name for name in _ever_failed(runs, known_red) if not any(_passed_in(run, name) for run in runs))


def _passed_in(run: Sequence[CheckResult], name: Name) -> bool:
    result = next((result for result in run if result.name == name[0]), None)
    return tests_of(result).get(name[1], PASSED if result and result.is_green else "") == PASSED


def _reason(runs: Sequence[Sequence[CheckResult]], name: Name, known_red: frozenset[str], *, is_old: bool) -> str:
    """Why a failing test is excused, in words."""
    of_check = [run for run in runs if any(result.name == name[0] for result in run)]
    count = f"failed in {sum(name in _failing(run, known_red) for run in of_check)} of {len(of_check)} runs"
    return f"{count}, and fails without the change, too" if is_old else f"{count} of the same code"
