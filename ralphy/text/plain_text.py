"""Text that a terminal obeys in nothing: escape sequences, control characters and turned directions are left out."""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x9b[0-?]*[ -/]*[@-~]|\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
# C0 but for tab and line feed, C1, lone surrogates, and what turns or hides text.
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def printable(text: str, besides: str = "", instead: str = " ") -> str:
    """The text with whatever does not print replaced, but for the signs in `besides`."""
    return "".join(sign if sign.isprintable() or sign in besides else instead for sign in text)


def plain(text: str) -> str:
    """The text without them; tabs and line feeds stay, a carriage return is one of the things that go."""
    return text if text.isascii() and text.isprintable() else _UNSEEN.sub("", _ESCAPES.sub("", text))
