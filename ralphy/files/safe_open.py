"""Open and read files that may be anything: only regular ones, and without ever waiting for a FIFO or a terminal.

Whatever reads a file that somebody else may have made goes through here, or `files.atomic.read_regular`, which follows
no link.
"""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

from ralphy.errors import InvalidInput

_MOST = 64 * 1024 * 1024


class NotRegularError(OSError):
    """It is a folder, a pipe, a device or a socket."""


def open_regular(path: str | os.PathLike[str], flags: int = 0, folder: int | None = None) -> BinaryIO:
    """A regular file, open for reading; OSError if it cannot be opened, or is none. Links are followed, unless `flags`
    say otherwise. A relative path begins at `folder`, a descriptor, if there is one."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | flags, dir_fd=folder)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise NotRegularError(errno.EINVAL, "not a regular file", os.fspath(path))
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_safely(path: str | os.PathLike[str], most: int = _MOST) -> bytes:
    """The first `most` bytes of a regular file; OSError if there is none. Links are followed."""
    with open_regular(path) as file:
        return read_at_most(file, most)


def read_at_most(file: BinaryIO, most: int) -> bytes:
    """The first `most` bytes of an open file, as long as it was when it was opened: not for files of /proc.

    Python makes room for all that is asked for; the size bounds that.
    """
    return file.read(min(most, os.fstat(file.fileno()).st_size))


def read_bounded(path: Path, limit: int, *, where: str = "") -> bytes | None:
    """The bytes of `path`; None if nothing is there.

    Raises InvalidInput for what is not a regular file (a pipe, a device, a folder), for what cannot be
    read, and for more than `limit` bytes. `where` is how the error names the file.
    """
    shown = where or str(path)
    try:
        with open_regular(path) as file:
            data = read_at_most(file, limit + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except NotRegularError:
        raise InvalidInput("is not a regular file", where=shown, hint="put a plain file there, or remove it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(f"cannot be read: {reason}", where=shown) from None
    if len(data) > limit:
        raise InvalidInput(f"is larger than {limit // 1024} KB", where=shown)
    return data
