"""How many columns a text takes on a terminal."""

from __future__ import annotations

from unicodedata import combining, east_asian_width


def columns_of(text: str) -> int:
    """The columns of one line; a wide sign takes two, a combining one none."""
    return len(text) if text.isascii() else sum(map(_columns, text))


def within(text: str, most: int) -> str:
    """As much of the text as so many columns hold; where something is left out, its last sign is an ellipsis."""
    if columns_of(text) <= most:
        return text
    kept, left = [], most - 1
    for sign in text:
        left -= _columns(sign)
        if left < 0:
            break
        kept.append(sign)
    return "".join(kept) + "…" * (most > 0)


def _columns(sign: str) -> int:
    return 0 if combining(sign) else 2 if east_asian_width(sign) in "WF" else 1
