"""Unix sockets with a name in the file system on which programs of the host listen, found without walking a tree."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

_TABLE = Path("/proc/net/unix")
_MOST_FOLDERS = 2000  # of a walk, which is needed only when some program bound a relative name


def sockets_below(root: Path) -> list[Path]:
    """The sockets below a folder; a path is there once."""
    names = set(_bound_names())
    found = {path for name in names if name.startswith("/") and (path := _in_place(root, Path(name)))}
    last_parts = {os.path.basename(name) for name in names if not name.startswith("/")}  # noqa: PTH119 - bytes of any kind
    return sorted(found | (set(_walk(root, last_parts)) if last_parts else set()))


def _bound_names() -> Iterator[str]:
    """The names in the kernel's table, abstract ones left out. It escapes line breaks, and nothing else."""
    try:
        lines = os.fsdecode(_TABLE.read_bytes()).split("\n")[1:]
    except OSError:
        return
    for line in lines:
        fields = line.split(maxsplit=7)
        if len(fields) == 8 and not fields[7].startswith("@"):
            yield fields[7]


def _in_place(root: Path, path: Path) -> Path | None:
    """Where a socket lies below the root, links in its name resolved; None if it lies elsewhere or is gone."""
    try:
        real = path.parent.resolve(strict=True) / path.name
        return real if real.is_relative_to(root) and stat.S_ISSOCK(real.lstat().st_mode) else None
    except (OSError, RuntimeError, ValueError):
        return None


def _walk(root: Path, names: set[str]) -> Iterator[Path]:
    """Sockets with one of these last names in the first folders of a tree, breadth first."""
    folders = [str(root)]
    for folder in folders:
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if len(folders) < _MOST_FOLDERS:
                            folders.append(entry.path)
                    elif entry.name in names and stat.S_ISSOCK(entry.stat(follow_symlinks=False).st_mode):
                        yield Path(entry.path)
        except OSError:
            continue
