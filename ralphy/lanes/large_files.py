"""Git LFS: the content of a large file that an agent wrote goes where the person's Git LFS keeps such files.

Git has the pointer alone. The lane's copy is trusted by nobody: what is kept has the digest that the pointer names.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular

FILTER = "filter.lfs.clean"
_MOST_POINTER = 1024
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\nsize (\d{1,15})\n?"
)


def pointer_of(data: bytes) -> tuple[str, int] | None:
    """(digest, bytes) of the content that a pointer stands for; None for any other file."""
    found = _POINTER.fullmatch(data) if len(data) <= _MOST_POINTER else None
    return (found[1].decode(), int(found[2])) if found else None


def keep_content(store: Path, lane_store: Path, digest: str, size: int) -> bool:
    """Have a content in the person's store, out of the lane's if it is new; False if neither has it."""
    place = Path("objects", digest[:2], digest[2:4], digest)
    if (store / place).is_file():
        return True
    data = read_regular(lane_store / place, size)
    if data is None or len(data) != size or hashlib.sha256(data).hexdigest() != digest:
        return False
    replace_file(store / place, data)
    return True
