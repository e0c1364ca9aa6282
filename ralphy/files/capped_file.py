"""A log file that cannot fill the disk: so many bytes, then a note of how much is missing."""

from __future__ import annotations

import os
from pathlib import Path

_TAIL_BYTES = 4096
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW


class CappedFile:
    """Takes everything, writes whole lines up to `limit` bytes; `tail` has the last 4 KB, written or not.

    The file is created with the first bytes. Nothing raises: a full disk costs the log, not the run, and `trouble`
    says why.
    """

    def __init__(self, path: Path, limit: int) -> None:
        self._path = path
        self._fd = -1
        self._room = limit
        self.left_out = 0
        self.trouble = ""
        self.tail = b""

    def add(self, data: bytes) -> None:
        self.tail = (self.tail + data)[-_TAIL_BYTES:]
        taken = data
        if self.left_out or len(data) > self._room:
            taken = b"" if self.left_out else data[: data.rfind(b"\n", 0, self._room) + 1]
            self.left_out += len(data) - len(taken)
        self._room -= len(taken)
        self._write(taken)

    def close(self, note: bytes = b"") -> None:
        """Close it; `note` is added if something was left out."""
        if self.left_out:
            self._write(b"\n" + note)
        if self._fd >= 0:
            os.close(self._fd)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            if self._fd < 0 and view:
                self._fd = os.open(self._path, _NEW, 0o600)
            while view and not self.trouble:
                view = view[os.write(self._fd, view) :]
        except OSError as error:
            self.trouble = error.strerror or "cannot be written"
