"""The few verbs on files that every run needs, with paths as plain texts.

Importing pathlib would cost a run 5 ms, a fifth of its start-up; the ignores below are for that.
"""

# ruff: noqa: PTH103, PTH105, PTH109, PTH113, PTH118, PTH120, PTH123
from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager


def here() -> str:
    """The working folder, absolute."""
    return os.getcwd()


def join(*parts: str) -> str:
    """The parts as one path; an absolute part starts over."""
    return os.path.normpath(os.path.join(*parts))


def is_file(path: str) -> bool:
    return os.path.isfile(path)


def read(path: str, *, errors: str = "strict") -> str:
    """The file's text, line endings as they are. Raises OSError, and UnicodeDecodeError when strict."""
    with open(path, encoding="utf-8", errors=errors, newline="") as file:
        return file.read()


def read_or_empty(path: str) -> str:
    """The file's text as far as it can be read; empty when there is none."""
    try:
        return read(path, errors="replace")
    except OSError:
        return ""


def write(path: str, text: str) -> None:
    """Make `text` the file's whole content; missing folders are made."""
    make_parent(path)
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)


def replace(path: str, text: str) -> None:
    """Like `write`, but a reader sees the old content or the new, never a part."""
    fresh = f"{path}.{os.getpid()}.tmp"
    write(fresh, text)
    os.replace(fresh, path)


def below(root: str, but: tuple[str, ...] = (), most: int = 5000) -> Iterator[str]:
    """The paths of the first files below `root`, in order, outside of hidden folders and those named in `but`."""
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in but)
        for name in sorted(names):
            if (most := most - 1) < 0:
                return
            yield os.path.relpath(os.path.join(folder, name), root)


def make_parent(path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Alone among all processes that lock the same path, which is made."""
    make_parent(path)
    with open(path, "a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
