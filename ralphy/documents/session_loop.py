"""The state of a loop in a Claude Code session, in the file that other tools use: `.claude/ralph-loop.local.md`.

A file that comes with a repository starts nothing: a loop belongs to the session whose id it names, and the id of a
future session is unknown.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

import yaml

from ralphy.text.markdown import split_front_matter

PATH = ".claude/ralph-loop.local.md"
MOST_BYTES = 256 * 1024
_FENCE = "---\n"


@dataclass(frozen=True, slots=True)
class SessionLoop:
    """`iteration` counts from 1; `attempts` are those at `story`; the commits after `base` are judged.

    With `is_one` the loop ends with its story. `prompt` is given again when the session stops.
    """

    feature: str
    session_id: str = ""
    story: str = ""
    base: str = ""
    iteration: int = 1
    max_iterations: int = 50
    attempts: int = 0
    max_attempts: int = 5
    completion_promise: str = "COMPLETE"
    is_one: bool = False
    prompt: str = ""


def as_text(loop: SessionLoop) -> str:
    """The file: YAML front matter, and the prompt."""
    front = (
        f"{one.name}: {json.dumps(getattr(loop, one.name), ensure_ascii=False)}\n"
        for one in fields(loop)
        if one.name != "prompt"
    )
    return f"{_FENCE}{''.join(front)}{_FENCE}\n{loop.prompt}\n"


def read_loop(text: str) -> SessionLoop | None:
    """The loop that a file describes; None if it describes none. A value of a wrong type is replaced by its default."""
    parts = split_front_matter(text)
    if parts is None:
        return None
    front, prompt = parts
    try:
        matter: Any = yaml.safe_load(front)
    except yaml.YAMLError:
        return None
    if not isinstance(matter, dict) or not isinstance(matter.get("feature"), str):
        return None
    usual = SessionLoop("")
    known = {one.name: matter[one.name] for one in fields(usual)
             if type(matter.get(one.name)) is type(getattr(usual, one.name))}  # fmt: skip
    return SessionLoop(**{**known, "prompt": prompt.strip("\n")})
