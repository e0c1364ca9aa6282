"""Trees of code: their files, what in them is not the agents' to change, and how paths are shown."""

from __future__ import annotations

from collections.abc import Iterator

from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.objects import GITLINK, Entry


def printable(path: str) -> str:
    """A path as text: bytes that are no UTF-8 are replaced."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def files_of(w: Workspace, tree: str) -> Iterator[tuple[str, Entry]]:
    """All files and links of a tree, with their paths."""
    return ((path, new) for path, _, new in w.objects.changes("", tree) if new and new.mode != GITLINK)


def is_control(w: Workspace, path: str) -> bool:
    return path.startswith((f"{w.feature.path}/", ".ralphy/"))
