"""Control files: what an agent may not change. They are remembered before a run and put back after it.

prd.json, progress.txt, the artifacts, the configuration: whatever was done to them during a run is set
aside and said, the attempt is judged on its merits. Nobody's edit is adopted while an agent runs.
"""

from __future__ import annotations

import os
import shutil
import stat
import time
from dataclasses import dataclass, field
from pathlib import Path

from ralphy.documents.feature_folder import ARTIFACTS, MARKERS
from ralphy.engine.workspace import Workspace
from ralphy.files.atomic import (
    fitting,
    link_on_the_way,
    private_folder,
    read_regular,
    remove_temporaries,
    replace_file,
    signature,
)

_FILES = (*ARTIFACTS, "prd.json", "progress.txt", ".gitattributes", ".gitignore", ".ralphy/config.yaml")


@dataclass(slots=True)
class Remembered:
    """The control files as they were: path -> (stat signature, bytes); None where there was no file.

    `links` are folders of prompts that a person keeps elsewhere, and where they lead: what is there is not looked at.
    """

    files: dict[Path, tuple[tuple[int, ...] | None, bytes | None]] = field(default_factory=dict)
    links: dict[Path, str] = field(default_factory=dict)

    def take(self, workspace: Workspace) -> None:
        """Remember them as they are now."""
        self.files = {path: _as_it_is(path) for path in _paths(workspace)}
        self.links = {folder: target for folder in _prompt_folders(workspace) if (target := _link_at(folder))}

    def put_back(self, workspace: Workspace) -> list[str]:
        """Undo what was done to them; gives the names of those that had been changed."""
        moved = [folder for folder in _prompt_folders(workspace) if _link_at(folder) != self.links.get(folder, "")]
        for folder in moved:
            set_aside(workspace, folder)
            if folder in self.links:
                folder.symlink_to(self.links[folder])
        changed = [path for path in self.files if self._differs(path)]
        for path in changed:
            set_aside(workspace, path)
            before = self.files[path][1]
            if before is not None:
                replace_file(path, before)
        new = [path for path in _prompts(workspace) if path not in self.files]
        for path in new:
            set_aside(workspace, path)
        return [shown(workspace, path) for path in (*moved, *changed, *new)]

    def _differs(self, path: Path) -> bool:
        seen, before = self.files[path]
        now = signature(path)
        return now != seen and (now is None or not stat.S_ISREG(now[0]) or read_regular(path) != before)


def _as_it_is(path: Path) -> tuple[tuple[int, ...] | None, bytes | None]:
    seen = signature(path)
    return seen, read_regular(path) if seen else None


def _paths(workspace: Workspace) -> list[Path]:
    own = [workspace.feature.file(name) for name in _FILES]
    return [*own, workspace.repository.root / ".ralphy" / "config.yaml", *_prompts(workspace)]


def _prompts(workspace: Workspace) -> list[Path]:
    """What stands in the folders of the project's own prompts."""
    folders = [folder for folder in _prompt_folders(workspace) if folder.is_dir() and not folder.is_symlink()]
    return [Path(entry.path) for folder in folders for entry in os.scandir(folder)]


def _prompt_folders(workspace: Workspace) -> tuple[Path, Path]:
    return workspace.feature.private / "prompts", workspace.repository.root / ".ralphy" / "prompts"


def _link_at(path: Path) -> str:
    """Where the link at a path leads; "" if there is none."""
    try:
        return os.readlink(path)  # noqa: PTH115 - as text, whatever it is
    except OSError:
        return ""


def mend_folders(workspace: Workspace) -> list[str]:
    """Where a folder of control files became a link or a file, make a folder again: nothing is followed out of here."""
    root, own = workspace.repository.root, workspace.feature.folder
    above = [folder for folder in reversed(own.parents) if folder != root and folder.is_relative_to(root)]
    mended = []
    private = workspace.feature.private
    kept = [private / name for name in ("runs", "outbox", "set-aside")]
    for folder in (*above, own, root / ".ralphy", private, own / "stories", *kept):
        if not os.path.lexists(folder) or stat.S_ISDIR(folder.lstat().st_mode):
            continue
        aside = folder.with_name(f"{folder.name}.found-{time.time_ns()}")
        folder.rename(aside)
        folder.mkdir()
        mended.append((aside, folder))
    for aside, folder in mended:
        set_aside(workspace, aside, folder.name)
    return [shown(workspace, folder) for _, folder in mended]


def shown(workspace: Workspace, path: Path) -> str:
    """A path as people read it: relative to the repository."""
    return os.path.relpath(path, workspace.repository.root)


def set_aside(workspace: Workspace, path: Path, copy_as: str = "") -> Path | None:
    """Move what lies at `path` to `.ralphy/set-aside/`; None if nothing is there.

    Nothing is moved out of a folder that a link leads to: then it is the link that goes.
    """
    if not path.is_relative_to(workspace.repository.git_dir):
        path = link_on_the_way(workspace.repository.root, path) or path
    if not os.path.lexists(path):
        return None
    folder = private_folder(workspace.feature.private / "set-aside")
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(workspace.clock()))
    name = fitting(copy_as or path.name)
    number, target = 0, folder / f"{stamp}-{name}"
    while os.path.lexists(target):
        number += 1
        target = folder / f"{stamp}-{number}-{name}"
    shutil.move(path, target)
    return target


def drop_leftovers(workspace: Workspace) -> None:
    """Remove the temporary files of a Ralphy that was killed while it replaced a file: nobody ever reads them."""
    folder = workspace.feature.folder
    for place in (folder, folder / "stories"):
        remove_temporaries(place)


def set_markers_aside(workspace: Workspace) -> list[str]:
    """Markers made while an agent lived are no statements of a person."""
    found = [name for name in MARKERS if name != "STOP" and os.path.lexists(workspace.feature.file(name))]
    for name in found:
        set_aside(workspace, workspace.feature.file(name))
    return found
