"""Moments in words: the local time, and how far away it is."""

from __future__ import annotations

import time
from datetime import datetime

from ralphy.text.durations import span

_WEEK_S = 6 * 86400.0


def moment(at: float, now: float) -> str:
    """A moment to come: "07:00:02 (in 2 h 5 min)", with the day if that is not today."""
    there, here = time.localtime(at), time.localtime(now)
    day = "" if there[:3] == here[:3] else "%a " if abs(at - now) < _WEEK_S else "%Y-%m-%d "
    return f"{time.strftime(f'{day}%H:%M:%S', there)} (in {span(at - now)})"


def minute(at: float) -> str:
    """A moment to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def second(at: float) -> str:
    """A moment to the second."""
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def seconds_of(iso: str) -> float:
    """The epoch seconds of an ISO timestamp."""
    return datetime.fromisoformat(iso).timestamp()
