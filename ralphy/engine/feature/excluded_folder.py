"""The line in `.git/info/exclude` that keeps a feature's folder out of `git status` where no branch tracks it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ralphy.documents.feature_folder import Feature
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular
from ralphy.git.commands import Repository

_SPECIAL = re.compile(rb"[\\*?\[]")  # what has a meaning in a pattern of ignored files


def exclude(repository: Repository, path: str) -> None:
    """Have Git ignore a path (a folder's ends with a slash) where the branch that is checked out does not track it.

    Git overwrites ignored files when the feature's branch is checked out or merged; tracked files are not affected.
    """
    file, line = exclude_file(repository), excluded_line(path)
    known = read_regular(file)
    if b"\n" in line or line in (known or b"").splitlines() or (known is None and os.path.lexists(file)):
        return
    end = b"\n" if known and not known.endswith(b"\n") else b""
    replace_file(file, (known or b"") + end + line + b"\n", durable=False)


def is_excluded(repository: Repository, feature: Feature) -> bool:
    """Is the line of the feature there?"""
    return excluded_line(f"{feature.path}/") in (read_regular(exclude_file(repository)) or b"").splitlines()


def unexclude(repository: Repository, feature: Feature) -> None:
    """Take the line away again, when the feature is merged and closed; every other line stays."""
    known = read_regular(exclude_file(repository)) or b""
    own = excluded_line(f"{feature.path}/")
    remaining = b"".join(line for line in known.splitlines(keepends=True) if line.rstrip(b"\n") != own)
    if remaining != known:
        replace_file(exclude_file(repository), remaining, durable=False)


def exclude_file(repository: Repository) -> Path:
    """Where Git reads what it ignores in this repository alone."""
    return repository.common_dir / "info" / "exclude"


def excluded_line(path: str) -> bytes:
    """The line that names a path."""
    return b"/" + _SPECIAL.sub(rb"\\\g<0>", os.fsencode(path))
