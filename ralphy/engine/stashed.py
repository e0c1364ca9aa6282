"""What an agent stashed away that was none of its business: a person's files in other features' folders come back.

Only to a place that is free, or holds what was committed there. A stash is an agent's to write: names that lead out of
the folder, links and markers (which are a person's word at the moment they are made) are left where they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from ralphy.documents.feature_folder import MARKERS
from ralphy.engine.workspace import Workspace, is_private
from ralphy.errors import EnvironmentProblem
from ralphy.files.atomic import read_regular, replace_file
from ralphy.git.objects import Entry

_PLAIN = {"100644": 0o644, "100755": 0o755}
_MOST_BYTES = 64 * 1024 * 1024


def bring_back(w: Workspace, stash: str, ref: str) -> list[str]:
    """Put the person's files of a stash back; gives their names. Others are said, with the `ref` that has them."""
    back = []
    try:
        for path, was, now, holder in list(_taken(w, stash, ref)):
            if _put(w, path, was, now):
                back.append(path)
            elif read_regular(w.repository.root / path, _MOST_BYTES) != w.objects.read(now.oid):
                w.say(f"{path} was stashed away by the agent; it is kept: git show {holder}:{path}")
    except EnvironmentProblem as error:
        w.say(f"what the agent stashed away stays in {ref}: {error.what}")
    return back


def _taken(w: Workspace, stash: str, ref: str) -> Iterator[tuple[str, Entry | None, Entry, str]]:
    """(path, what is committed, what was there, the commit that has it): tracked files first, then new ones."""
    base, _, *new = _parents(w, stash)
    for old, taken, holder in ((base, stash, ref), *(("", commit, f"{ref}^3") for commit in new)):
        before = w.objects.tree_of(old) if old else ""
        for path, was, now in w.objects.changes(before, w.objects.tree_of(taken)):
            if now and _is_a_persons(w, path):
                yield path, was, now, holder


def _parents(w: Workspace, commit: str) -> list[str]:
    """The parents of a stash: its base, its index, and what was untracked, if anything was; none of another commit."""
    rows = (w.objects.read(commit) or b"").partition(b"\n\n")[0].decode("utf-8", "replace").splitlines()
    found = [row.removeprefix("parent ") for row in rows if row.startswith("parent ")]
    if len(found) not in (2, 3):
        raise EnvironmentProblem(f"{commit[:12]} is no stash")
    return found


def _is_a_persons(w: Workspace, path: str) -> bool:
    parts = path.split("/")
    if {"", ".", ".."} & set(parts) or ".git" in map(str.casefold, parts):
        return False
    return w.is_other_feature(path) or (is_private(w, path) and path.startswith(".ralphy/"))


def _put(w: Workspace, path: str, was: Entry | None, now: Entry) -> bool:
    """Write a file if its place is as the stash left it; False if it is not, or if it is no plain file or a marker."""
    target, data = w.repository.root / path, w.objects.read(now.oid)
    if data is None or now.mode not in _PLAIN or target.name in MARKERS or not _is_plain_way(w.repository.root, target):
        return False
    left = w.objects.read(was.oid) if was else None
    if read_regular(target, _MOST_BYTES) != left or (left is None and os.path.lexists(target)):
        return False
    replace_file(target, data, durable=False)
    target.chmod(_PLAIN[now.mode])
    return True


def _is_plain_way(root: Path, target: Path) -> bool:
    """Are all folders on the way there folders, or not there yet?"""
    above = [folder for folder in target.parents if folder != root and folder.is_relative_to(root)]
    return not any(folder.is_symlink() or (folder.exists() and not folder.is_dir()) for folder in above)
