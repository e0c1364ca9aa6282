"""Makes mount points before bubblewrap does: it would follow links, and an agent may have left some."""

from __future__ import annotations

import os
import stat
from pathlib import Path, PurePath

from ralphy.errors import EnvironmentProblem
from ralphy.files.tree_walk import remove

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def make_mount_point(top: Path, inner: PurePath, *, is_file: bool = False, may_replace: bool = False) -> None:
    """Make a folder (or an empty file) at a path below `top`, unless it exists.

    If something else is in the way, it is removed with `may_replace`; else raises EnvironmentProblem.
    """
    at, fd = top, os.open(top, _FOLDER)
    try:
        for number, name in enumerate(inner.parts, 1):
            wants_file = is_file and number == len(inner.parts)
            at /= name
            _make(fd, at, wants_file=wants_file, may_replace=may_replace)
            if wants_file:
                return
            opened = os.open(name, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = opened
    finally:
        os.close(fd)


def _make(parent: int, at: Path, *, wants_file: bool, may_replace: bool) -> None:
    fits = stat.S_ISREG if wants_file else stat.S_ISDIR
    try:
        if fits(os.stat(at.name, dir_fd=parent, follow_symlinks=False).st_mode):
            return
    except FileNotFoundError:
        pass
    else:
        if not may_replace or not remove(at):
            raise EnvironmentProblem("blocks a mount point of the sandbox", where=str(at),
                                     hint="check what it is, then remove it")  # fmt: skip
    if wants_file:
        os.close(os.open(at.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=parent))
    else:
        os.mkdir(at.name, dir_fd=parent)
