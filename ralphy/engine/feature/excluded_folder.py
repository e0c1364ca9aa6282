"""The line in `.git/info/exclude` that keeps a feature's folder out of `git status` where no branch tracks it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ralphy.documents.feature_folder import Feature
from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.atomic import read_regular, replace_file
from ralphy.git.commands import Repository

_SPECIAL = re.compile(rb"[\\*?\[]")  # what has a meaning in a pattern of ignored files


def exclude(w: Workspace) -> None:
    """Have Git ignore the feature's folder where the branch that is checked out does not track it.

    Git overwrites ignored files when the feature's branch is checked out or merged; tracked files are not affected.
    """
    file, line = exclude_file(w.repository), excluded_line(w.feature)
    known = read_regular(file)
    if b"\n" in line or line in (known or b"").splitlines() or (known is None and os.path.lexists(file)):
        return
    end = b"\n" if known and not known.endswith(b"\n") else b""
    replace_file(file, (known or b"") + end + line + b"\n", durable=False)


def is_excluded(repository: Repository, feature: Feature) -> bool:
    """Is the line of the feature there?"""
    return excluded_line(feature) in (read_regular(exclude_file(repository)) or b"").splitlines()


def unexclude(repository: Repository, feature: Feature) -> None:
    """Take the line away again, when the feature is merged and closed; every other line stays."""
    known = read_regular(exclude_file(repository)) or b""
    kept = b"".join(line for line in known.splitlines(keepends=True) if line.rstrip(b"\n") != excluded_line(feature))
    if kept != known:
        replace_file(exclude_file(repository), kept, durable=False)


def exclude_file(repository: Repository) -> Path:
    """Where Git reads what it ignores in this repository alone."""
    return repository.common_dir / "info" / "exclude"


def excluded_line(feature: Feature) -> bytes:
    """The line that names the feature's folder."""
    return b"/" + _SPECIAL.sub(rb"\\\g<0>", os.fsencode(feature.path)) + b"/"
