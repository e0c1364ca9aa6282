"""Text as a terminal may have it."""

from __future__ import annotations


def clean(text: str) -> str:
    """Text without what a terminal would obey: control characters become visible."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)
