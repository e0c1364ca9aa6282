"""inotify for a few folders: a file that appears in one of them is noticed at once, and waiting costs nothing.

watchfiles sees everything below the features folder, but it looks every few milliseconds; `touch APPROVED`
in a folder that waits at a gate deserves better. Where there is no inotify, watchfiles alone does the work.
"""

from __future__ import annotations

import ctypes
import os
import struct
from pathlib import Path

_IN_CLOSE_WRITE, _IN_MOVED_TO, _IN_CREATE = 0x8, 0x80, 0x100
_MASK = _IN_CLOSE_WRITE | _IN_MOVED_TO | _IN_CREATE
_EVENT = struct.Struct("iIII")


class Inotify:
    """`descriptor` becomes readable when something appears in a watched folder; -1 where there is no inotify."""

    def __init__(self) -> None:
        self._folders: dict[int, Path] = {}
        self._known: set[Path] = set()
        try:
            self._library = ctypes.CDLL(None, use_errno=True)
            self.descriptor = int(self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        except (OSError, AttributeError):
            self.descriptor = -1

    def add(self, folder: Path) -> None:
        """Watch a folder from now on; a folder that cannot be watched is left to watchfiles."""
        if self.descriptor < 0 or folder in self._known:
            return
        self._known.add(folder)
        number = int(self._library.inotify_add_watch(self.descriptor, os.fsencode(folder), _MASK))
        if number >= 0:
            self._folders[number] = folder

    def read(self) -> set[str]:
        """The paths that appeared since the last call."""
        try:
            data = os.read(self.descriptor, 1 << 16)
        except (BlockingIOError, OSError):
            return set()
        found, at = set(), 0
        while at + _EVENT.size <= len(data):
            number, _, _, length = _EVENT.unpack_from(data, at)
            name = os.fsdecode(data[at + _EVENT.size : at + _EVENT.size + length].rstrip(b"\0"))
            at += _EVENT.size + length
            if number in self._folders and name:
                found.add(str(self._folders[number] / name))
        return found

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
