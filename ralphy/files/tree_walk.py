"""Walk and remove folders that an agent could write: no link is followed, and no path is too deep or too long.

Both hold descriptors of two folders at a time: a folder that becomes a link meanwhile leads nowhere, and the number of
open files is bounded. `os.walk` and `shutil.rmtree` recurse, and fail beyond a thousand levels.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file, folder or link in a tree: its path relative to the top, with slashes, and its `lstat`."""

    path: str
    stat: os.stat_result

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.stat.st_mode)


def walk(top: Path, skipped: Collection[str] = (), *, unlock: bool = False) -> Iterator[TreeEntry]:
    """Everything below a folder, in no order; folders whose relative path is `skipped` are named, not entered.

    Nothing if `top` is a link or not a folder. A folder that cannot be opened, or is moved meanwhile, is left out.
    With `unlock`, files and folders that their owner may not read are made readable, where that is possible.
    """
    with suppress(OSError):
        if unlock:
            make_accessible(None, str(top))
        for fd, entries, _ in _visit(os.open(top, _FOLDER), skipped):
            for one in entries if unlock else ():
                if one.path not in skipped and not _is_accessible(one.stat.st_mode):
                    make_accessible(fd, one.name)
            yield from entries


def _visit(fd: int, skipped: Collection[str] = ()) -> Iterator[tuple[int, list[TreeEntry], str]]:
    """Every folder from `fd` on, depth first: (its descriptor, its entries, "") on the way down, and on the way up
    (its descriptor, [], the name of the folder in it that is done).

    Only one folder is open at a time, and closed at the end. The way up is `..`; the visit ends if that does not lead
    to the folder that it came from.
    """
    way: list[tuple[_Identity, str, str, list[str]]] = []  # of the folders above: identity, prefix, name below, rest
    left: list[str] = []
    prefix, is_new = "", True
    try:
        while is_new or left or way:
            if is_new:
                is_new, entries = False, _entries(fd, prefix)
                yield fd, entries, ""
                left = [one.name for one in entries if one.is_folder and one.path not in skipped]
            elif left:
                name, above = left.pop(), _identity(os.fstat(fd))
                with suppress(OSError):
                    fd = _exchanged(fd, name)
                    way.append((above, prefix, name, left))
                    prefix, is_new = f"{prefix}{name}/", True
            else:
                identity, prefix, name, left = way.pop()
                fd = _exchanged(fd, "..")
                if _identity(os.fstat(fd)) != identity:
                    return
                yield fd, [], name
    finally:
        os.close(fd)


def _exchanged(fd: int, name: str) -> int:
    """The folder `name` in an open one, opened in its place."""
    opened = os.open(name, _FOLDER, dir_fd=fd)
    os.close(fd)
    return opened


def _entries(fd: int, prefix: str) -> list[TreeEntry]:
    entries = []
    with os.scandir(fd) as scan:
        for entry in scan:
            with suppress(OSError):  # gone meanwhile
                entries.append(TreeEntry(prefix + entry.name, entry.stat(follow_symlinks=False)))
    return entries


def _identity(state: os.stat_result) -> _Identity:
    return state.st_dev, state.st_ino


def link_on_the_way(root: Path, path: Path) -> Path | None:
    """The first link on the way from `root` to a path in it, including that path; None if there is none."""
    way = [at for at in (path, *path.parents) if at != root and at.is_relative_to(root)]
    return next((at for at in reversed(way) if at.is_symlink()), None)


def size_of(path: Path) -> int:
    """The bytes of a file, or of everything in a folder; what links lead to is not counted."""
    try:
        own = path.lstat()
    except OSError:
        return 0
    if not stat.S_ISDIR(own.st_mode):
        return own.st_size
    return sum(entry.stat.st_size for entry in walk(path) if not entry.is_folder)


def children(below: Path, folder: Path) -> list[TreeEntry]:
    """The entries of a folder in `below`; none if a folder on the way is a link."""
    try:
        fd = _open_below(below, folder)
    except (OSError, ValueError):
        return []
    try:
        return _entries(fd, "")
    finally:
        os.close(fd)


def remove(path: Path, below: Path | None = None) -> bool:
    """Remove a file, a link, or a folder with everything in it; returns whether it is gone.

    With `below`, a folder that holds the path, nothing is removed if a folder on the way is a link. What cannot be
    removed (a mount, another user's folder) stays.
    """
    try:
        parent = _open_below(below or path.parent, path.parent)
    except (OSError, ValueError):
        return not os.path.lexists(path)
    try:
        _remove(parent, path.name)
    finally:
        os.close(parent)
    return not os.path.lexists(path)


def _open_below(below: Path, folder: Path) -> int:
    """A folder, opened step by step from `below`, which is trusted; ValueError if it is not in there."""
    fd = os.open(below, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in folder.relative_to(below).parts:
            fd = _exchanged(fd, name)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _remove(parent: int, name: str) -> None:
    with suppress(OSError):
        if _unlink(parent, name):
            return
        make_accessible(parent, name)
        for fd, entries, done in _visit(os.open(name, _FOLDER, dir_fd=parent)):
            for one in entries:
                if one.is_folder:
                    make_accessible(fd, one.name)  # to be entered
                else:
                    _unlink(fd, one.name)
            if done:
                with suppress(OSError):
                    os.rmdir(done, dir_fd=fd)
        os.rmdir(name, dir_fd=parent)


def _unlink(parent: int, name: str) -> bool:
    """Remove a file or a link; returns False for a folder, and for what cannot be removed."""
    try:
        os.unlink(name, dir_fd=parent)
    except OSError:
        return False
    return True


def _is_accessible(mode: int) -> bool:
    """May the owner read this file, or read and empty this folder? Other kinds of files are never opened."""
    wanted = stat.S_IRWXU if stat.S_ISDIR(mode) else stat.S_IRUSR if stat.S_ISREG(mode) else 0
    return mode & wanted == wanted


def make_accessible(parent: int | None, name: str) -> None:
    """Let the owner read a file, or read and empty a folder.

    Works on its descriptor, so that a file that becomes a link meanwhile leads nowhere. Only Linux can do that;
    elsewhere nothing changes.
    """
    if sys.platform == "linux":
        with suppress(OSError):
            held = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
            try:
                mode = os.fstat(held).st_mode
                if not _is_accessible(mode):
                    Path(f"/proc/self/fd/{held}").chmod(stat.S_IRWXU if stat.S_ISDIR(mode) else mode | stat.S_IRUSR)
            finally:
                os.close(held)
