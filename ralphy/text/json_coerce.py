"""Reading JSON values that may be of any type: what fits, or an empty value; nothing here raises."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

_MOST_COUNTED = 10**15  # sums of such counts still fit into 64 bits, which is what JSON is written with
_YEAR_9999 = 253_370_764_800.0


def blocks_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def mapping_of(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def text_of(value: object) -> str:
    return value if isinstance(value, str) else ""


def number_of(value: object) -> float | None:
    """A finite number that is not negative, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) and value >= 0 else None


def count_of(value: object) -> int:
    return int(min(number_of(value) or 0, _MOST_COUNTED))


def moment_of(value: object) -> float | None:
    """Epoch seconds of a day that a calendar has; None for anything else, also for milliseconds of our days."""
    at = number_of(value)
    return at if at is not None and at < _YEAR_9999 else None
