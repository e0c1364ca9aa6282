"""Where the lanes lie: `lanes.dir`, by default below the user's cache."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ralphy.errors import EnvironmentProblem, InvalidInput
from ralphy.files.tree_walk import children
from ralphy.files.user_folders import cache_folder
from ralphy.git.run_lock import holder

if TYPE_CHECKING:
    from ralphy.config.values import Lanes
    from ralphy.git.commands import Repository

CACHES = "caches"
_IN_A_PATH = r"[^\s\"'`(),:;<=>\[\]{|}]"  # each path is searched once, however long a text an agent prints


def lanes_folder(repository: Repository, lanes: Lanes, env: Mapping[str, str]) -> Path:
    """The folder of the lanes of all repositories; it may not exist yet.

    InvalidInput for a folder in the checkout or in its Git folder, where the lanes would be part of what they hold.
    """
    folder = _absolute(lanes.dir, env).resolve()
    for place in (repository.root, repository.common_dir):
        if folder.is_relative_to(place.resolve()):
            hint = "set a folder outside it, or leave it empty: ~/.cache/ralphy/lanes"
            raise InvalidInput(f"lanes.dir: {folder} is in the repository", where=str(place), hint=hint)
    return folder


def _absolute(text: str, env: Mapping[str, str]) -> Path:
    cache, home = cache_folder(env), env.get("HOME", "")
    if text.startswith("/"):
        return Path(text)
    if not text and cache:
        return cache / "ralphy" / "lanes"
    if not home:
        raise EnvironmentProblem("no folder for lanes: HOME is not set", hint="set lanes.dir to a folder")
    return Path(home, text.removeprefix("~/"))


def checkout_folder(repository: Repository) -> str:
    """The name of the folder of a checkout's lanes; linked worktrees have lanes of their own, too."""
    return _folder_name(repository.root.name, repository.git_dir)


def repository_folder(repository: Repository) -> str:
    """The name of the folder that all checkouts of a repository share."""
    common = repository.common_dir.resolve()
    return _folder_name(common.parent.name, common)


def of_removed_worktrees(repository: Repository, lanes: Path) -> list[Path]:
    """The folders of the lanes of removed worktrees in which no Ralphy works. Ralphy's state still lists these."""
    worktrees = repository.common_dir.resolve() / "worktrees"
    states = (repository.state_dir / "checkouts").glob("worktree-*")
    git_dirs = [worktrees / state.name.removeprefix("worktree-") for state in states if not holder(state / "lock")]
    digests = {_digest(git_dir) for git_dir in git_dirs if not os.path.lexists(git_dir)}
    names = (entry.name for entry in children(lanes.parent, lanes) if entry.is_folder)
    return [lanes / name for name in sorted(names) if name.rpartition("-")[2] in digests]


def _folder_name(name: str, git_dir: Path) -> str:
    return f"{re.sub(r'[^A-Za-z0-9._-]', '_', name)[:40]}-{_digest(git_dir)}"


def _digest(git_dir: Path) -> str:
    return hashlib.sha256(str(git_dir.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:10]


def as_in_the_checkout(text: str, repository: Repository) -> str:
    """A text in which paths below the checkout, or below the tree of one of its lanes, are relative to the root."""
    in_a_lane = rf"(?<!{_IN_A_PATH})/{_IN_A_PATH}*/{re.escape(checkout_folder(repository))}/[\w-]+/tree/"
    return re.sub(in_a_lane, "", text.replace(f"{repository.root}/", ""))
