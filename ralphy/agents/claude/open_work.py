"""What a run has begun and not ended: calls of tools, and background tasks.

While a background task is open, the run is not finished: the CLI prints the whole list whenever it changes, waits for
the tasks after its result, and then calls the model again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ralphy.agents.claude.loop_detection import digest_of
from ralphy.text.first_few import first_few
from ralphy.text.json_coerce import mapping_of, number_of, text_of
from ralphy.text.plain_text import without_controls

_NAME_CHARS = 60
_WRITERS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool; `timeout_s` is the timeout in its input, in seconds (0 if there is none).

    `subject` is the tool's name, with the command if it runs one. `written` is a digest of the input of a call that
    changes a file, "" for any other.
    """

    name: str = ""
    timeout_s: float = 0.0
    subject: str = ""
    written: str = ""

    @classmethod
    def of(cls, block: Mapping[str, Any]) -> ToolCall:
        """The call in a `tool_use` block."""
        name, given = text_of(block.get("name")), mapping_of(block.get("input"))
        asked_ms = number_of(given.get("timeout")) or 0.0
        subject = f"{name} {text_of(given.get('command'))}"
        return cls(name, asked_ms / 1000, subject, digest_of(given) if name in _WRITERS else "")


class BackgroundTasks:
    """The open background tasks by their ids, each with the timeout of the call that began it."""

    def __init__(self) -> None:
        self.open: dict[str, ToolCall] = {}
        self._begun: dict[str, ToolCall] = {}

    def started(self, event: Mapping[str, Any], tools: Mapping[str, ToolCall]) -> None:
        """A task began, in the foreground or in the background: it belongs to the call of an open tool."""
        task, tool = text_of(event.get("task_id")), tools.get(text_of(event.get("tool_use_id")))
        if tool:
            self._begun[task] = replace(tool, name=_described(event) or tool.name)
            if task in self.open:
                self.open[task] = self._begun[task]

    def changed(self, event: Mapping[str, Any]) -> None:
        """Take the whole list of open tasks from an event."""
        listed = event.get("tasks")
        tasks = [mapping_of(task) for task in listed] if isinstance(listed, list) else []
        before = {**self._begun, **self.open}
        self.open = {
            name: before.get(name) or ToolCall(_described(task) or "a task")
            for task in tasks
            if (name := text_of(task.get("task_id")))
        }

    @property
    def summary(self) -> str:
        """The names of the first open tasks, for display; "" if none is open."""
        return first_few([tool.name for tool in self.open.values()], 3)


def _described(task: Mapping[str, Any]) -> str:
    return without_controls(text_of(task.get("description")))[:_NAME_CHARS]
