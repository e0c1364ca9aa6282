"""Reading files that anybody may have made: a pipe, a device or an endless file never blocks and never fills memory.

`read_input` is for what a person hands in: it follows links, and says what is wrong. `read_regular`, `read_text` and
`read_tail` are for all else: what cannot be read is as good as absent. `open_regular` is for reading piece by piece.
"""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedReader
from pathlib import Path

from ralphy.errors import InvalidInput

_MOST_BYTES = 32 * 1024 * 1024


class NotRegularError(OSError):
    """It is a folder, a pipe, a device or a socket."""


def open_regular(path: str | os.PathLike[str], flags: int = 0, folder: int | None = None) -> BufferedReader:
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


def read_regular(path: Path, most: int = _MOST_BYTES, folder: int | None = None) -> bytes | None:
    """The bytes of a regular file; None if there is none of at most so many bytes. A link is not followed.

    A relative path begins at `folder`, a descriptor, if there is one.
    """
    try:
        with open_regular(path, os.O_NOFOLLOW, folder) as file:
            data = _read_at_most(file, most + 1)
    except OSError:
        return None
    return data if len(data) <= most else None


def read_text(path: Path, most: int = _MOST_BYTES) -> str:
    """The same as text; "" if there is none. Bytes that are not UTF-8 are replaced."""
    return (read_regular(path, most) or b"").decode("utf-8", "replace")


def read_tail(path: Path, most: int) -> bytes:
    """The last bytes of a file; b"" if it cannot be read. Links are followed."""
    try:
        with open_regular(path) as source:
            source.seek(max(0, source.seek(0, os.SEEK_END) - most))
            return source.read()
    except OSError:
        return b""


def read_input(path: Path, limit: int, *, where: str = "") -> bytes | None:
    """The bytes of a file that a person hands in; None if nothing is there. Links are followed.

    Raises InvalidInput for what is not a regular file (a pipe, a device, a folder), for what cannot be
    read, and for more than `limit` bytes. `where` is how the error names the file.
    """
    name = where or str(path)
    try:
        with open_regular(path) as file:
            data = _read_at_most(file, limit + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except NotRegularError:
        raise InvalidInput("is not a regular file", where=name, hint="put a plain file there, or remove it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(f"cannot be read: {reason}", where=name) from None
    if len(data) > limit:
        raise InvalidInput(f"is larger than {limit // 1024} KB", where=name)
    return data


def _read_at_most(file: BufferedReader, most: int) -> bytes:
    """The first `most` bytes of an open file, as long as it was when it was opened: not for files of /proc.

    Python makes room for all that is asked for; the size bounds that.
    """
    return file.read(min(most, os.fstat(file.fileno()).st_size))


def names_in(folder: Path) -> list[str]:
    """The names in a folder; none if it is not there, or no folder."""
    try:
        return os.listdir(folder)  # noqa: PTH208 - names are all that is wanted, often of many
    except OSError:
        return []


def signature(path: Path | str) -> tuple[int, ...] | None:
    """(mode, inode, size, mtime, ctime), of which something changes when a file does; None if it is not there."""
    try:
        state = os.lstat(path)
    except OSError:
        return None
    return (state.st_mode, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
