"""Files that have no name: handed to a program by their descriptor, and changed by nobody once they are sealed."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL


class MemoryFile:
    """A file in memory. `path` opens it anew in this process, with a position of its own."""

    def __init__(self, name: str) -> None:
        self._descriptor = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)

    @property
    def path(self) -> str:
        return f"/proc/self/fd/{self._descriptor}"

    def open(self) -> int:
        """A descriptor that only reads."""
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


@contextmanager
def sealed(data: bytes) -> Iterator[int]:
    """A descriptor from which these bytes are read."""
    file = MemoryFile("ralphy")
    try:
        file.seal(data)
        descriptor = file.open()
        try:
            yield descriptor
        finally:
            os.close(descriptor)
    finally:
        file.close()
