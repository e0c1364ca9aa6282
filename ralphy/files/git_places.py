"""The checkout around a folder and its Git folders, found without git."""

from __future__ import annotations

import os

from ralphy.files.read import open_regular

_MOST_BYTES = 64 * 1024


def find_root(start: str) -> tuple[str, str] | None:
    """(root, Git folder) of the checkout that holds `start`; None outside of one."""
    root = root_around(start)
    if not root:
        return None
    dot_git = os.path.join(root, ".git")
    if os.path.isdir(dot_git):
        return root, dot_git
    try:
        target = _line_in(dot_git).removeprefix("gitdir:").strip()
    except OSError:  # a link that leads nowhere: git finds no checkout either
        return None
    return root, os.path.normpath(os.path.join(root, target))


def root_around(start: str) -> str:
    """The checkout that holds `start`; "" outside of one."""
    at = os.path.abspath(start)
    while not os.path.lexists(os.path.join(at, ".git")):
        if at == os.path.dirname(at):
            return ""
        at = os.path.dirname(at)
    return at


def common_of(git_dir: str) -> str:
    """The Git folder that all worktrees share with the one of this Git folder."""
    try:
        common = _line_in(os.path.join(git_dir, "commondir"))
    except OSError:
        return git_dir
    return os.path.normpath(os.path.join(git_dir, common))


def _line_in(path: str) -> str:
    """The path that a file of Git's holds; OSError if there is none."""
    with open_regular(path) as file:
        return os.fsdecode(file.read(_MOST_BYTES)).strip()
