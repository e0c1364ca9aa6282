"""A double that stands alone, in a process of its own."""

from __future__ import annotations

import sys
import threading


def until_interrupted(address: object) -> int:
    """Say where it listens, and wait for Ctrl-C; gives the exit code."""
    sys.stdout.write(f"listening on {address}\n")
    sys.stdout.flush()
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        return 130
    return 0
