"""Text as a terminal may have it."""

from __future__ import annotations


def clean(text: str) -> str:
    """Text without what a terminal would obey: control characters become visible."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" else f"\\x{ord(c):02x}" for c in text)


def utf8(text: str) -> str:
    """Text as any reader of JSON takes it: what is no UTF-8 in a file's name becomes a replacement character."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
