"""Text for a terminal: control characters escaped, in colour where that is wanted.

A terminal gets colour unless NO_COLOR is set; CLICOLOR_FORCE and FORCE_COLOR ask for it anywhere. `--color always` and
`never` override them.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Mapping
from typing import TextIO

from ralphy.cli.ci import is_ci

# Ralphy's signs -> one ASCII character, for streams without UTF-8; other characters become "?".
_ASCII = {"✓": "+", "✗": "x", "…": "~", "·": ".", "█": "#", "▒": "=", "░": ".", "─": "-", "→": ">", "–": "-"}


def wants_colour(stream: TextIO, choice: str, env: Mapping[str, str]) -> bool:
    """May escape codes go to this stream? `choice` is auto, always or never."""
    if choice != "auto":
        return choice == "always"
    if env.get("NO_COLOR"):
        return False
    if any(env.get(name, "0").lower() not in ("", "0", "false") for name in ("CLICOLOR_FORCE", "FORCE_COLOR")):
        return True
    return not is_ci(env) and env.get("TERM") != "dumb" and env.get("CLICOLOR", "1") != "0" and stream.isatty()


def clean(text: str) -> str:
    """Text with its control characters escaped."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


def speak_ascii(*streams: TextIO) -> None:
    """Replace the signs that a stream cannot encode, instead of failing."""

    def spell(error: UnicodeError) -> tuple[str, int]:
        assert isinstance(error, UnicodeEncodeError)
        return "".join(_ASCII.get(sign, "?") for sign in error.object[error.start : error.end]), error.end

    codecs.register_error("ralphy", spell)
    for stream in streams:
        if stream.encoding.lower().replace("-", "") != "utf8" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="ralphy")
