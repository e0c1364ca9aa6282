"""What Git ignores of a feature's folder: all of it where no branch tracks it, and files by other rules.

A line in `.git/info/exclude` keeps the folder out of `git status`; it is Ralphy's own, and for `git status` alone.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from tempfile import NamedTemporaryFile

from ralphy.documents.feature_folder import Feature
from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular
from ralphy.files.tree_walk import walk
from ralphy.git.commands import Repository

_SPECIAL = re.compile(rb"[\\*?\[]")  # what has a meaning in a pattern of ignored files


def exclude(repository: Repository, path: str) -> None:
    """Have Git ignore a path (a folder's ends with a slash) where the branch that is checked out does not track it.

    Git overwrites ignored files when the feature's branch is checked out or merged; tracked files are not affected.
    """
    file, line = _exclude_file(repository), _excluded_line(path)
    known = read_regular(file)
    if b"\n" in line or line in (known or b"").splitlines() or (known is None and os.path.lexists(file)):
        return
    end = b"\n" if known and not known.endswith(b"\n") else b""
    replace_file(file, (known or b"") + end + line + b"\n", durable=False)


def is_excluded(repository: Repository, feature: Feature) -> bool:
    """Is the line of the feature there?"""
    return _excluded_line(f"{feature.path}/") in (read_regular(_exclude_file(repository)) or b"").splitlines()


def unexclude(repository: Repository, feature: Feature) -> None:
    """Take the line away again, when the feature is merged and closed; every other line stays."""
    known = read_regular(_exclude_file(repository)) or b""
    own = _excluded_line(f"{feature.path}/")
    remaining = b"".join(line for line in known.splitlines(keepends=True) if line.rstrip(b"\n") != own)
    if remaining != known:
        replace_file(_exclude_file(repository), remaining, durable=False)


def files_not_ignored(w: Workspace) -> set[str]:
    """The files of the folder that no .gitignore names; Ralphy's own line in info/exclude does not count."""
    lines = (read_regular(_exclude_file(w.repository)) or b"").splitlines()
    with NamedTemporaryFile(prefix="ralphy-exclude-") as written:  # in the repository nothing is written for a look
        written.write(b"\n".join([line for line in lines if line != _excluded_line(f"{w.feature.path}/")] + [b""]))
        written.flush()
        rules = [] if _has_pipe(w) else ["--exclude-per-directory=.gitignore"]
        rules.append(f"--exclude-from={written.name}")
        rules += [f"--exclude-from={w.checkout.ignore_file}"] if w.checkout.ignore_file else []
        nothing = w.repository.checkout_dir / "index-of-nothing"  # what the person's index tracks is new here, too
        where = f":(top,literal){w.feature.path}"
        rows = w.repository.run("ls-files", "--others", "-z", *rules, "--", where, index=nothing)
    prefix = f"{w.feature.path}/"
    return {path.removeprefix(prefix) for path in os.fsdecode(rows).split("\0") if path.startswith(prefix)}


def _has_pipe(w: Workspace) -> bool:
    """Is a .gitignore on the way to the folder, or in it, a pipe or a device? Git would wait for it forever."""
    folders = [w.feature.folder, *w.feature.folder.parents]
    above = [folder / ".gitignore" for folder in folders[: folders.index(w.repository.root) + 1]]
    below = [w.feature.folder / one.path for one in walk(w.feature.folder) if one.name == ".gitignore"]
    return any(path.is_fifo() or path.is_char_device() for path in (*above, *below))


def _exclude_file(repository: Repository) -> Path:
    """Where Git reads what it ignores in this repository alone."""
    return repository.common_dir / "info" / "exclude"


def _excluded_line(path: str) -> bytes:
    """The line that names a path."""
    return b"/" + _SPECIAL.sub(rb"\\\g<0>", os.fsencode(path))
