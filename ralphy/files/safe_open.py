"""Open files that may be anything: only regular ones, and without ever waiting for a FIFO or a terminal.

Whatever reads a file that somebody else may have made goes through here, `bounded` or `files`. Nothing but `os` is
imported: `ralphy status` must not wait.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

_MOST = 64 * 1024 * 1024


class NotRegularError(OSError):
    """It is a folder, a pipe, a device or a socket."""


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """A regular file, open for reading; OSError if it cannot be opened, or is none. Links are followed."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotRegularError(errno.EINVAL, "not a regular file", os.fspath(path))
    except BaseException:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def read_safely(path: str | os.PathLike[str], most: int = _MOST) -> bytes:
    """The first `most` bytes of a regular file; OSError if there is none."""
    with open_regular(path) as file:
        return file.read(min(most, os.fstat(file.fileno()).st_size))
