"""The clock for how long something takes, whatever happens to the machine meanwhile."""

from __future__ import annotations

import time

_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)  # macOS has it by the second name


def steady() -> float:
    """Seconds on a clock that nobody sets and that goes on while the machine is suspended."""
    return time.clock_gettime(_CLOCK)
