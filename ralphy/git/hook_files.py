"""Hooks in the working tree that Git ignores, such as husky's `.husky/_`: what has to be remembered of them.

What Git tracks is code, and judged as such. The rest would change unseen, and be run by a person's next commit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from ralphy.files.tree_walk import walk

_MOST_FILES = 200
_MOST_BYTES = 1024 * 1024


def unseen_hooks(root: Path, folder: Path, is_tracked: Callable[[str], bool]) -> tuple[list[str], list[str]]:
    """(paths to remember, folders to which nothing may be added), as far as there are no more than bounds allow.

    The folders above are among the paths: one that becomes a link would lead elsewhere. `is_tracked` takes paths
    as Git has them.
    """
    inside = Path(os.path.normpath(folder))
    if not inside.is_relative_to(root) or inside.is_relative_to(root / ".git") or inside == root or not inside.is_dir():
        return [], []
    above = [path for path in reversed(inside.parents) if path != root and path.is_relative_to(root)]
    if inside.is_symlink():
        return [str(path) for path in (*above, inside)], []
    unseen = list(islice((path for path in _below(inside) if not is_tracked(str(path.relative_to(root)))), _MOST_FILES))
    if is_tracked(str(inside.relative_to(root))):
        return [str(path) for path in (*above, inside, *unseen)] if unseen else [], []
    folders = [inside, *(path for path in unseen if path.is_dir() and not path.is_symlink())]
    return [str(path) for path in (*above, inside, *unseen)], [str(path) for path in folders]


def _below(folder: Path) -> Iterator[Path]:
    """What is in a folder, however deep; a folder comes before what is in it."""
    found = sorted(walk(folder), key=lambda one: (one.path.count("/"), not one.is_folder, one.path))
    yield from (folder / one.path for one in found if one.is_folder or one.stat.st_size <= _MOST_BYTES)
