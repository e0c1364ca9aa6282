"""How an act ends: with a result, with an error, by a signal, or not at all."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from typing import Any

from ralphy.rehearsal import signals
from ralphy.rehearsal.acts import closing_text
from ralphy.rehearsal.flags import Flags
from ralphy.rehearsal.scenario import Act
from ralphy.rehearsal.stage import OF_A_COMMAND, Stage
from ralphy.rehearsal.stream import new_id

FAILED = 1
LOCK_PATIENCE_S = 1.0


def end(act: Act, stage: Stage, flags: Flags) -> int:
    """Play the first ending that the act names, else the ordinary one. Returns the exit code."""
    if act.get("hang"):
        signals.stay()
    if act.get("freeze"):
        os.kill(os.getpid(), signal.SIGSTOP)
        signals.stay()
    if "crash" in act:
        return int(act["crash"])
    if "kill" in act:
        signals.die(act["kill"])
    if "limit" in act or "error" in act:
        return _fail(act, stage, flags)
    if exceeded := _exceeded(stage, flags):
        return _cut_off(exceeded, stage, flags)
    if "background" in act:
        _go_on(act, act["background"], stage, flags)
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


def _fail(act: Act, stage: Stage, flags: Flags) -> int:
    from ralphy.rehearsal.failures import fail, hit_limit

    error = act.get("error", "")
    if "limit" not in act and error in ("max_turns", "max_budget"):
        return _cut_off(error, stage, flags)
    if not stage.stream.calls:  # a run that failed before any work cost nothing
        stage.stream.tokens, stage.stream.cost_usd = {}, 0
    if "limit" in act:
        hit_limit(stage, act["limit"])
    else:
        fail(stage, error)
    return FAILED


def _cut_off(error: str, stage: Stage, flags: Flags) -> int:
    stream = stage.stream
    if error == "max_turns":
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


def _go_on(act: Act, wanted: dict[str, Any], stage: Stage, flags: Flags) -> None:
    """A command that goes on after the turn, as with newer CLIs: its end, and what it wrote, are a second turn's."""
    stream, row = stage.stream, {"task_id": new_id("b"), "task_type": "local_bash", "description": OF_A_COMMAND}
    arguments = {"command": "make bench", "description": OF_A_COMMAND, "run_in_background": True}
    call, task = stream.call("Bash", arguments), row["task_id"]
    stream.event("system/background_tasks_changed", tasks=[row])
    stream.event("system/task_started", **row, tool_use_id=call, is_backgrounded=True)
    stream.reply(call, f"Command running in background with ID: {task}.", {"stdout": "", "stderr": ""})
    _close(act, stage)
    time.sleep(wanted.get("seconds", 1))
    stream.event("system/task_notification", task_id=task, tool_use_id=call, status="completed", summary=OF_A_COMMAND)
    stream.event("system/background_tasks_changed", tasks=[])
    stream.init(stage.scene.cwd, flags.permission_mode, flags.tools)
    for name, text in wanted.get("write", {}).items():
        stage.write(stage.path(name), stage.scene.fill(text))
