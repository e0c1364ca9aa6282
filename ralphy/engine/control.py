"""Control files: what an agent may not change. They are remembered before a run and put back after it.

prd.json, progress.txt, the artifacts, the configuration: whatever was done to them during a run is set
aside and said, the attempt is judged on its merits (ruling 13). Nobody's edit is adopted while an agent runs.
"""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from ralphy.adapters.feature import ARTIFACTS, MARKERS
from ralphy.adapters.files import read_regular, replace_file, signature
from ralphy.engine.workspace import Workspace

_FILES = (*ARTIFACTS, "prd.json", "progress.txt", ".gitattributes", ".gitignore", ".ralphy/config.yaml")


@dataclass(slots=True)
class Remembered:
    """The control files as they were: path -> (stat signature, bytes); None where there was no file."""

    files: dict[Path, tuple[tuple[int, ...] | None, bytes | None]] = field(default_factory=dict)
    _known: dict[Path, tuple[tuple[int, ...] | None, bytes | None]] = field(default_factory=dict)

    def take(self, workspace: Workspace) -> None:
        """Remember them as they are now; unchanged ones are not read again."""
        self.files = {path: self._one(path) for path in _paths(workspace)}
        self._known = self.files

    def _one(self, path: Path) -> tuple[tuple[int, ...] | None, bytes | None]:
        seen = signature(path)
        known = self._known.get(path)
        return known if known and known[0] == seen else (seen, read_regular(path))

    def put_back(self, workspace: Workspace) -> list[str]:
        """Undo what was done to them; gives the names of those that had been changed."""
        changed = [p for p, (seen, _) in self.files.items() if signature(p) != seen]
        changed = [p for p in changed if read_regular(p) != self.files[p][1] or signature(p) is None]
        for path in changed:
            set_aside(workspace, path)
            before = self.files[path][1]
            if before is not None:
                replace_file(path, before)
        return [shown(workspace, path) for path in changed]


def _paths(workspace: Workspace) -> list[Path]:
    own = [workspace.feature.file(name) for name in _FILES]
    return [*own, workspace.repository.root / ".ralphy" / "config.yaml"]


def shown(workspace: Workspace, path: Path) -> str:
    """A path as people read it: relative to the repository."""
    return os.path.relpath(path, workspace.repository.root)


def set_aside(workspace: Workspace, path: Path, copy_as: str = "") -> Path | None:
    """Move what lies at `path` to `.ralphy/set-aside/`; None if nothing is there."""
    if not os.path.lexists(path):
        return None
    folder = workspace.feature.private / "set-aside"
    folder.mkdir(parents=True, exist_ok=True)
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(workspace.clock()))
    number, target = 0, folder / f"{stamp}-{copy_as or path.name}"
    while os.path.lexists(target):
        number += 1
        target = folder / f"{stamp}-{number}-{copy_as or path.name}"
    shutil.move(path, target)
    return target


def set_markers_aside(workspace: Workspace) -> list[str]:
    """Markers made while an agent lived are no statements of a person (ruling 9)."""
    found = [name for name in MARKERS if name != "STOP" and os.path.lexists(workspace.feature.file(name))]
    for name in found:
        set_aside(workspace, workspace.feature.file(name))
    return found
