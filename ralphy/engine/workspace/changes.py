"""Trees of code: their files, and what in them is not the agents' to change."""

from __future__ import annotations

from collections.abc import Iterator

from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.objects import GITLINK, Entry


def files_of(w: Workspace, tree: str) -> Iterator[tuple[str, Entry]]:
    """All files and links of a tree, with their paths."""
    return ((path, new) for path, _, new in w.objects.changes("", tree) if new and new.mode != GITLINK)


def is_control(w: Workspace, path: str) -> bool:
    return path.startswith((f"{w.feature.path}/", ".ralphy/"))
