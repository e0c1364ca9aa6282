"""Where the lanes lie: `lanes.dir`, by default below the user's cache."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ralphy.errors import EnvironmentProblem, InvalidInput
from ralphy.files.notes import read_note, write_note
from ralphy.files.tree_walk import children, remove
from ralphy.files.user_folders import cache_folder

if TYPE_CHECKING:
    from ralphy.config.values import Lanes
    from ralphy.git.commands import Repository


_NOTE = "checkout.json"
CACHES = "caches"


@dataclass(frozen=True, slots=True)
class Abandoned:
    """The lanes of a checkout that is gone; `why_kept` is why they stay nevertheless, "" if they can go."""

    folder: Path
    checkout: str
    git_dir: Path
    why_kept: str = ""


def lanes_folder(repository: Repository, lanes: Lanes, env: Mapping[str, str]) -> Path:
    """The folder of the lanes of all repositories; it need not be there yet.

    Raises InvalidInput for one in the checkout or in its Git folder, where the lanes would be part of what they hold.
    """
    folder = _named(lanes.dir, env).resolve()
    for place in (repository.root, repository.common_dir):
        if folder.is_relative_to(place.resolve()):
            hint = "set a folder outside it, or leave it empty: ~/.cache/ralphy/lanes"
            raise InvalidInput(f"lanes.dir: {folder} is in the repository", where=str(place), hint=hint)
    return folder


def _named(text: str, env: Mapping[str, str]) -> Path:
    cache, home = cache_folder(env), env.get("HOME", "")
    if text.startswith("/"):
        return Path(text)
    if not text and cache:
        return cache / "ralphy" / "lanes"
    if not home:
        raise EnvironmentProblem("no folder for lanes: HOME is not set", hint="set lanes.dir to a folder")
    return Path(home, text.removeprefix("~/"))


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose a folder below that of all lanes is: a checkout's, or a repository's, which all of its checkouts share."""

    root: Path
    git_dir: Path

    @property
    def folder_name(self) -> str:
        """Its name, and a hash of its Git folder: linked worktrees have lanes of their own, too."""
        digest = hashlib.sha256(str(self.git_dir.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:10]
        return f"{re.sub(r'[^A-Za-z0-9._-]', '_', self.root.name)[:40]}-{digest}"

    def note(self, folder: Path) -> None:
        """Note in the folder whose it is: nothing else tells that once the checkout is deleted."""
        root, git_dir = self.root.resolve(), self.git_dir.resolve()
        note = {"root": str(root), "git_dir": str(git_dir), "mount": str(_mount_of(root))}
        write_note(folder / _NOTE, note, durable=False)


def checkout_of(repository: Repository) -> Owner:
    """The owner of a checkout's lanes."""
    return Owner(repository.root, repository.git_dir)


def repository_of(repository: Repository) -> Owner:
    """The owner of what all checkouts of a repository share."""
    common = repository.common_dir.resolve()
    return Owner(common.parent, common)


def forget_owner(folder: Path) -> None:
    """Take the note away: no lane is left."""
    remove(folder / _NOTE, folder.parent)


def abandoned(lanes: Path) -> Iterator[Abandoned]:
    """The folders below `lanes` whose checkout is not where it was, by name."""
    for found in sorted(children(lanes.parent, lanes), key=lambda found: found.name):
        note = read_note(lanes / found.name / _NOTE, 1 << 16) if found.is_folder else {}
        root, git_dir, mount = (Path(str(note.get(name) or "")) for name in ("root", "git_dir", "mount"))
        is_true = root.is_absolute() and git_dir.is_absolute() and found.name == Owner(root, git_dir).folder_name
        if is_true and not os.path.lexists(root) and not os.path.lexists(git_dir):
            why = "" if mount.is_mount() else f"{mount} is not mounted"
            yield Abandoned(lanes / found.name, str(root), git_dir, why)


def _mount_of(path: Path) -> Path:
    return next(at for at in (path, *path.parents) if at.is_mount())


def of_removed_worktrees(repository: Repository, lanes: Path) -> dict[str, Path]:
    """Name -> folder of the lanes of linked worktrees that were removed."""
    worktrees = repository.common_dir.resolve() / "worktrees"
    return {one.git_dir.name: one.folder for one in abandoned(lanes)
            if one.git_dir.parent == worktrees and not one.why_kept}  # fmt: skip


def as_in_the_checkout(text: str, repository: Repository) -> str:
    """A text with paths below the checkout, or below the tree of one of its lanes, as they are in the repository."""
    in_a_lane = rf"(?:/[^\s/]+)+/{re.escape(checkout_of(repository).folder_name)}/[\w-]+/tree/"
    return re.sub(in_a_lane, "", text.replace(f"{repository.root}/", ""))
