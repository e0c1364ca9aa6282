"""How a turn ends: with a result, with an error, or not at all."""

from __future__ import annotations

from argparse import Namespace

from ralphy.rehearsal.failures import fail, hit_limit
from ralphy.rehearsal.tools import Tools
from ralphy.rehearsal.turns import Turn, closing_text

FAILED = 1


def end(turn: Turn, tools: Tools, flags: Namespace) -> int:
    """Play the first ending that the turn names, else the ordinary one. Returns the exit code."""
    if turn.get("hang"):
        tools.signals.wait_forever()
    if "crash" in turn:
        return int(turn["crash"])
    error, budget = turn.get("error"), flags.max_budget_usd
    if error == "max_turns":
        turns = flags.max_turns or tools.stream.calls
        tools.stream.abort("error_max_turns", f"Reached maximum number of turns ({turns})", "max_turns")
    elif error == "max_budget" or (budget is not None and tools.stream.cost_usd > budget):
        tools.stream.abort("error_max_budget_usd", f"Reached maximum budget (${budget})", "")
    elif error or "limit" in turn:
        _fail(turn, tools)
    else:
        close(turn, tools)
        return 0
    return FAILED


def close(turn: Turn, tools: Tools) -> None:
    """The last message of a turn, and its result."""
    text = closing_text(turn, tools)
    tools.stream.say(text)
    tools.stream.succeed(text)


def _fail(turn: Turn, tools: Tools) -> None:
    if not tools.stream.calls:  # a run that failed before any work cost nothing
        tools.stream.tokens, tools.stream.cost_usd = {}, 0.0
    if "limit" in turn:
        hit_limit(tools, turn["limit"])
    else:
        fail(tools, turn["error"])
