"""The folders of other features, while an untrusted program runs that no sandbox keeps out of them.

Markers, documents and settings there go back as they were. A feature that appears meanwhile may be a person's next
one: it is left as it is and held (`ralphy trust NAME` lets it go).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ralphy.documents.feature_folder import ARTIFACTS, MARKERS, NAME
from ralphy.engine.control import set_aside
from ralphy.engine.workspace import Workspace
from ralphy.files.atomic import read_regular, replace_file, signature
from ralphy.files.tree_walk import children
from ralphy.state.held_features import hold

_FILES = (*ARTIFACTS, *MARKERS, "prd.json", ".ralphy/config.yaml")
_PROMPTS = ".ralphy/prompts"
_MOST = 4 * 1024 * 1024


@dataclass(slots=True)
class OtherFeatures:
    """The names of all features' folders, and the files in them: path -> (signature, bytes), None where none was."""

    names: frozenset[str] | None = None
    files: dict[Path, tuple[tuple[int, ...] | None, bytes | None]] = field(default_factory=dict)

    def take(self, w: Workspace) -> None:
        """Remember them as they are; what did not change since the last time is not read again."""
        known = w.checkout.other_features
        self.names = _names(w)
        self.files = {path: _read(path, known.get(path)) for name in self.names for path in _paths(w, name)}
        w.checkout.other_features = self.files

    def put_back(self, w: Workspace) -> list[str]:
        """Undo what was done to them, and hold what is new; gives the names of what was changed."""
        if self.names is None:
            return []
        new = sorted(_names(w) - self.names)
        if new:
            hold(w.repository.state_dir, new)
            listed = ", ".join(f"{w.config.project.features_dir}/{name}" for name in new)
            w.say(f"{listed}: appeared while an agent or a check was running; to work on it: ralphy trust {new[0]}")
        there = {path for name in self.names for path in _paths(w, name)}
        changed = [path for path in sorted(self.files.keys() | there) if self._differs(path)]
        for path in changed:
            before = self.files.get(path, (None, None))[1]
            set_aside(w, path, _relative(w, path).replace("/", "__"))
            if before is not None:
                replace_file(path, before)
        return [_relative(w, path) for path in changed]

    def _differs(self, path: Path) -> bool:
        seen, before = self.files.get(path, (None, None))
        now = signature(path)
        if now == seen:
            return False
        return now is None or not stat.S_ISREG(now[0]) or read_regular(path, _MOST) != before


def _names(w: Workspace) -> frozenset[str]:
    root = w.repository.root
    found = children(root, root / w.config.project.features_dir)
    own = w.feature.path.rpartition("/")
    mine = own[2] if own[0] == w.config.project.features_dir else ""
    return frozenset(one.name for one in found if one.is_folder and one.name != mine and NAME.fullmatch(one.name))


def _paths(w: Workspace, name: str) -> Iterator[Path]:
    folder = w.repository.root / w.config.project.features_dir / name
    yield from (folder / file for file in _FILES)
    prompts = folder / _PROMPTS
    if prompts.is_dir():
        yield from (prompts / one.name for one in children(w.repository.root, prompts))


def _read(
    path: Path, known: tuple[tuple[int, ...] | None, bytes | None] | None
) -> tuple[tuple[int, ...] | None, bytes | None]:
    seen = signature(path)
    if known is not None and known[0] == seen:
        return known
    return seen, read_regular(path, _MOST) if seen else None


def _relative(w: Workspace, path: Path) -> str:
    return os.path.relpath(path, w.repository.root)
