"""Wake-ups: what ends a wait. An event never carries data; it only says "look".

watchfiles watches everything below some folders, from a thread that makes a pipe readable. It begins to watch
at its first `next()`, so a change made before that is lost: the first waits are short, and a resync tick
bounds every later loss.
A wait ends when the folder's signature differs from what it was before the look.
"""

from __future__ import annotations

import os
import select
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from ralphy.documents.feature_folder import VIEWS, Feature
from ralphy.documents.request_queue import folder_of
from ralphy.files.atomic import names_in, signature
from ralphy.git import commands as git

STEP_MS = 50
RESYNC_S = 5.0
_SETTLE_S = (0.1, 0.4, 1.5)


class Wakeups:
    """Watch folders from `with` to its end; `wait` returns when something changed, or the tick is over."""

    def __init__(self, folders: Sequence[Path], *, resync_s: float = RESYNC_S) -> None:
        self._folders = folders
        self._resync_s = resync_s
        self._settle = list(_SETTLE_S)
        self._stop = threading.Event()
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._changed: set[str] = set()
        self._guard = threading.Lock()
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
        """Where the system has no watches left, the folders are polled; where that fails too, the tick is enough."""
        for polling in (None, True):
            try:
                self._follow(polling)
                return
            except Exception:  # whatever the watcher raises: the wait must not end with it
                self._resync_s = min(self._resync_s, RESYNC_S)

    def _follow(self, polling: bool | None) -> None:
        from watchfiles import watch

        changes = watch(*self._folders, watch_filter=None, step=STEP_MS, debounce=STEP_MS, stop_event=self._stop,
                        rust_timeout=1000, raise_interrupt=False, force_polling=polling)  # fmt: skip
        for batch in changes:
            with self._guard:
                self._changed.update(path for _, path in batch)
            batch.clear()  # the generator holds it until there is a next one
            self.wake()

    def wake(self) -> None:
        """End the wait that goes on, from another thread."""
        try:
            os.write(self._writer, b"!")
        except BlockingIOError:
            return  # it is readable already

    def wait(self, seconds: float, *, terminal: bool = False) -> tuple[set[str], str]:
        """(changed paths, a line typed on the terminal or ""); returns early for either."""
        limit = min(seconds, self._settle.pop(0) if self._settle else self._resync_s)
        sources = [self._reader, sys.stdin.fileno()] if terminal else [self._reader]
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


def signature_of(repository: git.Repository, feature: Feature) -> int:
    """What changes when the folder does, or a change of the stories is queued."""
    queued = (name for name in names_in(folder_of(repository.state_dir, feature.name)) if not name.startswith("."))
    return hash((_of_folder(feature), frozenset(queued)))


def _of_folder(feature: Feature) -> int:
    """What changes when anything in the feature folder itself does; `.ralphy/` and views do not count."""
    try:
        entries = list(os.scandir(feature.folder))
    except OSError:  # it is gone
        return 0
    found = [
        (entry.name, signature(Path(entry.path)))
        for entry in entries
        if entry.name not in (".ralphy", *VIEWS) and not entry.name.startswith(".prd.json.tmp")
    ]
    return hash(frozenset(found))
