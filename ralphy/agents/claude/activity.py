"""Shows what an agent does: one short line for each thing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ralphy.agents.protocol import Activity
from ralphy.agents.status_report import without_report
from ralphy.text.json_coerce import mapping_of, text_of
from ralphy.text.plain_text import without_controls

MAX_CHARS = 200
TOOL_KINDS = {
    "Read": "reading",
    "Glob": "reading",
    "Grep": "reading",
    "Edit": "writing",
    "Write": "writing",
    "NotebookEdit": "writing",
    "Bash": "running",
}
SUBJECTS = ("file_path", "notebook_path", "command", "pattern", "description")


def activity_of(block: Mapping[str, Any], event: Mapping[str, Any]) -> Activity | None:
    """The activity in one content block of an assistant's message."""
    match block.get("type"):
        case "text":
            return Activity("text", shorten(without_report(text_of(block.get("text")))), event)
        case "thinking":
            return Activity("thinking", shorten(text_of(block.get("thinking"))), event)
        case "tool_use":
            name = text_of(block.get("name"))
            given = mapping_of(block.get("input"))
            subject = next((text for key in SUBJECTS if (text := text_of(given.get(key)))), name)
            return Activity(TOOL_KINDS.get(name, "tool"), shorten(subject), event)
    return None


def shorten(text: str) -> str:
    """One line, fit for display: without control characters for a terminal."""
    line = " ".join(without_controls(" ".join(text[: 4 * MAX_CHARS].split())).split())
    return line if len(line) <= MAX_CHARS else line[: MAX_CHARS - 1] + "…"
