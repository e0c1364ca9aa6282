"""Folders for a while, outside of the checkout: a name says whose they are, so that a start sweeps those of the dead.

They lie where the system keeps what may go (TMPDIR), or in a folder that agents do not see. The end of a name is drawn
again each time: nobody can have put anything there before.
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
    """The same, removed at the end of the body; `below` is made if it is not there."""
    below.mkdir(parents=True, exist_ok=True)
    made = make(kind, owner, below)
    try:
        yield made
    finally:
        remove(made)


def sweep(owner: str, *below: Path) -> int:
    """Remove those that processes of this owner left when they died; gives how many."""
    found = (path for top in (Path(tempfile.gettempdir()), *below) for path in top.glob("ralphy-*"))
    left = [path for path in found if _is_left(path, _digest(owner))]
    for path in left:
        remove(path)
    return len(left)


def _is_left(path: Path, digest: str) -> bool:
    import psutil

    found = _NAME.fullmatch(path.name)
    if found is None or found["owner"] != digest or psutil.pid_exists(int(found["pid"])):
        return False
    return path.is_dir() and not path.is_symlink() and path.lstat().st_uid == os.getuid()


def _digest(owner: str) -> str:
    return hashlib.sha256(owner.encode("utf-8", "surrogateescape")).hexdigest()[:12]
