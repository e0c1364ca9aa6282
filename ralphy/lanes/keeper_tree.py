"""The working tree of a lane as the keeper sees it: what differs from its record, and how that is taken away.

Sent to the keeper as code, as that is. No link is followed, nothing recurses, and no path gets long.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    Rows = dict[str, tuple[Any, ...]]  # path -> Git's mode, its id, what `lstat` said

GITLINK = "160000"
FULL = ("No space left", "Disk quota exceeded", "File too large", "Read-only file system")


class Refused(Exception):
    """It cannot be done; the text says why."""


class Found:
    """How the tree differs from a record: tracked paths that were touched or are gone, and what nobody knows."""

    def __init__(self) -> None:
        self.changed: list[str] = []
        self.extra: list[str] = []
        self.missing: list[str] = []


def look(rows: Rows, keep: set[str]) -> Found:
    """How the tree differs from what is known of it. No link is followed; folders that nobody knows are not entered."""
    found, seen = Found(), set()
    folders = above(rows) | above(keep)
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        for entry in entries(folder or "."):
            path = folder + entry.name
            row = rows.get(path)
            if path == ".git":
                continue
            if row:
                seen.add(path)
                now = entry.stat(follow_symlinks=False)  # as `print_of` says it, without a call: there are thousands
                is_same = (now.st_ino, now.st_mode, now.st_size, now.st_mtime_ns, now.st_ctime_ns) == row[2]
                if not is_same and not is_empty_module(entry, row):
                    found.changed.append(path)
                    if row[0] != GITLINK and stat.S_ISDIR(now.st_mode):  # what is in it is new
                        found.extra.append(path)
            elif path in keep:
                continue
            elif path in folders and entry.is_dir(follow_symlinks=False):
                waiting.append(path + "/")
            else:
                found.extra.append(path)
    found.missing = [path for path in rows if path not in seen] if len(seen) < len(rows) else []
    return found


def is_empty_module(entry: os.DirEntry[str], row: tuple[Any, ...]) -> bool:
    """Is it the empty folder that is laid out for a submodule?"""
    return row[0] == GITLINK and entry.is_dir(follow_symlinks=False) and not entries(entry.path)


def print_of(found: os.stat_result) -> tuple[int, ...]:
    return found.st_ino, found.st_mode, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def above(paths: Iterable[str]) -> set[str]:
    """All folders that these paths lie in."""
    folders = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders


def entries(folder: str) -> list[os.DirEntry[str]]:
    """What is in a folder, opened up if its mode is in the way."""
    mode = os.lstat(folder).st_mode
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        os.chmod(folder, stat.S_IMODE(mode) | stat.S_IRWXU)  # noqa: PTH101
    with os.scandir(folder) as found:
        return list(found)


def remove(paths: list[str]) -> None:
    """Take paths away. Folders are moved into one and emptied there, so that no path gets long and nothing recurses."""
    trash, number = "", 0
    for path in paths:
        if not is_folder(path):
            os.unlink(path)  # noqa: PTH108
            continue
        trash = trash or new_folder()
        number += 1
        move(path, f"{trash}/{number}")
    if not trash:
        return
    waiting = [f"{trash}/{at + 1}" for at in range(number)]
    while waiting:
        folder = waiting.pop()
        for entry in entries(folder):
            if entry.is_dir(follow_symlinks=False):
                number += 1
                move(entry.path, f"{trash}/{number}")
                waiting.append(f"{trash}/{number}")
            else:
                os.unlink(entry.path)  # noqa: PTH108
        os.rmdir(folder)  # noqa: PTH106
    os.rmdir(trash)  # noqa: PTH106


def move(folder: str, target: str) -> None:
    os.chmod(folder, stat.S_IRWXU)  # noqa: PTH101 - a folder that is moved must be writable itself
    os.rename(folder, target)  # noqa: PTH104


def new_folder() -> str:
    for number in range(1000):
        name = f".ralphy-removed-{os.getpid()}-{number}"
        try:
            os.mkdir(name)  # noqa: PTH102
            return name
        except FileExistsError:
            continue
    raise Refused("no name is free for what is removed")


def within(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(place + "/") for place in places)


def files_at(path: str, most: int = 100) -> list[str]:
    """What stands at a path that is not a folder, or below it: at most so many."""
    waiting, found = [path] if os.path.lexists(path) else [], list[str]()
    for at in waiting:
        if is_folder(at):
            waiting += [entry.path for entry in entries(at)]
        elif len(found) < most:
            found.append(at)
    return found


def is_odd(mode: int) -> bool:
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode))


def is_folder(path: str) -> bool:
    return stat.S_ISDIR(os.lstat(path).st_mode)
