"""Wake-ups: a watcher thread over folders that makes a file descriptor readable when something changed.

watchfiles starts to watch at its first `next()`, so a change made before that is lost: the first wait is
short, and a resync tick bounds every later loss. An event never carries data; it only says "look".
"""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

STEP_MS = 5
_SETTLE_S = 0.1
RESYNC_S = 5.0


class Wakeups:
    """Watch folders from `with` to its end; `wait` returns when something changed, or the tick is over."""

    def __init__(self, folders: Sequence[Path], *, polling: bool | None = None) -> None:
        self._folders = folders
        self._polling = polling
        self._stop = threading.Event()
        self._reader, self._writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._changed: set[str] = set()
        self._guard = threading.Lock()
        self._first = True
        self._thread = threading.Thread(target=self._watch, name="watcher", daemon=True)

    def __enter__(self) -> Wakeups:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join(2.0)
        os.close(self._reader)
        if not self._thread.is_alive():
            os.close(self._writer)

    def _watch(self) -> None:
        from watchfiles import watch

        changes = watch(
            *self._folders, watch_filter=None, step=STEP_MS, debounce=50, stop_event=self._stop, rust_timeout=1000,
            force_polling=self._polling, raise_interrupt=False, yield_on_timeout=False,
        )  # fmt: skip
        for batch in changes:
            with self._guard:
                self._changed.update(path for _, path in batch)
            self._wake()

    def _wake(self) -> None:
        try:
            os.write(self._writer, b"!")
        except BlockingIOError:
            return  # it is readable already

    def wait(self, seconds: float, *, terminal: bool = False) -> tuple[set[str], str]:
        """(changed paths, a line typed on the terminal or ""); returns early for either."""
        limit = min(seconds, _SETTLE_S if self._first else RESYNC_S)
        self._first = False
        sources: list[int] = [self._reader, sys.stdin.fileno()] if terminal else [self._reader]
        ready, _, _ = select.select(sources, [], [], max(0.0, limit))
        line = sys.stdin.readline() if terminal and sys.stdin.fileno() in ready else ""
        return self._drain(), line

    def _drain(self) -> set[str]:
        try:
            os.read(self._reader, 4096)
        except BlockingIOError:
            return set()
        with self._guard:
            changed, self._changed = self._changed, set()
        return changed


def sleep_until(wakeups: Wakeups, until: float, clock: object = time.time) -> bool:
    """Wait for a moment of the wall clock; True when it has come, False when something changed before."""
    now = clock() if callable(clock) else time.time()
    changed, _ = wakeups.wait(until - now)
    return not changed and until <= (clock() if callable(clock) else time.time())
