"""Spans of time in words."""

from __future__ import annotations

from itertools import pairwise

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))


def span(seconds: float) -> str:
    """Roughly how long: the largest unit that fits and the next smaller one, such as "2 h 5 min"."""
    left = max(0, round(seconds))
    for (size, unit), (smaller, name) in pairwise(_UNITS):
        if left >= size:
            rest = left % size // smaller
            return f"{left // size} {unit}" + (f" {rest} {name}" if rest else "")
    return f"{left} s"
