"""A command that goes on after the turn: the result comes first, and the model is told at its end, as by newer CLIs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ralphy.rehearsal import shapes, tools
from ralphy.rehearsal.flags import Flags
from ralphy.rehearsal.stage import Stage

COMMAND = "make bench"
DESCRIPTION = "Rehearsed command"


def go_on(wanted: dict[str, Any], stage: Stage, flags: Flags, close: Callable[[], None]) -> None:
    """Begin a command in the background, `close` the turn, wait, write its files, and close a second turn."""
    stream, task = stage.stream, shapes.new_id("b")
    call = stream.call("Bash", {"command": COMMAND, "description": DESCRIPTION, "run_in_background": True})
    row = {"task_id": task, "task_type": "local_bash", "description": DESCRIPTION}
    stream.event("system/background_tasks_changed", tasks=[row])
    stream.event("system/task_started", **row, tool_use_id=call, is_backgrounded=True)
    stream.reply(call, f"Command running in background with ID: {task}.", {"stdout": "", "stderr": ""})
    close()
    time.sleep(wanted.get("seconds", 1))
    stream.event("system/task_notification", task_id=task, tool_use_id=call, status="completed", summary=DESCRIPTION)
    stream.event("system/background_tasks_changed", tasks=[])
    stream.init(stage.scene.cwd, flags.permission_mode, flags.tools)
    for name, text in wanted.get("write", {}).items():
        tools.write(stage, stage.path(name), stage.scene.fill(text))
    close()
