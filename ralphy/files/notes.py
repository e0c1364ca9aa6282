"""Ralphy's own small records: a JSON object in a file. One that is missing or damaged counts as empty."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular


def read_note(path: Path, most: int = 32 * 1024 * 1024) -> dict[str, Any]:
    """The object that a file of at most so many bytes holds; {} if it holds none."""
    with suppress(ValueError):
        note = json.loads(read_regular(path, most) or b"{}")
        return note if isinstance(note, dict) else {}
    return {}


def write_note(path: Path, note: Mapping[str, Any], *, durable: bool = True) -> None:
    """Replace the file by one with this object, unless it holds it already."""
    if read_note(path) != note:
        replace_file(path, json.dumps(note, separators=(",", ":")).encode(), durable=durable)
