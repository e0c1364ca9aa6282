"""The folders of an agent's runs in `.ralphy/`: the newest are kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ralphy.files.tree_walk import children

_KEPT_RUNS = 200


def old_runs(root: Path, folder: Path) -> Iterator[Path]:
    """All but the newest runs; their names begin with the time."""
    names = sorted(found.name for found in children(root, folder) if found.name[:1] != ".")
    return (folder / name for name in names[:-_KEPT_RUNS])
