"""What one act does: its work in a fixed order, and then the way it ends."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from ralphy.rehearsal.scenario import Act
from ralphy.rehearsal.scene import Scene
from ralphy.rehearsal.stage import Stage
from ralphy.rehearsal.trouble import TROUBLES

PROMISE = "STORY_DONE"
WORK_TYPES = {"clarify": "DOCUMENTATION", "spec": "DOCUMENTATION", "acceptance": "TESTING", "story": "IMPLEMENTATION",
              "qa": "TESTING", "pr": "DOCUMENTATION", "split": "DOCUMENTATION"}  # fmt: skip
TOKENS = {"input": 1_200, "output": 340, "cache_read": 20_000, "cache_creation": 2_000}


def check_act(act: Act, scene: Scene) -> None:
    """InvalidInput when the act needs an outbox and the caller named none."""
    for name in act.get("outbox", {}):
        scene.delivery(name)
    if "learnings" in act:
        scene.delivery("learnings.md")


def work(act: Act, stage: Stage) -> None:
    """Do everything the act says short of ending, in the order of WORK."""
    stage.stream.tokens = {**TOKENS, **act.get("tokens", {})}
    stage.stream.cost_usd = act["cost_usd"]
    time.sleep(act["delay_s"])
    for key, play in WORK.items():
        if key in act:
            play(stage, act[key])


def closing_text(act: Act, stage: Stage) -> str:
    """The last message: what the act says last, or its question, then the promise and the report block."""
    scene = stage.scene
    said = _texts(act.get("say", f"Rehearsed {scene.key}: {len(stage.touched)} files changed."))[-1]
    parts = [scene.fill(act.get("question", said))]
    signal_given = act.get("exit_signal", "question" not in act)
    promise = act.get("promise", PROMISE if scene.step == "story" and signal_given else None)
    if signal_given is not None:
        parts.append(_report(act, stage, signal_given))
    if promise:
        parts.append(f"<promise>{promise}</promise>")
    return "\n\n".join(parts)


def _report(act: Act, stage: Stage, signal_given: bool) -> str:
    """The RALPH_STATUS block."""
    blocked = "question" in act
    done = bool(signal_given) and not blocked
    facts: dict[str, object] = {
        "STATUS": "BLOCKED" if blocked else "COMPLETE" if done else "IN_PROGRESS",
        "TASKS_COMPLETED_THIS_LOOP": int(done),
        "FILES_MODIFIED": len(stage.touched),
        "TESTS_STATUS": "FAILING" if stage.is_red else "PASSING",
        "WORK_TYPE": WORK_TYPES.get(stage.scene.step, "IMPLEMENTATION"),
        "EXIT_SIGNAL": signal_given,
        "RECOMMENDATION": stage.scene.fill(act["question"]).split("\n")[0] if blocked else "none",
    }
    facts.update(act.get("status", {}))
    lines = [f"{name}: {_plain(value)}" for name, value in facts.items()]
    return "\n".join(["---RALPH_STATUS---", *lines, "---END_RALPH_STATUS---"])


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _texts(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def _think(stage: Stage, texts: str | list[str]) -> None:
    for text in _texts(texts):
        stage.stream.think(stage.scene.fill(text))


def _say(stage: Stage, texts: str | list[str]) -> None:
    """All but the last text, which opens the last message."""
    for text in _texts(texts)[:-1]:
        stage.stream.say(stage.scene.fill(text))


def _warn(stage: Stage, warning: Act) -> None:
    from ralphy.rehearsal.failures import warn

    warn(stage, warning)


def _read(stage: Stage, names: list[str]) -> None:
    for name in names:
        stage.read(stage.path(name))


def _write(stage: Stage, files: dict[str, str]) -> None:
    for name, text in files.items():
        stage.write(stage.path(name), stage.scene.fill(text))


def _append(stage: Stage, files: dict[str, str]) -> None:
    for name, text in files.items():
        stage.append(stage.path(name), stage.scene.fill(text))


def _delete(stage: Stage, names: list[str]) -> None:
    paths = [stage.path(name) for name in names]
    stage.touched.update(paths)
    stage.bash(f"rm -rf {' '.join(names)}", [["rm", "-rf", "--", *paths]])


def _hand_in(stage: Stage, artifacts: dict[str, Any]) -> None:
    for name, content in artifacts.items():
        is_text = isinstance(content, str)
        text = content if is_text else json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        stage.write(stage.scene.delivery(name), stage.scene.fill(text))


def _run(stage: Stage, command: str | list[Any]) -> None:
    import shlex

    several = isinstance(command, list) and isinstance(command[0], list)
    for one in command if several else [command]:
        words = shlex.split(one) if isinstance(one, str) else one
        argv = [stage.scene.fill(word) for word in words]
        stage.bash(shlex.join(argv), [argv])


def _cheat(stage: Stage, wanted: Act) -> None:
    from ralphy.rehearsal.cheats import cheat

    cheat(stage, wanted)


def _commit(stage: Stage, message: str) -> None:
    text = stage.scene.fill(message)
    commands = [["git", "add", "-A"], ["git", "commit", "--quiet", "-m", text]]
    stage.bash(f"git add -A && git commit -q -m '{text}'", commands)


WORK: dict[str, Callable[[Stage, Any], None]] = {
    "think": _think,
    "say": _say,
    "warning": _warn,
    "read": _read,
    "delete": _delete,
    "write": _write,
    "append": _append,
    "outbox": _hand_in,
    "learnings": lambda stage, text: _hand_in(stage, {"learnings.md": text}),
    "run": _run,
    "cheat": _cheat,
    "commit": _commit,
    **TROUBLES,
}
