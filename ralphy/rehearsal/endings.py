"""How an act ends: with a result, with an error, by a signal, or not at all."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from ralphy.rehearsal import signals
from ralphy.rehearsal.acts import closing_text
from ralphy.rehearsal.flags import Flags
from ralphy.rehearsal.scenario import Act
from ralphy.rehearsal.stage import Stage

FAILED = 1
LOCK_PATIENCE_S = 1.0


def end(act: Act, stage: Stage, flags: Flags) -> int:
    """Play the first ending that the act names, else the ordinary one. Returns the exit code."""
    for key, play in ENDINGS.items():
        if key in act and act[key] is not False:
            return play(act, stage, flags)
    if exceeded := _exceeded(stage, flags):
        return _cut_off({"error": exceeded}, stage, flags)
    if "background" in act:
        from ralphy.rehearsal.background import go_on

        go_on(act["background"], stage, flags, lambda: _close(act, stage))
    else:
        _close(act, stage)
    if act.get("no_exit"):
        signals.stay()
    return 0


def _close(act: Act, stage: Stage) -> None:
    """The last message of a turn, and its result."""
    text = closing_text(act, stage)
    stage.stream.say(text)
    stage.stream.succeed(text)


def interrupt(act: Act, stage: Stage) -> int | None:
    """Print what SIGINT in the middle of the work leaves behind, and return the exit code.

    When the result is out already nothing is printed: None lets the run end by itself, and a run that stays
    ends with 0.
    """
    if not stage.stream.lock.acquire(timeout=LOCK_PATIENCE_S):
        return FAILED  # nobody reads, so the line that is being written never ends
    if stage.stream.is_closed:
        stage.stream.lock.release()
        return 0 if act.get("no_exit") else None
    if stage.group:
        with suppress(ProcessLookupError):
            os.killpg(stage.group, signal.SIGKILL)
    why = "[ede_diagnostic] result_type=user last_content_type=n/a stop_reason=tool_use"
    stage.stream.interrupt()
    stage.stream.abort("error_during_execution", [why], "aborted_tools", extra_turns=2)
    return FAILED


def _hang(_act: Act, _stage: Stage, _flags: Flags) -> NoReturn:
    signals.stay()


def _freeze(_act: Act, _stage: Stage, _flags: Flags) -> NoReturn:
    os.kill(os.getpid(), signal.SIGSTOP)
    signals.stay()


def _crash(act: Act, _stage: Stage, _flags: Flags) -> int:
    return int(act["crash"])


def _die(act: Act, _stage: Stage, _flags: Flags) -> NoReturn:
    signals.die(act["kill"])


def _limit(act: Act, stage: Stage, _flags: Flags) -> int:
    from ralphy.rehearsal.failures import hit_limit

    _settle(stage)
    hit_limit(stage, act["limit"])
    return FAILED


def _fail(act: Act, stage: Stage, flags: Flags) -> int:
    if act["error"] in ("max_turns", "max_budget"):
        return _cut_off(act, stage, flags)
    from ralphy.rehearsal.failures import fail

    _settle(stage)
    fail(stage, act["error"])
    return FAILED


def _cut_off(act: Act, stage: Stage, flags: Flags) -> int:
    stream = stage.stream
    if act["error"] == "max_turns":
        turns = flags.last("max-turns", str(stream.calls))
        stream.abort("error_max_turns", [f"Reached maximum number of turns ({turns})"], "max_turns")
    else:
        budget = flags.last("max-budget-usd", str(stream.cost_usd))
        stream.abort("error_max_budget_usd", [f"Reached maximum budget (${budget})"], "")
    return FAILED


def _exceeded(stage: Stage, flags: Flags) -> str:
    """Which limit of the command line the act went over; 0 turns means no limit."""
    turns = float(flags.last("max-turns", "0"))
    if turns and stage.stream.calls >= turns:
        return "max_turns"
    budget = float(flags.last("max-budget-usd", "inf"))
    return "max_budget" if stage.stream.cost_usd > budget else ""


def _settle(stage: Stage) -> None:
    """A run that failed before any work cost nothing."""
    if not stage.stream.calls:
        stage.stream.tokens, stage.stream.cost_usd = {}, 0


ENDINGS: dict[str, Callable[[Act, Stage, Flags], int]] = {
    "hang": _hang,
    "freeze": _freeze,
    "crash": _crash,
    "kill": _die,
    "limit": _limit,
    "error": _fail,
}
