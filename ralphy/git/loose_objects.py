"""Git's loose objects as files: written whole under a passing name, on the disk before they get their own.

Several are handed to the disk together, as in git's batch mode: while one is on its way, the next is written.
"""

from __future__ import annotations

import os
from contextlib import suppress

from ralphy.system.door import here


class Batch:
    """Files that get their names all at the end, in the order in which they came."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[str, int]] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._open

    def add(self, path: str, data: bytes) -> None:
        """Write a file and have the disk begin with it."""
        folder, _, _ = path.rpartition("/")
        temporary = f"{folder}/tmp_obj_{os.urandom(8).hex()}"  # not to be guessed, and new: never written through
        descriptor = _create(temporary)
        self._open[path] = (temporary, descriptor)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        here.begin_write(descriptor)

    def finish(self) -> None:
        """Wait for the disk, and name them. What the disk's own cache holds is flushed by whoever needs that."""
        while self._open:
            path = next(iter(self._open))
            temporary, descriptor = self._open[path]
            here.finish_write(descriptor)
            os.replace(temporary, path)
            os.close(descriptor)
            del self._open[path]

    def drop(self) -> None:
        """Leave nothing behind of what has no name yet."""
        for temporary, descriptor in self._open.values():
            with suppress(OSError):
                os.close(descriptor)
            with suppress(OSError):
                os.unlink(temporary)
        self._open.clear()


def _create(path: str) -> int:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o444)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        return os.open(path, flags, 0o444)
