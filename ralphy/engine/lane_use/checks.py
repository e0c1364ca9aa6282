"""Checks: the project's own commands, run by Ralphy, in the lane that holds the candidate."""

from __future__ import annotations

import shlex
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ralphy.checks.first_error import first_error
from ralphy.checks.listing import Listing, name_below
from ralphy.checks.narrowing import folder_of
from ralphy.checks.runner_output import failing_tests, ran_none, read_output, test_id
from ralphy.config.values import Check
from ralphy.engine.lane_use.lane_walls import sandbox_of
from ralphy.engine.lane_use.open_lanes import clean_lane
from ralphy.engine.workspace.environment import check_environment
from ralphy.engine.workspace.full_disk import places, require_disk_space
from ralphy.engine.workspace.reports import Reports, is_refused
from ralphy.engine.workspace.subject import subject
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import DiskFull
from ralphy.pipeline.events import CheckRan, Purpose
from ralphy.processes.capture import capture
from ralphy.processes.command import NotStarted
from ralphy.processes.resource_limits import RunLimits
from ralphy.sandbox.bubblewrap import command_inside

if TYPE_CHECKING:
    from ralphy.lanes.lane import Lane

_OUTPUT_BYTES = 256 * 1024
_KILLED = {-signal.SIGKILL, -signal.SIGTERM, 128 + signal.SIGKILL, 128 + signal.SIGTERM}  # a shell or sandbox adds 128
_AGAIN_S = (5.0, 15.0, 45.0)  # how long is waited before a check that was killed is run again


@dataclass(frozen=True, slots=True)
class CheckResult:
    """How a check ended: `exit` is its code (negative: a signal; None: it was not started, or was `stopped`).

    `stopped` is "start", or why Ralphy ended it ("deadline"). `listing` are the tests that its runner reported, None
    without a report; `error` is the first error that it printed, with file and line. `excused` are tests that failed
    and do not count: they are flaky, or fail without the change.
    """

    name: str
    exit: int | None
    seconds: float
    output: str
    failing: tuple[str, ...] = ()
    is_empty: bool = False
    why: str = ""
    run: str = ""
    stopped: str = ""
    listing: Listing | None = None
    error: str = ""
    excused: frozenset[str] = frozenset()

    @property
    def is_green(self) -> bool:
        return self.exit == 0

    @property
    def killed_by(self) -> int:
        """The signal by which somebody ended it, or the kernel for lack of memory; 0 if it ended by itself."""
        return abs(self.exit or 0) % 128 if self.exit in _KILLED and not self.why else 0

    @property
    def names(self) -> tuple[str, ...]:
        """What failed: the tests, or the check itself if it names none."""
        return self.failing or (self.name,)

    @property
    def blamed(self) -> list[str]:
        """What failed without being excused."""
        return [] if self.is_green else [name for name in self.names if name not in self.excused]

    def failure(self) -> str:
        """The sentence of a red check, with what failed in it and the first error."""
        names = "" if self.is_empty else f": {', '.join(self.names[:5])}"
        return f"{self.sentence()}{names}" + (f"; first error: {self.error}" if self.error else "")

    @property
    def outcome(self) -> str:
        killed = f"was killed (signal {self.killed_by})" if self.killed_by else ""
        red = self.why or killed or f"exit {self.exit}"
        return "passed" if self.is_green else "no tests found" if self.is_empty else red

    def sentence(self) -> str:
        return f"{self.name}: {self.outcome}" if self.is_empty else f"{self.name} {self.outcome} ({self.seconds:.1f} s)"

    def event(self, purpose: Purpose) -> CheckRan:
        return CheckRan(check=self.name, purpose=purpose, passed=self.is_green, said=self.outcome,
                        seconds=round(self.seconds, 2), failing=self.failing,
                        first_error="" if self.is_empty else self.error)  # fmt: skip


def run_checks(w: Workspace, purpose: Purpose, *, run: str = "", until_red: bool) -> list[CheckResult]:
    """Run all checks in order; with `until_red`, up to the first red one. `run` names the run in their environment.

    DiskFull if a check is red and the disk is full: its result means nothing then.
    """
    results = []
    env = check_environment(w, run or purpose)
    subject().check_runs[purpose] += 1
    with Reports(w.repository.token) as reports:
        for check in w.checks:
            w.say(f"  check {check.name}: {check.run} (at most {check.timeout_s:.0f} s)", is_detail=True)
            results.append(run_check(w, check, argv(check), env, reports))
            w.emit(results[-1].event(purpose))
            if not results[-1].is_green:
                require_disk_space(w)
            if until_red and not results[-1].is_green and not results[-1].is_empty:
                break
    return results


def unless_killed(w: Workspace, ask: Callable[[], list[CheckResult]]) -> list[CheckResult]:
    """The results of `ask`. If a check was killed from outside, ask again after a while, a few times: there may be more
    memory then. A check that is killed each time is red."""
    for wait_s in _AGAIN_S:
        results = ask()
        killed = next((result for result in results if result.killed_by), None)
        if killed is None:
            return results
        w.say(f"  check {killed.sentence()}; running it again in {wait_s:.0f} s")
        w.pause(wait_s)
    return ask()


def run_check(
    w: Workspace, check: Check, words: Sequence[str], env: Mapping[str, str], reports: Reports
) -> CheckResult:
    """Run a check by these words in the clean lane, and read what its runner reported of the tests."""
    result = _run(w, clean_lane(w), "checks", check, words, reports.environment(env, check.name), reports.folder)
    if is_refused(result.exit, result.output):
        result = _run(w, clean_lane(w), "checks", check, words, env, reports.folder)
    listing = reports.read(check.name, folder_of(words)) or read_output(result.output)
    is_empty = ran_none(words, result.exit, result.output, listing)
    return replace(result, run=check.run, listing=listing, is_empty=is_empty)


def _run(
    w: Workspace, lane: Lane, whose: str, check: Check, words: Sequence[str], env: Mapping[str, str], shared: str = ""
) -> CheckResult:
    """Run a command in a lane, inside the walls of `checks` or an `agent`; it may write to the folder `shared`."""
    limits, inside = run_limits(w), lane.environment(env, w.config.lanes.port_base)
    if limits.lacks_disk():  # before the check began
        limits.min_free_mb = 0
    try:
        command = command_inside(sandbox_of(w, lane, whose), words, lane.at, inside, check.timeout_s, shared)
        end, output = capture(command, _OUTPUT_BYTES, should_stop=lambda root: limits.why_over(root, time.monotonic()))
    except NotStarted as error:
        why = f"could not be started: {error.what}"
        return CheckResult(check.name, None, 0.0, str(error), why=why, stopped="start")
    text = output.decode("utf-8", "replace")
    if end.stopped == "disk":  # as with an agent: there may be space later, and the result means nothing now
        raise DiskFull(limits.why, where=str(w.repository.root), hint="free some space")
    if end.stopped:
        why = f"took more than {check.timeout_s:g} s" if end.stopped == "deadline" else limits.why
        return CheckResult(check.name, None, end.duration_s, text, why=why, stopped=end.stopped)
    if end.returncode == 0:
        return CheckResult(check.name, 0, end.duration_s, text)
    first = first_error(text.replace(f"{clean_lane(w).at}/", ""))
    line = first.line if first else ""
    failing = tuple(name_below(folder_of(words), test_id(test)) for test in failing_tests(text))
    return CheckResult(check.name, end.returncode, end.duration_s, text, failing, error=line)


def run_as_agent(w: Workspace, check: Check, env: Mapping[str, str], lane: Lane | None = None) -> CheckResult:
    """Run `setup` or the hook like a check, but inside the walls of an agent."""
    return replace(_run(w, lane or clean_lane(w), "agent", check, argv(check), env), run=check.run)


def checked(result: CheckResult) -> dict[str, Any]:
    """A check's row in a story's evidence; its output is in the story's document."""
    return {"name": result.name, "run": result.run[:200], "exit": result.exit, "seconds": round(result.seconds, 2)}


def run_limits(w: Workspace) -> RunLimits:
    """The limits of one run of an agent or a check; the space counts where code, journal and the agent's files lie."""
    limits = w.config.limits
    return RunLimits(limits.max_memory_mb, limits.max_processes, limits.min_free_mb, places(w))


def argv(check: Check) -> tuple[str, ...]:
    """The words of a check's command; no shell reads it."""
    return tuple(shlex.split(check.run))


def failed(results: Sequence[CheckResult], known_red: frozenset[str], spared: frozenset[str]) -> list[CheckResult]:
    """The results that count against a tree: red with other tests than `known_red`, or empty and not in `spared`."""
    return [
        r for r in results
        if r.blamed and not (r.is_empty and r.name in spared)
        and (not r.failing or r.killed_by or not known_red.issuperset(r.blamed))
    ]  # fmt: skip
