"""The kernel's lock on an open file: taken at once or after a moment's patience, given back when the file is closed."""

from __future__ import annotations

import fcntl
import time

_PAUSE_S = 0.005


def is_taken(descriptor: int, tries: int) -> bool:
    """Is the lock ours now? Each try but the first comes 5 ms after the one before."""
    for left in reversed(range(tries)):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if left:
                time.sleep(_PAUSE_S)
        else:
            return True
    return False
