"""A short form of a long list, for people."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice


def first_few(names: Collection[object], most: int, between: str = ", ") -> str:
    """The first names, and how many more there are: `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return between.join(map(str, islice(names, most))) + more
