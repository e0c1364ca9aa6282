"""A number with its noun."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """`1 run` or `3 runs`; `many` is the plural if it is not `one` with an s."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"
