"""The kernel's lock on an open file, which is released when the file is closed."""

from __future__ import annotations

import fcntl
import time

_PAUSE_S = 0.005


def try_lock(descriptor: int, tries: int) -> bool:
    """Take the lock, with a pause of 5 ms between two tries; returns whether it was taken."""
    for left in reversed(range(tries)):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if left:
                time.sleep(_PAUSE_S)
        else:
            return True
    return False
