"""JSON values of unknown type as the type that is wanted, or an empty value; nothing here raises."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

_MOST_COUNTED = 10**15  # sums of such counts fit into 64 bits, the integers that JSON is written with
_YEAR_9999 = 253_370_764_800.0


def blocks_of(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The objects in the list `content` of an agent's message."""
    content = message.get("content")
    return [block for block in content if isinstance(block, dict)] if isinstance(content, list) else []


def mapping_of(value: object) -> Mapping[str, Any]:
    """An object, else {}."""
    return value if isinstance(value, dict) else {}


def text_of(value: object) -> str:
    """A text, else ""."""
    return value if isinstance(value, str) else ""


def number_of(value: object) -> float | None:
    """A finite number that is not negative, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) and value >= 0 else None


def count_of(value: object) -> int:
    """A whole number from 0 to 10^15, else 0."""
    return int(min(number_of(value) or 0, _MOST_COUNTED))


def moment_of(value: object) -> float | None:
    """Epoch seconds up to the year 9999, else None; epoch milliseconds of today are beyond that."""
    at = number_of(value)
    return at if at is not None and at < _YEAR_9999 else None
