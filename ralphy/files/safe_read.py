"""Read files that may be anything: regular files only, up to a size, and without ever blocking."""

from __future__ import annotations

from pathlib import Path

from ralphy.errors import InvalidInput
from ralphy.files.safe_open import NotRegularError, open_regular


def read_bounded(path: Path, limit: int, *, where: str = "") -> bytes | None:
    """The bytes of `path`; None if nothing is there.

    Raises InvalidInput for what is not a regular file (a pipe, a device, a folder), for what cannot be
    read, and for more than `limit` bytes. `where` is how the error names the file.
    """
    shown = where or str(path)
    try:
        with open_regular(path) as file:
            data = file.read(limit + 1)
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
