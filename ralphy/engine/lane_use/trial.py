"""A check on a tree that is made to answer a question: it runs in the clean lane, and the tree is never committed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from ralphy.checks.narrowing import narrowed
from ralphy.config.values import Check
from ralphy.engine.lane_use.checks import CheckResult, argv, run_check
from ralphy.engine.lane_use.lane_layout import lay_out_clean, lay_over
from ralphy.engine.lane_use.open_lanes import clean_lane
from ralphy.engine.workspace.environment import check_environment
from ralphy.engine.workspace.reports import Reports
from ralphy.engine.workspace.subject import subject
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import EnvironmentProblem
from ralphy.pipeline.events import Purpose

_MOST_SECONDS = 300.0
_PATIENCE, _LEAST_S = 5.0, 10.0  # a check that takes so many times as long as on the whole code does not end
# The questions that stay open, and are reported, when a check takes too long.
_QUESTIONS: dict[Purpose, str] = {
    "old_tests": "whether the old versions of edited tests pass",
    "red_first": "whether its tests notice that code is missing",
    "probe": "whether failures are heard",
    "acceptance_tests": "whether acceptance tests notice that code is missing",
}


def words_for(w: Workspace, check: Check, files: Sequence[str]) -> list[str] | None:
    """The words of a check that run only these test files; None if its runner cannot do that."""
    at = clean_lane(w).tree
    return narrowed(argv(check), files, lambda word: (at / word).exists()) if files else None


def patience_s(check: Check, result: CheckResult) -> float:
    """How long to wait for a check on incomplete code, in seconds: a loop there may not end. `result` is the check's on
    the whole code."""
    return min(check.timeout_s, _MOST_SECONDS, _LEAST_S + _PATIENCE * result.seconds)


def try_tree(
    w: Workspace, tree: str, check: Check, words: Sequence[str], purpose: Purpose,
    over: Mapping[str, bytes] = MappingProxyType({}),
) -> CheckResult | None:  # fmt: skip
    """The result of a check, run by these words on a tree with the files `over` laid over it; None if it could not
    start, or took too long."""
    result = tried(w, tree, check, words, purpose, min(check.timeout_s, _MOST_SECONDS), over=over)
    return None if result and result.stopped else result


def tried(
    w: Workspace, tree: str, check: Check, words: Sequence[str], purpose: Purpose, most_s: float,
    over: Mapping[str, bytes] = MappingProxyType({}),
) -> CheckResult | None:  # fmt: skip
    """As `try_tree`, within `most_s` seconds; a check that was stopped at that time has a result, too."""
    with Reports(w.repository.token) as reports:
        try:
            lay_out_clean(w, tree)
            lay_over(clean_lane(w), over)
            env = check_environment(w, f"{purpose}-{tree[:12]}")
            result = run_check(w, replace(check, timeout_s=most_s), words, env, reports)
        except (OSError, EnvironmentProblem) as error:
            _report_no_run(w, check, str(error))
            return None
    if result.stopped == "start":
        _report_no_run(w, check, result.output)
        return None
    subject().check_runs[purpose] += 1
    subject().narrowed[purpose] += tuple(words) != argv(check)
    w.emit(result.event(purpose))
    if result.stopped == "deadline" and purpose in _QUESTIONS:
        open_question = f"check {check.name} did not end within {most_s:.0f} s: nobody knows {_QUESTIONS[purpose]}"
        subject().late.append(open_question)
    return result


def _report_no_run(w: Workspace, check: Check, why: str) -> None:
    w.say(f"check {check.name} could not be run on another version of the tests: {why}")
