"""Clocks, files and file events as only Linux has them. Imported on Linux alone, by `door`."""

from __future__ import annotations

import ctypes
import fcntl
import os
import stat
import struct
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

assert sys.platform == "linux"

_IN_CLOSE_WRITE, _IN_MOVED_FROM, _IN_MOVED_TO, _IN_CREATE, _IN_DELETE = 0x8, 0x40, 0x80, 0x100, 0x200
_MASK = _IN_CLOSE_WRITE | _IN_MOVED_FROM | _IN_MOVED_TO | _IN_CREATE | _IN_DELETE
_EVENT = struct.Struct("iIII")
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL
_START, _START_AND_WAIT = 2, 7  # flags of sync_file_range


def steady() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class MemoryFile:
    """A file in memory that nobody can change once it is sealed."""

    def __init__(self, name: str) -> None:
        self._descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)

    @property
    def path(self) -> str:
        return f"/proc/self/fd/{self._descriptor}"

    def open(self) -> int:
        return os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)

    def seal(self, data: bytes) -> None:
        """Give it its content, for good: who opens it by way of /proc for writing is refused as well."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]
        fcntl.fcntl(self._descriptor, fcntl.F_ADD_SEALS, _SEALS)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = -1


def input_file(name: str) -> MemoryFile:
    return MemoryFile(name)


class Inotify:
    """A file that comes, changes or goes in a watched folder is noticed at once, and waiting costs nothing.

    watchfiles sees everything below the features folder, but it looks every few milliseconds; `touch APPROVED`
    in a folder that waits at a gate deserves better (docs/decisions/002-inotify-beside-watchfiles.md).
    """

    def __init__(self) -> None:
        self._folders: dict[int, Path] = {}
        self._known: set[Path] = set()
        try:
            self._library = ctypes.CDLL(None, use_errno=True)
            self.descriptor = int(self._library.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC))
        except (OSError, AttributeError):
            self.descriptor = -1

    def add(self, folder: Path) -> None:
        if self.descriptor < 0 or folder in self._known:
            return
        self._known.add(folder)
        number = int(self._library.inotify_add_watch(self.descriptor, os.fsencode(folder), _MASK))
        if number >= 0:
            self._folders[number] = folder

    def read(self) -> set[str]:
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


def folder_events() -> Inotify:
    return Inotify()


def begin_write(descriptor: int) -> None:
    if sync := _sync_file_range():
        sync(descriptor, 0, 0, _START)


def finish_write(descriptor: int) -> None:
    sync = _sync_file_range()
    if sync is None or sync(descriptor, 0, 0, _START_AND_WAIT) != 0:
        os.fsync(descriptor)


@cache
def _sync_file_range() -> Callable[[int, int, int, int], int] | None:
    try:
        found = ctypes.CDLL(None).sync_file_range
    except (OSError, AttributeError):
        return None
    found.argtypes = (ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint)
    return found


def copy_range(reader: int, writer: int, size: int) -> int:
    return os.copy_file_range(reader, writer, size)


def sync_data(descriptor: int) -> None:
    os.fdatasync(descriptor)


def make_accessible(parent: int, name: str) -> None:
    """By its descriptor alone: a folder that becomes a link meanwhile leads nowhere."""
    with suppress(OSError):
        held = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
        try:
            if os.fstat(held).st_mode & stat.S_IRWXU != stat.S_IRWXU:
                Path(f"/proc/self/fd/{held}").chmod(stat.S_IRWXU)
        finally:
            os.close(held)


def widen_pipe(descriptor: int, size: int) -> None:
    with suppress(OSError):  # a user's pipes are limited in sum
        fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, size)
