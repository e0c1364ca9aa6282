"""What a session of Claude Code promised last, as its hooks are told."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ralphy.files.atomic import last_bytes
from ralphy.text.json_coerce import blocks_of, mapping_of, text_of

_TAIL = 1024 * 1024
_PROMISE = re.compile(r"<promise>\s*(.*?)\s*</promise>")


def promises(given: Mapping[str, Any]) -> set[str]:
    """What the session's last message promises, each on a line of its own: the message that the hook is told, else the
    one in the transcript."""
    said = str(given.get("last_assistant_message") or "") or _last_message(
        Path(str(given.get("transcript_path") or ""))
    )
    return {found[1] for line in said.splitlines() if (found := _PROMISE.fullmatch(line.strip()))}


def _last_message(transcript: Path) -> str:
    """The text that the session itself said last, past what its subagents said and a line that is cut off."""
    for line in reversed(last_bytes(transcript, _TAIL).decode("utf-8", "replace").splitlines()):
        try:
            entry = mapping_of(json.loads(line))
        except ValueError:
            continue
        if entry.get("type") == "assistant" and not entry.get("isSidechain"):
            message = mapping_of(entry.get("message"))
            blocks = (text_of(block.get("text")) for block in blocks_of(message) if block.get("type") == "text")
            return text_of(message.get("content")) or "\n".join(blocks)
    return ""
