"""Clocks, files and file events with what every Unix has. What Linux does better is said at each."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path


def steady() -> float:
    """macOS counts the time in which the machine was suspended, Linux does not."""
    return time.clock_gettime(time.CLOCK_MONOTONIC)


class UnlinkedFile:
    """A temporary file that has lost its name. The same user can still write to it by way of a descriptor."""

    def __init__(self, name: str) -> None:
        self._writer, path = tempfile.mkstemp(prefix=f"ralphy-{name}-")
        try:
            self._reader = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            os.fchmod(self._writer, stat.S_IRUSR)
        finally:
            os.unlink(path)

    @property
    def path(self) -> str:
        return f"/dev/fd/{self._reader}"

    def open(self) -> int:
        return os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)

    def seal(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._writer, rest) :]

    def close(self) -> None:
        for descriptor in (self._writer, self._reader):
            if descriptor >= 0:
                os.close(descriptor)
        self._writer = self._reader = -1


def input_file(name: str) -> UnlinkedFile:
    return UnlinkedFile(name)


class NoEvents:
    """watchfiles does the work alone, some 75 ms later."""

    descriptor = -1

    def add(self, folder: Path) -> None:
        """Nothing to do."""

    def read(self) -> set[str]:
        return set()

    def close(self) -> None:
        """Nothing to do."""


def folder_events() -> NoEvents:
    return NoEvents()


def begin_write(descriptor: int) -> None:
    """The disk begins when it is waited for."""


def finish_write(descriptor: int) -> None:
    os.fsync(descriptor)


def copy_range(reader: int, writer: int, size: int) -> int:  # noqa: ARG001 - nobody copies for us
    raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))


def sync_data(descriptor: int) -> None:
    os.fsync(descriptor)


def make_accessible(parent: int, name: str) -> None:
    """A folder that is replaced by a link between two system calls is followed where `chmod` can only follow."""
    with suppress(OSError):
        mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode) and mode & stat.S_IRWXU != stat.S_IRWXU:
            follows = os.chmod not in os.supports_follow_symlinks
            os.chmod(name, stat.S_IRWXU, dir_fd=parent, follow_symlinks=follows)


def widen_pipe(descriptor: int, size: int) -> None:
    """Pipes have the size that the system gives them."""
