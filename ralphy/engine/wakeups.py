"""Wake-ups: what ends a wait. An event never carries data; it only says "look".

watchfiles watches everything below some folders, in a thread. It begins a moment after its start, so a change made
before that is lost: the first waits are short, and a tick bounds every later loss.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import watchfiles

from ralphy.documents.feature_folder import VIEWS, Feature
from ralphy.files.read import signature

RESYNC_S = 5.0
_STEP_MS = 50
_SETTLE_S = (0.1, 0.4, 1.5)


class Wakeups:
    """Watch folders from `with` to its end; `wait` returns when something changed, or the tick is over."""

    def __init__(self, folders: Sequence[Path], *, resync_s: float = RESYNC_S) -> None:
        self._folders = folders
        self._resync_s = resync_s
        self._settle = list(_SETTLE_S)
        self._stop = threading.Event()
        self._changed = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watcher", daemon=True)

    def __enter__(self) -> Wakeups:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join(2.0)

    def _watch(self) -> None:
        """Where the system has no watches left, the folders are polled; where that fails too, the tick is enough."""
        for polling in (None, True):
            with suppress(Exception):  # whatever the watcher raises: the wait must not end with it
                changes = watchfiles.watch(
                    *self._folders, watch_filter=None, step=_STEP_MS, debounce=_STEP_MS, stop_event=self._stop,
                    rust_timeout=1000, raise_interrupt=False, force_polling=polling,
                )  # fmt: skip
                for _ in changes:
                    self._changed.set()
                return
            self._resync_s = min(self._resync_s, RESYNC_S)

    def wait(self, seconds: float) -> bool:
        """Has something changed since the last call? Waits for it, for so many seconds or for a tick."""
        is_changed = self._changed.wait(min(seconds, self._settle.pop(0) if self._settle else self._resync_s))
        self._changed.clear()
        return is_changed


def signature_of(feature: Feature) -> int:
    """A number that changes with anything in the feature folder itself; `.ralphy/` and views do not count."""
    try:
        entries = list(os.scandir(feature.folder))
    except OSError:  # it is gone
        return 0
    signatures = [
        (entry.name, signature(Path(entry.path)))
        for entry in entries
        if entry.name not in (".ralphy", *VIEWS) and not entry.name.startswith(".prd.json.tmp")
    ]
    return hash(frozenset(signatures))
