"""Files of refs that git could not read, or would wait for, mended after a run before git is asked for anything.

The branch that a run works on is judged with the run, so it is not put back with the other refs (`git_refs`). Where
its file holds no object's id any more, the commit before the run takes its place.
"""

from __future__ import annotations

import os
from pathlib import Path

from ralphy.engine.control import set_aside
from ralphy.engine.workspace import Workspace
from ralphy.files.atomic import replace_file
from ralphy.files.tree_walk import walk
from ralphy.git.ref_files import is_oid, ref_text
from ralphy.git.special_files import remove_odd


def mend_refs(w: Workspace) -> list[str]:
    """Make the files of refs readable again; gives the names of those that were not. What was there is set aside."""
    if (w.repository.common_dir / "reftable").exists():
        return []
    run = w.history.open_run or {}
    branch, green = str(run.get("branch") or ""), str(run.get("green") or "")
    worked_on = {w.feature_branch: "", branch: green}
    mended = [name for name, oid in worked_on.items() if name and _mend_branch(w, f"refs/heads/{name}", oid)]
    w.checkout.all_refs.read()
    unreadable = [path for path in w.checkout.all_refs.unreadable() if os.path.lexists(path)]
    for path in unreadable:
        _take_away(w, path)
    paths = [f"refs/heads/{name}" for name in mended]
    return [f".git/{path}" for path in (*paths, *(path.relative_to(w.repository.common_dir) for path in unreadable))]


def _mend_branch(w: Workspace, ref: str, oid: str) -> bool:
    """Take away what is no ref in a ref's place, and give it its id; one that is not there at all stays so."""
    path = w.repository.common_dir / ref
    is_cleared = make_way(w, path.parent)
    if not is_cleared and not _is_in_the_way(path):
        return False
    _take_away(w, path)
    if is_oid(oid):
        replace_file(path, f"{oid}\n".encode())
    return True


def make_way(w: Workspace, folder: Path) -> bool:
    """Take away what is no folder where one of git's has to be. Was there something?"""
    above = [at for at in (folder, *folder.parents) if at.is_relative_to(w.repository.common_dir / "refs")]
    blocking = next((at for at in reversed(above) if os.path.lexists(at) and not at.is_dir()), None)
    if blocking is None:
        return False
    _take_away(w, blocking)
    return True


def _is_in_the_way(path: Path) -> bool:
    """Is there something that is no object's id in a plain file? Empty folders git removes itself."""
    if not os.path.lexists(path):
        return False
    if path.is_dir() and not path.is_symlink():
        return any(not found.is_folder for found in walk(path))
    return path.is_symlink() or not is_oid(ref_text(path) or "")


def _take_away(w: Workspace, path: Path) -> None:
    """What can be kept is set aside."""
    if not remove_odd(path):
        set_aside(w, path, str(path.relative_to(w.repository.common_dir)).replace("/", "__"))
