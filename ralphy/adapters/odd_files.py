"""What is neither file, link nor folder (a FIFO, a socket, a device): to open one may wait for ever, so it is removed.

Git reads `.gitignore` and `.gitattributes` without a look at what they are, in folders that it finds as it goes. To
look for such ones everywhere before each call would cost more than the call: they are looked for when git is slow.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ralphy.adapters.files import is_odd
from ralphy.adapters.git import Repository

PATIENCE_S = 20.0
_READ_BY_GIT = (".gitignore", ".gitattributes", ".gitmodules", ".mailmap")


def remove_odd(path: Path) -> bool:
    """Take away what is at a path if it is odd: nothing can be kept of it. Is it gone?"""
    try:
        if not is_odd(path.lstat().st_mode):
            return False
        path.unlink()
    except OSError:
        return False
    return True


def run_wary(repository: Repository, *args: str, index: Path | None = None) -> bytes:
    """A git command that reads the working tree; odd files that keep it waiting are removed, and it is run again."""
    try:
        return repository.run(*args, index=index, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        for path in _odd_in(str(repository.root)):
            with suppress(OSError):
                os.unlink(path)  # noqa: PTH108 - a name, as it was found
        if index:
            index.with_suffix(".lock").unlink(missing_ok=True)
        return repository.run(*args, index=index)


def _odd_in(root: str) -> Iterator[str]:
    """The odd files that git would open, in the whole working tree."""
    for folder, folders, files in os.walk(root):
        if ".git" in folders and folder == root:
            folders.remove(".git")
        for name in _READ_BY_GIT:
            if name in files and is_odd(os.lstat(f"{folder}/{name}").st_mode):
                yield f"{folder}/{name}"
