"""The checkout around a folder and its Git folders, found without git."""

from __future__ import annotations

import os

from ralphy.files.safe_open import read_safely


def find_root(start: str) -> tuple[str, str] | None:
    """(root, Git folder) of the checkout that holds `start`; None outside of one."""
    here = os.path.abspath(start)
    while True:
        dot_git = os.path.join(here, ".git")
        if os.path.isdir(dot_git):
            return here, dot_git
        if os.path.isfile(dot_git):
            target = os.fsdecode(read_safely(dot_git)).removeprefix("gitdir:").strip()
            return here, os.path.normpath(os.path.join(here, target))
        if here == os.path.dirname(here):
            return None
        here = os.path.dirname(here)


def common_of(git_dir: str) -> str:
    """The Git folder that all worktrees share with the one of this Git folder."""
    try:
        common = os.fsdecode(read_safely(os.path.join(git_dir, "commondir"))).strip()
    except OSError:
        return git_dir
    return os.path.normpath(os.path.join(git_dir, common))
