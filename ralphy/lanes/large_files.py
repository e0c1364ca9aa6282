"""Git LFS: the content of a large file that an agent wrote goes to where the person's Git LFS keeps such files.

Git holds only the pointer. The lane's copy is not trusted: it must have the digest that the pointer names.
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
    match = _POINTER.fullmatch(data) if len(data) <= _MOST_POINTER else None
    return (match[1].decode(), int(match[2])) if match else None


def save_content(store: Path, lane_store: Path, digest: str, size: int) -> bool:
    """Copy a content from the lane's store to the person's, if it is not there; False if neither has it."""
    place = Path("objects", digest[:2], digest[2:4], digest)
    if (store / place).is_file():
        return True
    data = read_regular(lane_store / place, size)
    if data is None or len(data) != size or hashlib.sha256(data).hexdigest() != digest:
        return False
    replace_file(store / place, data)
    return True
