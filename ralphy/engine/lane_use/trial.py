"""A check on a tree that is made for a question: laid out in the clean lane, run there, committed nowhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ralphy.checks.listing import Listing
from ralphy.checks.narrowing import narrowed
from ralphy.checks.runner_output import read_output
from ralphy.config.values import Check
from ralphy.engine.lane_use.checks import CheckResult, argv, bounds, command_in
from ralphy.engine.lane_use.lane_layout import clean_lane, lay_out_clean
from ralphy.engine.workspace.environment import check_environment
from ralphy.engine.workspace.reports import Reports
from ralphy.engine.workspace.subject import subject
from ralphy.engine.workspace.workspace import Workspace, repository_token
from ralphy.errors import EnvironmentProblem
from ralphy.pipeline.events import Purpose
from ralphy.processes.supervision import capture

_MOST_SECONDS = 300.0
_OUTPUT_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Told:
    """What a check tells of its tests (None: of none), what it prints, and whether it came to its end and was green."""

    listing: Listing | None
    output: str
    is_green: bool


def words_for(w: Workspace, check: Check, files: Sequence[str]) -> list[str] | None:
    """The words of a check that run these files of tests alone; None if its runner cannot be asked that way."""
    at = clean_lane(w).tree
    return narrowed(argv(check), files, lambda word: (at / word).exists()) if files else None


def try_tree(w: Workspace, tree: str, check: Check, words: Sequence[str], purpose: Purpose) -> Told | None:
    """What these words of a check tell about a tree; None if they cannot be run there, or took too long."""
    try:
        lay_out_clean(w, tree)
        return _run(w, tree, check, words, purpose)
    except (OSError, EnvironmentProblem) as error:
        w.say(f"check {check.name} could not be run on another version of the tests: {error}")
        return None


def _run(w: Workspace, tree: str, check: Check, words: Sequence[str], purpose: Purpose) -> Told | None:
    with Reports(repository_token(w.repository)) as reports:
        env = reports.environment(check_environment(w, f"{purpose}-{tree[:12]}"), check.name)
        seconds = min(check.timeout_s, _MOST_SECONDS)
        command = command_in(w, clean_lane(w), "checks", words, env, seconds, reports.folder)
        subject().check_runs[purpose] += 1
        end, data = capture(w.supervisor, command, _OUTPUT_BYTES, should_stop=bounds(w, []))
        output = data.decode("utf-8", "replace")
        w.emit(CheckResult(check.name, end.returncode, end.duration_s, output).event(purpose))
        told = Told(reports.read(check.name) or read_output(output), output, end.returncode == 0)
        return None if end.stopped else told
