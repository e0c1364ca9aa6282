"""A person's Git: in which checkouts it can be in the way, whether it is at work there, and how long Ralphy waits.

Three signs, from the shortest to the longest:

    a fresh index    it was written a moment ago, and HEAD may follow: a switch writes files, then the index, then HEAD
    index.lock       a Git that lives writes the index; one that is older than ten seconds was left by a Git that died
    an operation     a merge, rebase, cherry-pick or revert that a person has begun, and finishes some day

Who asks, and what follows where Git is at work:

    documents are looked at   `is_index_written`, a few times: they are not judged before the next look
    a feature begins          `wait_for_index`, then an operation: Conflict
    something lands           `wait_for_operation`: Conflict
    a checkout follows        an operation, or any lock: it stays behind until the next look
    the next step is decided  an operation on the branch; before there is one, or a bisect, in this checkout: Halt
    `watch` looks             `wait_for_index`: it looks all the same
"""

from __future__ import annotations

import math
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.read import signature
from ralphy.git import commands as git
from ralphy.git.commands import GitError, Repository

_FRESH_S = 0.05
_LEFT_LOCK_S, _LOOK_S = 10.0, 0.03
_OPERATION_LOOKS, _OPERATION_LOOK_S = 20, 1.0
_OPERATIONS = {"MERGE_HEAD": "a merge", "rebase-merge": "a rebase", "rebase-apply": "a rebase",
               "CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert"}  # fmt: skip


def operation_in_progress(repository: Repository) -> str:
    """A merge, rebase, cherry-pick or revert that a person has not finished, by name; "" if there is none.

    A bisect does not count: it checks out commits as a switch does, and may stay open for weeks.
    """
    return next((name for mark, name in _OPERATIONS.items() if (repository.git_dir / mark).exists()), "")


def operation_or_bisect(repository: Repository) -> str:
    """The same, or "a bisect": no feature should begin at the commit that a bisect checked out."""
    return operation_in_progress(repository) or ("a bisect" if (repository.git_dir / "BISECT_LOG").exists() else "")


def operation_on_branch(w: Workspace) -> str:
    """The operation in progress on the feature's branch, and where: "a merge on ralph/login in /srv/shop"; else ""."""
    for repository in checkouts_on_branch(w):
        if operation := operation_in_progress(repository):
            return f"{operation} on {w.feature_branch} in {repository.root}"
    return ""


def wait_for_operation(w: Workspace) -> str:
    """Wait for the end of an operation on the feature's branch; gives the one that goes on even then, or ""."""
    for _ in range(_OPERATION_LOOKS):
        if not (operation := operation_on_branch(w)):
            break
        w.pause(_OPERATION_LOOK_S)
    return operation


def checkouts_on_branch(w: Workspace) -> list[Repository]:
    """Every checkout of the repository that stands on the feature's branch."""
    branch, own = w.feature_branch, w.repository
    checkouts = [own] if git.current_branch(own) == branch else []
    has_worktrees = (own.common_dir / "worktrees").is_dir()
    return [*checkouts, *_others(own, branch)] if has_worktrees else checkouts


def _others(own: Repository, branch: str) -> Iterator[Repository]:
    blocks = os.fsdecode(own.run("worktree", "list", "--porcelain", "-z")).split("\0\0")
    for block in blocks:
        lines = block.split("\0")
        root = Path(lines[0].removeprefix("worktree "))
        if f"branch refs/heads/{branch}" in lines and root != own.root and root.is_dir():
            with suppress(GitError):
                yield git.discover(root, own.env)


def index_lock(repository: Repository) -> Path:
    """The file that is there while a Git writes the index, and after one that died in that."""
    return repository.git_dir / "index.lock"


def is_index_locked(repository: Repository) -> bool:
    """Does a Git that lives write the index?"""
    return _age_s(index_lock(repository)) < _LEFT_LOCK_S


def is_index_written(repository: Repository) -> bool:
    """The same, or has it just been written, so that HEAD may follow?"""
    return is_index_locked(repository) or 0 <= _age_s(repository.git_dir / "index") < _FRESH_S


def wait_for_index(repository: Repository) -> bool:
    """Wait while a Git that lives writes the index, until its lock would be one that was left; False if it is locked
    even then."""
    end = time.monotonic() + _LEFT_LOCK_S
    while is_index_locked(repository) and time.monotonic() < end:
        time.sleep(_LOOK_S)
    return not is_index_locked(repository)


def _age_s(path: Path) -> float:
    """The seconds since a file was written; without end if there is none."""
    written = signature(path)
    return time.time() - written[3] / 1e9 if written else math.inf
