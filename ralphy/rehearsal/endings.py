"""How a turn ends: with a result, with an error, by a signal, or not at all."""

from __future__ import annotations

import os
import signal
from argparse import Namespace
from typing import Any

from ralphy.rehearsal.failures import fail, hit_limit
from ralphy.rehearsal.tools import Tools
from ralphy.rehearsal.turns import WORK, Turn, closing_text

FAILED = 1
TASK = {"task_id": "b0", "task_type": "local_bash", "description": "make bench"}


def end(turn: Turn, tools: Tools, flags: Namespace) -> int:
    """Play the first ending that the turn names, else the ordinary one. Returns the exit code."""
    if turn.get("freeze") and not turn.get("hang"):
        os.kill(os.getpid(), signal.SIGSTOP)
    if turn.get("hang") or turn.get("freeze"):
        tools.signals.wait_forever()
    if "crash" in turn:
        return int(turn["crash"])
    if "kill" in turn:
        tools.signals.die(turn["kill"])
    error, budget = turn.get("error"), flags.max_budget_usd
    if "limit" not in turn and error == "max_turns":
        turns = flags.max_turns or tools.stream.calls
        tools.stream.abort("error_max_turns", f"Reached maximum number of turns ({turns})", "max_turns")
    elif "limit" not in turn and (error == "max_budget" or (budget is not None and tools.stream.cost_usd > budget)):
        tools.stream.abort("error_max_budget_usd", f"Reached maximum budget (${budget})", "")
    elif error or "limit" in turn:
        _fail(turn, tools)
    else:
        return _succeed(turn, tools, flags)
    return FAILED


def _succeed(turn: Turn, tools: Tools, flags: Namespace) -> int:
    if "background" in turn:
        _continue_in_background(turn, turn["background"], tools, flags)
    _close(turn, tools)
    if turn.get("no_exit"):
        tools.signals.wait_forever()
    return 0


def _close(turn: Turn, tools: Tools) -> None:
    """The last message of a turn, and its result."""
    text = closing_text(turn, tools)
    tools.stream.say(text)
    tools.stream.succeed(text)


def _continue_in_background(turn: Turn, wanted: dict[str, Any], tools: Tools, flags: Namespace) -> None:
    """Print a result while a command runs, as newer CLIs do; its end and its files come in a second turn."""
    stream, task = tools.stream, TASK["task_id"]
    call = stream.call("Bash", command="make bench", run_in_background=True)
    stream.event("system/background_tasks_changed", tasks=[TASK])
    stream.event("system/task_started", **TASK, tool_use_id=call, is_backgrounded=True)
    stream.reply(call, f"Command running in background with ID: {task}.")
    _close(turn, tools)
    tools.signals.wait(wanted.get("seconds", 1))
    stream.event("system/task_notification", task_id=task, tool_use_id=call, status="completed", summary="make bench")
    stream.event("system/background_tasks_changed", tasks=[])
    stream.init(tools.context, flags)
    WORK["write"](tools, wanted.get("write", {}))


def _fail(turn: Turn, tools: Tools) -> None:
    if not tools.stream.calls:  # a run that failed before any work cost nothing
        tools.stream.tokens, tools.stream.cost_usd = {}, 0.0
    if "limit" in turn:
        hit_limit(tools, turn["limit"])
    else:
        fail(tools, turn["error"])
