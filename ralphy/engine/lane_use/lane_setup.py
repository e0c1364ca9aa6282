"""The project's `setup` in a lane: it runs once, and again when its command, a manifest or a lock file has changed.

What it made and Git ignores stays in the lane from tree to tree, as brought dependencies do. Caches do not.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ralphy.config.values import Check
from ralphy.engine.lane_use.checks import run_as_agent
from ralphy.engine.workspace.changes import files_of
from ralphy.engine.workspace.environment import SETUP, check_environment
from ralphy.errors import EnvironmentProblem
from ralphy.files.notes import read_note, write_note
from ralphy.files.tree_walk import children
from ralphy.git.objects import TREE
from ralphy.lanes.ignored import is_leftover
from ralphy.testguard.substance import is_manifest

if TYPE_CHECKING:
    from ralphy.engine.workspace.workspace import Workspace
    from ralphy.lanes.lane import Lane

_DONE = "setup-done"


def set_up(w: Workspace, lane: Lane, tree: str) -> None:
    """Run `setup` in a lane where `tree` is laid out, if necessary, and note what it made. EnvironmentProblem if it
    fails, or if the lane was removed meanwhile."""
    if is_set_up(w, lane, tree):
        return
    command = w.config.setup
    w.say(f"setup: {command}")
    result = run_as_agent(w, Check("setup", command), check_environment(w, SETUP), lane)
    if not result.is_green:
        raise EnvironmentProblem(f"{result.sentence()}: {result.output.strip()[-500:]}", where="setup",
                                 hint=f"run it yourself: {command}")  # fmt: skip
    if lane.was_removed:
        raise EnvironmentProblem("the lane was removed while setup ran", where=str(lane.home))
    before = made_by_setup(w, lane, tree)  # kept in the lane since the last run, as what was brought is
    brought = [path for path in lane.keep if path not in before]
    made = [path for path in _new(w, lane, tree, "") if path.rstrip("/") not in brought]
    write_note(lane.home / _DONE, {"for": _wanted_for(w, tree), "made": made})


def is_set_up(w: Workspace, lane: Lane, tree: str) -> bool:
    """Has `setup` run for these manifests, or is there none?"""
    if not w.config.setup:
        return True
    noted = _noted(lane)
    return noted.get("for") == _wanted_for(w, tree) and all(os.path.lexists(lane.tree / path) for path in noted["made"])


def _wanted_for(w: Workspace, tree: str) -> str:
    """A digest of the command and of the manifests and lock files."""
    manifests = sorted((path, entry.oid) for path, entry in files_of(w, tree) if is_manifest(path))
    return hashlib.sha256(repr((w.config.setup, manifests)).encode()).hexdigest()


def forget_set_up(lane: Lane) -> None:
    """Have `setup` run again."""
    (lane.home / _DONE).unlink(missing_ok=True)


def made_by_setup(w: Workspace, lane: Lane, tree: str) -> tuple[str, ...]:
    """The paths in a lane that `setup` made, without those that the tree holds itself."""
    made = _noted(lane)["made"] if w.config.setup else ()
    return tuple(path.rstrip("/") for path in made if w.objects.at(tree, path.rstrip("/")) is None)


def _noted(lane: Lane) -> Mapping[str, Any]:
    noted = read_note(lane.home / _DONE)
    return noted if isinstance(noted.get("made"), list) else {"made": []}


def _new(w: Workspace, lane: Lane, tree: str, folder: str) -> Iterator[str]:
    """The topmost paths in the lane that are not in the tree, without caches and logs; a folder ends with a slash."""
    tracked = w.objects.entries(tree)
    for child in sorted(children(lane.tree, lane.tree / folder), key=lambda child: child.name):
        path, entry = f"{folder}{child.name}", tracked.get(child.name)
        if entry is None and path != ".git":
            row = f"{path}/" if child.is_folder else path
            if not is_leftover(lane.tree, row):
                yield row
        elif entry is not None and entry.mode == TREE and child.is_folder:
            yield from _new(w, lane, entry.oid, f"{path}/")
