"""Read files that may be anything: regular files only, up to a size, and without ever blocking."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from ralphy.errors import InvalidInput


def read_bounded(path: Path, limit: int, *, where: str = "") -> bytes | None:
    """The bytes of `path`; None if nothing is there.

    Raises InvalidInput for what is not a regular file (a pipe, a device, a folder), for what cannot be
    read, and for more than `limit` bytes. `where` is how the error names the file.
    """
    shown = where or str(path)
    try:
        # O_NONBLOCK: opening a pipe that nobody writes to would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise InvalidInput(f"cannot be read: {_reason(error)}", where=shown) from None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InvalidInput("is not a regular file", where=shown, hint="put a plain file there, or remove it")
        return _read_all(descriptor, limit, shown)
    finally:
        os.close(descriptor)


def _read_all(descriptor: int, limit: int, shown: str) -> bytes:
    parts: list[bytes] = []
    size = 0
    try:
        while part := os.read(descriptor, limit + 1 - size):
            parts.append(part)
            size += len(part)
            if size > limit:
                raise InvalidInput(f"is larger than {limit // 1024} KB", where=shown)
    except OSError as error:
        raise InvalidInput(f"cannot be read: {_reason(error)}", where=shown) from None
    return b"".join(parts)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
