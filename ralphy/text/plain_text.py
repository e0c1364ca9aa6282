"""Text from elsewhere that must not control a terminal: what does not print is left out, replaced or escaped."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x9b[0-?]*[ -/]*[@-~]|\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
# C0 but for tab and line feed, C1, lone surrogates, and what turns or hides text. Emoji and some scripts need joiners,
# U+200C and U+200D, which stay.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\ud800-\udfff\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def one_line(text: str) -> str:
    """The text on one line: printable characters, and single spaces between its words."""
    return " ".join(replace_unprintable(text).split())


def without_controls(text: str) -> str:
    """The text without escape sequences, control characters and marks of direction; tabs and line feeds stay."""
    return text if text.isascii() and text.isprintable() else _UNSEEN.sub("", _ESCAPES.sub("", text))


def replace_unprintable(text: str, allowed: str = "", by: str = " ") -> str:
    """The text with every character that does not print replaced, but for those in `allowed`."""
    return "".join(c if c.isprintable() or c in allowed else by for c in text)


def escaped(text: str) -> str:
    """The text with everything that does not print (controls, bidirectional marks) as \\uXXXX."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def as_utf8(path: str) -> str:
    """A path as Git or the system gave it, as text: bytes that are not UTF-8 are replaced."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
