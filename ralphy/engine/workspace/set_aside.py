"""What does not belong where it lies in the feature folder: set aside, and kept where it harms nobody."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

from ralphy.documents.feature_folder import MARKERS
from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.atomic import private_folder, remove_temporaries
from ralphy.files.tree_walk import link_on_the_way

_MOST_OF_A_NAME = 200  # bytes of its end: no folder takes more than 255


def relative_path(workspace: Workspace, path: Path) -> str:
    """A path as people read it: relative to the repository."""
    return os.path.relpath(path, workspace.repository.root)


def set_aside(workspace: Workspace, path: Path, copy_as: str = "") -> Path | None:
    """Move what lies at `path` to `.ralphy/set-aside/`; None if nothing is there.

    Nothing is moved out of a folder that a link leads to: then it is the link that goes.
    """
    path = link_on_the_way(workspace.repository.root, path) or path
    if not os.path.lexists(path):
        return None
    target = free_place(workspace, copy_as or path.name)
    shutil.move(path, target)
    return target


def free_place(workspace: Workspace, name: str) -> Path:
    """A path in `.ralphy/set-aside/` that is free, for something of this name."""
    folder = private_folder(workspace.feature.private / "set-aside")
    stamp = time.strftime("%Y%m%dT%H%M%S", time.gmtime(workspace.clock()))
    name = os.fsencode(name.replace("/", "__"))[-_MOST_OF_A_NAME:].decode("utf-8", "ignore")
    number, target = 0, folder / f"{stamp}-{name}"
    while os.path.lexists(target):
        number += 1
        target = folder / f"{stamp}-{number}-{name}"
    return target


def drop_leftovers(workspace: Workspace) -> None:
    """Remove the temporary files of a Ralphy that was killed while it replaced a file: nobody ever reads them."""
    folder = workspace.feature.folder
    for place in (folder, folder / "stories"):
        remove_temporaries(place)


def set_markers_aside(workspace: Workspace) -> list[str]:
    """Markers made while an agent lived are not statements of a person."""
    markers = [name for name in MARKERS if name != "STOP" and os.path.lexists(workspace.feature.file(name))]
    for name in markers:
        set_aside(workspace, workspace.feature.file(name))
    return markers
