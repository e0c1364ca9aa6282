"""Repositories with Ralphy's settings below a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

_DEEPEST = 4
_NOT_ENTERED = ("node_modules", "venv", "__pycache__")


def repositories_below(top: Path, unreadable: Callable[[OSError], None]) -> Iterator[Path]:
    """The folder itself and those up to four levels below it that hold `.git` and Ralphy's settings, by name.

    Hidden folders and those of packages are not entered, links not followed. `unreadable` gets errors.
    """
    root = top.resolve()
    for folder, names, _ in os.walk(root, onerror=unreadable):
        depth = len(Path(folder).relative_to(root).parts)
        names[:] = sorted(name for name in names if name[0] != "." and name not in _NOT_ENTERED) * (depth < _DEEPEST)
        if (Path(folder) / ".git").exists() and (Path(folder) / ".ralphy" / "config.yaml").exists():
            yield Path(folder)
