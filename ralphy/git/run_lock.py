"""One owner per checkout: a flock on a file that stays; its content only says who holds it."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import orjson

from ralphy.errors import Conflict
from ralphy.files.file_lock import try_lock

_TRIES = 4  # `holder` has the lock for microseconds
_TRIES_OF_A_RUN = 600  # 3 s: a command that changes a feature has it for a moment

# The purposes of a Ralphy that works on every feature in turn.
EVERY_FEATURE = ("watch", "loop")


def covers(purpose: object, feature: str) -> bool:
    """Does a Ralphy that has the lock for this purpose work on the feature?"""
    return purpose in (*EVERY_FEATURE, purpose_of(feature))


def is_run(purpose: object) -> bool:
    """Is it the purpose of a Ralphy that runs agents, and of no single command?"""
    return purpose in EVERY_FEATURE or str(purpose).startswith(purpose_of(""))


def purpose_of(feature: str) -> str:
    """The purpose of a Ralphy that works on one feature."""
    return f"feature {feature}"


class LockBusy(Conflict):
    """Another Ralphy holds the lock; `purpose` is what it works on."""

    def __init__(self, holder: Mapping[str, object]) -> None:
        super().__init__(f"Ralphy is already running here: {_described(holder)}",
                         hint="wait for it, or stop it with: ralphy abort")  # fmt: skip
        self.purpose = str(holder.get("purpose") or "")


class Lock:
    """Held within `with`; the kernel releases it if the owner dies."""

    def __init__(self, path: Path, purpose: str) -> None:
        self._path = path
        self._purpose = purpose
        self._descriptor = -1

    def __enter__(self) -> Lock:
        """Take the lock; raises LockBusy if there is a holder. A run waits some seconds for a command."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if not (try_lock(descriptor, _TRIES) or (self._waits() and try_lock(descriptor, _TRIES_OF_A_RUN))):
            os.close(descriptor)
            raise LockBusy(holder(self._path))
        note = {
            "pid": os.getpid(),
            "host": socket.gethostname(),
            "since": time.time(),
            "purpose": self._purpose,
        }
        self._descriptor = descriptor
        with suppress(OSError):  # a full disk: the lock is held all the same
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, orjson.dumps(note), 0)
        return self

    def _waits(self) -> bool:
        return is_run(self._purpose) and not is_run(holder(self._path).get("purpose"))

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(OSError):
            os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def holder(path: Path) -> dict[str, object]:
    """The note of the process that holds the lock (pid, host, since, purpose); {} if nobody holds it."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return {}
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        try:
            note = orjson.loads(os.pread(descriptor, 4096, 0))
        except orjson.JSONDecodeError:
            note = {}
        return note if isinstance(note, dict) and note else {"pid": 0}
    finally:
        os.close(descriptor)
    return {}


def _described(note: Mapping[str, object]) -> str:
    since = note.get("since")
    at = time.strftime("%H:%M:%S", time.localtime(since)) if isinstance(since, (int, float)) else "?"
    return f"pid {note.get('pid', '?')} on {note.get('host', '?')} since {at} ({note.get('purpose', '?')})"
