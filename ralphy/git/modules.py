"""What steers Git in submodules and linked worktrees: the `.git` of each submodule, and what lies in `.git/modules`.

Ralphy's own Git never looks into a submodule. A person's `git status` does, and runs what is configured there: so
these files are remembered before a run and put back after it, like those of the repository itself.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from ralphy.files.atomic import read_text
from ralphy.git.commands import Repository
from ralphy.git.config_text import settings
from ralphy.git.ref_files import SYMBOLIC, followed, ref_text
from ralphy.git.steering_files import hooks_in

_OF_A_MODULE = ("config", "config.worktree", "commondir", "info/attributes", "info/grafts", "info/sparse-checkout",
                "objects/info/alternates", "hooks")  # fmt: skip
_OF_A_WORKTREE = ("commondir", "gitdir", "config.worktree")
_MOST_FOLDERS = 500
_GITLINK = re.compile(rb"(?:\A|\0)160000 ([0-9a-f]+) 0\t([^\0]*)")


def steering_paths(repository: Repository, modules: Iterable[str]) -> tuple[list[str], list[str]]:
    """(paths to remember, folders to which nothing may be added); `modules` are the paths of the gitlinks."""
    root, places = repository.root, [repository.root / module for module in modules]
    bases = list(dict.fromkeys(at / "modules" for at in (repository.git_dir, repository.common_dir)))
    paths = list(map(str, bases)) if places else []
    for place in places:
        above = [folder for folder in reversed(place.parents) if folder != root and folder.is_relative_to(root)]
        paths += map(str, (*above, place, place / ".git"))
    inner = [place / ".git" for place in places if (place / ".git").is_dir() and not place.is_symlink()]
    folders = list(islice((at for start in (*bases, *inner) for at in _containers(start)), _MOST_FOLDERS))
    for at in folders:
        paths.append(str(at))
        if (at / "HEAD").exists():
            paths += [*(f"{at}/{name}" for name in _OF_A_MODULE), *hooks_in(f"{at}/hooks")]
    paths += map(str, _places_of_modules(root, folders))
    worktrees = _folders_in(repository.common_dir / "worktrees")
    paths += (f"{at}/{name}" for at in worktrees for name in _OF_A_WORKTREE)
    paths += (str(dot_git) for at in worktrees if (dot_git := _inside(root, at, read_text(at / "gitdir", 4096))))
    closed = [str(at) for at in folders if not (at / "HEAD").exists()]
    return list(dict.fromkeys(paths)), [*closed, *(f"{at}/hooks" for at in folders if (at / "HEAD").exists())]


def _places_of_modules(root: Path, folders: Iterable[Path]) -> Iterator[Path]:
    """Where submodules at whatever depth are checked out, as their own configuration says, each with its `.git`."""
    for at in folders:
        named = [value for name, value in settings(read_text(at / "config", 65536)) if name == "core.worktree"]
        if named and (place := _inside(root, at, named[-1].partition("]")[2])):
            yield from (*(above for above in reversed(place.parents) if root in above.parents), place, place / ".git")


def _inside(root: Path, base: Path, named: str) -> Path | None:
    """A path that a file in `base` names, if it lies in the checkout; no link is followed."""
    place = Path(os.path.normpath(base / named.strip().strip('"')))
    return place if named.strip() and root in place.parents else None


def gitlinks(repository: Repository, index: Path) -> dict[str, str]:
    """Path -> recorded commit of every submodule in an index."""
    out = repository.run("ls-files", "--stage", "-z", index=index)
    return {os.fsdecode(path): oid.decode() for oid, path in _GITLINK.findall(out)}


def head_of_module(folder: Path) -> str:
    """The commit that a submodule stands on, read from its files; "" if there is none."""
    dot_git = folder / ".git"
    text = read_text(dot_git, 4096) if dot_git.is_file() and not folder.is_symlink() else ""
    git_dir = (folder / text.removeprefix("gitdir:").strip()) if text else dot_git
    head = ref_text(git_dir / "HEAD") or ""
    return followed(git_dir, head.removeprefix(SYMBOLIC)) if head.startswith(SYMBOLIC) else head


def _containers(folder: Path) -> Iterator[Path]:
    """A folder, and those in it that hold, or are, the Git folder of a submodule, at whatever depth."""
    if folder.is_symlink() or not folder.is_dir():
        return
    waiting = [folder]
    while waiting:
        at = waiting.pop()
        yield at
        waiting += _folders_in(at / "modules") if (at / "HEAD").exists() else _folders_in(at)


def _folders_in(folder: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
