"""Files replaced whole or not at all: a reader sees the old bytes or the new ones, never half of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ralphy.errors import EnvironmentProblem
from ralphy.files.disk_space import refusal
from ralphy.files.read import names_in, read_regular

_TEMPORARY = re.compile(r"\..+\.tmp-\d+")  # as `write_beside` names them


def replace_file(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Put `data` at `path` by a temporary file and a rename; when `durable`, its bytes are on the disk before.

    The name itself lasts through a power loss only after `sync_folder`.

    Raises EnvironmentProblem when the disk is full or read-only; the old file is then untouched.
    """
    temporary = write_beside(path, data, durable=durable)
    try:
        temporary.replace(path)
    except OSError as error:
        raise _given_up(error, path, temporary) from error


def replace_if(path: Path, data: bytes | None, is_expected: Callable[[bytes | None], bool]) -> bool:
    """Put `data` at `path` (None removes it) if what is there is expected; an edit of the last moment is put back."""
    backup = path.with_name(f".{path.name}.was.tmp-{os.getpid()}")
    backup.unlink(missing_ok=True)
    if not is_expected(read_regular(path)):
        return False
    if not os.path.lexists(path):
        return data is None or _name_new(path, data)
    temporary = None if data is None else write_beside(path, data, durable=False)
    with suppress(OSError):  # without hard links, what was just looked at is all there is to go by
        os.link(path, backup)
    if temporary:
        temporary.replace(path)
    else:
        path.unlink()
    if not os.path.lexists(backup) or is_expected(read_regular(backup)):
        backup.unlink(missing_ok=True)
        return True
    backup.replace(path)
    return False


def _name_new(path: Path, data: bytes) -> bool:
    """A file where there is none; False if somebody made one meanwhile."""
    temporary = write_beside(path, data, durable=False)
    try:
        os.link(temporary, path)
    except FileExistsError:
        return False
    except OSError:
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def write_beside(path: Path, data: bytes, *, durable: bool = True) -> Path:
    """Write `data` to a temporary file beside `path`, to be moved there; returns its path."""
    temporary = path.with_name(f".{path.name}.tmp-{os.getpid()}")
    try:
        with os.fdopen(_new_file(temporary), "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file)
    except OSError as error:
        raise _given_up(error, path, temporary) from error
    return temporary


def _given_up(error: OSError, path: Path, temporary: Path) -> EnvironmentProblem:
    with suppress(OSError):
        temporary.unlink(missing_ok=True)
    return refusal(error, "cannot be written", str(path))


def _new_file(path: Path) -> int:
    """Create the file for writing. One that exists was left by a dead process, or is a link that somebody planted."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o644)
    except FileExistsError:
        path.unlink()
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, flags, 0o644)


def private_folder(path: Path) -> Path:
    """Make a folder that git ignores on every branch, by a .gitignore of its own; returns it."""
    path.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError), (path / ".gitignore").open("x") as ignore:
        ignore.write("*\n")
    return path


def remove_temporaries(folder: Path) -> None:
    """Remove the temporary files that a kill in the middle of `replace_file` left in a folder."""
    for path in (folder / name for name in names_in(folder) if _TEMPORARY.fullmatch(name)):
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make renames in a folder last through a power loss."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
