"""Temporary folders outside of the checkout. Their names hold the owner and the process, so that a start can sweep
those of dead processes.

They lie in TMPDIR, or in a folder that agents do not see. The end of a name is random: nobody can have put anything
there before.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ralphy.files.tree_walk import remove

_NAME = re.compile(r"ralphy-[a-z]+-(?P<owner>[0-9a-f]{12})-(?P<pid>\d{1,9})-[^/]+")


def make(kind: str, owner: str, below: Path | None = None) -> Path:
    """A new folder for this process alone; `owner` stands for the checkout that it works in."""
    return Path(tempfile.mkdtemp(prefix=f"ralphy-{kind}-{_digest(owner)}-{os.getpid()}-", dir=below))  # 0700


@contextmanager
def folder(kind: str, owner: str, below: Path) -> Iterator[Path]:
    """A new folder in `below`, removed at the end of the body."""
    below.mkdir(parents=True, exist_ok=True)
    made = make(kind, owner, below)
    try:
        yield made
    finally:
        remove(made)


def sweep(owner: str, *below: Path) -> int:
    """Remove the folders of this owner's dead processes, in TMPDIR and in `below`; returns how many."""
    folders = (path for top in (Path(tempfile.gettempdir()), *below) for path in top.glob("ralphy-*"))
    left = [path for path in folders if _is_left(path, _digest(owner))]
    for path in left:
        remove(path)
    return len(left)


def _is_left(path: Path, digest: str) -> bool:
    import psutil

    match = _NAME.fullmatch(path.name)
    if match is None or match["owner"] != digest or psutil.pid_exists(int(match["pid"])):
        return False
    return path.is_dir() and not path.is_symlink() and path.lstat().st_uid == os.getuid()


def _digest(owner: str) -> str:
    return hashlib.sha256(owner.encode("utf-8", "surrogateescape")).hexdigest()[:12]
