"""The turn that a run plays, and its work in a fixed order."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from ralphy.rehearsal.cheats import cheat
from ralphy.rehearsal.context import Context
from ralphy.rehearsal.default import usual_turn
from ralphy.rehearsal.failures import warn
from ralphy.rehearsal.tools import Tools

Turn = dict[str, Any]

DEFAULTS: Turn = {"cost_usd": 0.02, "delay_s": 0, "tokens": {}}
PROMISE = "STORY_DONE"
WORK_TYPES = {"clarify": "DOCUMENTATION", "spec": "DOCUMENTATION", "acceptance": "TESTING", "story": "IMPLEMENTATION",
              "qa": "TESTING", "pr": "DOCUMENTATION", "split": "DOCUMENTATION"}  # fmt: skip
TOKENS = {"input": 1_200, "output": 340, "cache_read": 20_000, "cache_creation": 2_000}


def choose_turn(scenario: Mapping[str, Any], context: Context) -> Turn:
    """The turn of this run: the n-th of its step or story in the n-th run, after the last one that one again.

    InvalidInput when it writes to the outbox and the caller named none.
    """
    stories = scenario.get("stories", {})
    of_step = stories.get(context.story) or stories.get("*") if context.step == "story" else scenario.get(context.step)
    turns = [of_step] if isinstance(of_step, dict) else of_step or [{"default": True}]
    turn = turns[min(context.number, len(turns)) - 1]
    usual = usual_turn(context) if turn.get("default") else {}
    turn = {**DEFAULTS, **scenario.get("defaults", {}), **usual, **turn}
    for name in (*turn.get("outbox", {}), *(["learnings.md"] if "learnings" in turn else [])):
        context.delivery(name)
    return turn


def work(turn: Turn, tools: Tools) -> None:
    """Do the work of the turn in the order of WORK; its ending comes after."""
    tools.stream.tokens = {**TOKENS, **turn["tokens"]}
    tools.stream.cost_usd = turn["cost_usd"]
    tools.signals.wait(turn["delay_s"])
    for key, play in WORK.items():
        if key in turn:
            play(tools, turn[key])


def closing_text(turn: Turn, tools: Tools) -> str:
    """The last message: the turn's last text or its question, then the report block and the promise."""
    context = tools.context
    last = _texts(turn.get("say", f"Rehearsed {context.key}. Files changed: {len(tools.touched)}."))[-1]
    parts = [context.fill(turn.get("question", last))]
    exit_signal = turn.get("exit_signal", "question" not in turn)
    promise = turn.get("promise", PROMISE if context.step == "story" and exit_signal else None)
    if exit_signal is not None:
        parts.append(_report(turn, tools, exit_signal))
    if promise:
        parts.append(f"<promise>{promise}</promise>")
    return "\n\n".join(parts)


def _report(turn: Turn, tools: Tools, exit_signal: bool) -> str:
    """The RALPH_STATUS block."""
    is_blocked = "question" in turn
    is_done = exit_signal and not is_blocked
    facts: dict[str, object] = {
        "STATUS": "BLOCKED" if is_blocked else "COMPLETE" if is_done else "IN_PROGRESS",
        "TASKS_COMPLETED_THIS_LOOP": int(is_done),
        "FILES_MODIFIED": len(tools.touched),
        "TESTS_STATUS": "FAILING" if tools.is_red else "PASSING",
        "WORK_TYPE": WORK_TYPES.get(tools.context.step, "IMPLEMENTATION"),
        "EXIT_SIGNAL": exit_signal,
        "RECOMMENDATION": tools.context.fill(turn["question"]).split("\n")[0] if is_blocked else "none",
        **turn.get("status", {}),
    }
    values = {name: str(value).lower() if isinstance(value, bool) else value for name, value in facts.items()}
    lines = [f"{name}: {value}" for name, value in values.items()]
    return "\n".join(["---RALPH_STATUS---", *lines, "---END_RALPH_STATUS---"])


def _texts(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _think(tools: Tools, texts: str | list[str]) -> None:
    for text in _texts(texts):
        tools.stream.think(tools.context.fill(text))


def _say(tools: Tools, texts: str | list[str]) -> None:
    """All but the last text, which opens the last message."""
    for text in _texts(texts)[:-1]:
        tools.stream.say(tools.context.fill(text))


def _read(tools: Tools, names: list[str]) -> None:
    for name in names:
        tools.read(tools.path(name))


def _write(tools: Tools, files: dict[str, str]) -> None:
    for name, text in files.items():
        tools.write(tools.path(name), tools.context.fill(text))


def _append(tools: Tools, files: dict[str, str]) -> None:
    for name, text in files.items():
        tools.append(tools.path(name), tools.context.fill(text))


def _delete(tools: Tools, names: list[str]) -> None:
    tools.delete([tools.path(name) for name in names])


def _hand_in(tools: Tools, artifacts: dict[str, Any]) -> None:
    for name, content in artifacts.items():
        text = content if isinstance(content, str) else json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        tools.write(tools.context.delivery(name), tools.context.fill(text))


def _learn(tools: Tools, text: str) -> None:
    _hand_in(tools, {"learnings.md": text})


def _run(tools: Tools, command: str | list[Any]) -> None:
    are_many = isinstance(command, list) and isinstance(command[0], list)
    for one in command if are_many else [command]:
        words = shlex.split(one) if isinstance(one, str) else one
        tools.bash([tools.context.fill(word) for word in words])


def _commit(tools: Tools, message: str) -> None:
    tools.bash(["git", "add", "-A"], ["git", "commit", "--quiet", "-m", tools.context.fill(message)])


def _print_raw(tools: Tools, lines: str | list[str]) -> None:
    """The lines just as they are."""
    for line in _texts(lines):
        tools.stream.put_bytes(line.encode() + b"\n")


WORK: dict[str, Callable[[Tools, Any], None]] = {
    "think": _think,
    "say": _say,
    "warning": warn,
    "read": _read,
    "delete": _delete,
    "write": _write,
    "append": _append,
    "outbox": _hand_in,
    "learnings": _learn,
    "run": _run,
    "cheat": cheat,
    "commit": _commit,
    "raw": _print_raw,
}
