"""Durations in words, and read from what people write."""

from __future__ import annotations

import re
from itertools import pairwise

_UNITS = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
_SIZES = {unit[0]: size for size, unit in _UNITS}


def span(seconds: float) -> str:
    """Roughly how long: the largest unit that fits and the next smaller one, such as "2 h 5 min"."""
    left = max(0, round(seconds))
    for (size, unit), (smaller, name) in pairwise(_UNITS):
        if left >= size:
            rest = left % size // smaller
            return f"{left // size} {unit}" + (f" {rest} {name}" if rest else "")
    return f"{left} s"


def seconds_of(duration: str) -> float:
    """The seconds of `90s`, `30m`, `1h30m` or `2d`."""
    return sum(float(number) * _SIZES[unit] for number, unit in re.findall(r"([0-9.]+)([dhms])", duration))
