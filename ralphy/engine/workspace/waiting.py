"""When to try again after a limit or a passing trouble (the provider's own word, else a back-off), what is left.

What a Ralphy rests on may follow from its options alone: it is noted, so that other processes tell the same of it.
"""

from __future__ import annotations

import os
import random
from typing import Any

from ralphy.agents.protocol import AgentResult, Outcome
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import ExitCode
from ralphy.git.run_lock import holder
from ralphy.pipeline.decision import Decision, Halt, Publish, RunAgent, Wait
from ralphy.pipeline.events import Waiting
from ralphy.pipeline.preconditions import AFTER_RESET_S
from ralphy.text.json_coerce import count_of, moment_of, number_of, text_of

_LIMIT_BACKOFF_S = (300.0, 600.0, 1200.0)
_TROUBLE_BACKOFF_S = (5.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0)


def next_try(w: Workspace, run: str, outcome: Outcome, result: AgentResult) -> dict[str, Any]:
    """For the journal's line of an open run: the epoch seconds of the next try, and whether they are the provider's own
    word.

    A reset that was over before the run began, or is unknown, gives a back-off with jitter. One that is put off again
    and again by a little is not run after.
    """
    now, before, resets = w.clock(), w.history.waits_in_a_row, w.history.resets_in_a_row
    began = number_of(w.history.begun(run).get("at")) or now
    if outcome is Outcome.LIMITED and result.retry_at and result.retry_at > began:
        least = _TROUBLE_BACKOFF_S[min(resets, len(_TROUBLE_BACKOFF_S)) - 1] if resets else 0.0
        return {"retry_at": max(result.retry_at + AFTER_RESET_S, now + least), "until_reset": True}
    steps = _LIMIT_BACKOFF_S if outcome is Outcome.LIMITED else _TROUBLE_BACKOFF_S
    wait = max(steps[min(before, len(steps) - 1)], w.config.limits.retry_delay_s)
    return {"retry_at": now + wait * random.uniform(0.9, 1.1)}  # noqa: S311  # spreads retries, guards nothing


def seconds_left(w: Workspace, until: float) -> float:
    """What is left of a wait: by the wall clock, or by the time that has passed here since the wait was first seen,
    whichever is less. So a clock that is set back lengthens no wait."""
    if until not in w.waits:
        planned = until - w.clock()
        if until == w.history.retry_at:
            planned = min(planned, w.history.retry_s)
        w.waits = {until: w.steady() + planned}
    return min(until - w.clock(), w.waits[until] - w.steady())


def tell_waiting(w: Workspace, wait: Wait, left_s: float) -> float:
    """Tell of a wait for a time, every `tick_s` seconds after its decision; gives after how many it is due again."""
    reported_s = w.left_when_reported.setdefault(wait.until, left_s)
    due_s = w.tick_s - (reported_s - left_s)
    if due_s > 0:
        return due_s
    w.left_when_reported = {wait.until: left_s}
    w.emit(Waiting(reason=wait.reason, until=wait.until, seconds_left=round(left_s)))
    return w.tick_s


def note_rest(w: Workspace, decision: Decision) -> None:
    """Note a wait for a time, or a step whose time is used up, once."""
    late = (decision.late or None) if isinstance(decision, Halt) else None
    is_wait = isinstance(decision, Wait) and decision.exit_code == ExitCode.LIMITED
    rest = {"reason": decision.reason, "until": getattr(decision, "until", None), "late": late, "pid": os.getpid()}
    if (late or is_wait) and any(w.history.rest.get(name) != value for name, value in rest.items()):
        w.record("rest", durable=bool(late), **rest)


def as_it_rests(w: Workspace, now: float, decision: Decision) -> Decision:
    """The decision; in place of a run, what the Ralphy that drives the feature waits for, or a step's failure; in place
    of the publishing, why its last push was refused."""
    rest = w.history.rest
    if isinstance(decision, Publish) and rest.get("refused"):
        return Halt(text_of(rest.get("reason")), count_of(rest.get("refused")))
    reason, until, late = text_of(rest.get("reason")), moment_of(rest.get("until")), text_of(rest.get("late"))
    if not isinstance(decision, RunAgent) or not reason:
        return decision
    if late:
        return Halt(reason, ExitCode.BUDGET, late=late) if late == decision.step else decision
    is_waiting = until is not None and until > now and _waiting_pid(w)
    return Wait(reason, ExitCode.LIMITED, until=until) if is_waiting else decision


def _waiting_pid(w: Workspace) -> int:
    """The process whose wait is noted, if it still holds the checkout; 0 if none does."""
    pid = holder(w.repository.checkout_dir / "lock").get("pid")
    return pid if isinstance(pid, int) and pid == w.history.rest.get("pid") else 0
