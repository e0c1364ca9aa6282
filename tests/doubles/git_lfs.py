"""A stand-in for the filters of Git LFS: pointers for files, their contents in `lfs/objects` of the Git folder.

filter.lfs.clean = python git_lfs.py clean
filter.lfs.smudge = python git_lfs.py smudge
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

HEAD = b"version https://git-lfs.github.com/spec/v1\n"


def stores() -> Iterator[Path]:
    """The store of this repository, then those beside the folders that it borrows objects from."""
    words = ("git", "rev-parse", "--path-format=absolute", "--git-common-dir")
    folder = Path(os.environ.get("GIT_DIR") or subprocess.run(words, capture_output=True, text=True).stdout.strip())
    yield folder / "lfs"
    borrowed = folder / "objects" / "info" / "alternates"
    yield from (Path(line).parent / "lfs" for line in (borrowed.read_text().split() if borrowed.exists() else ()))


def pointer(digest: str, size: int) -> bytes:
    return HEAD + f"oid sha256:{digest}\nsize {size}\n".encode()


def clean(data: bytes) -> bytes:
    if data.startswith(HEAD):
        return data
    digest = hashlib.sha256(data).hexdigest()
    at = next(stores()) / "objects" / digest[:2] / digest[2:4] / digest
    at.parent.mkdir(parents=True, exist_ok=True)
    at.write_bytes(data)
    return pointer(digest, len(data))


def smudge(data: bytes) -> bytes:
    if not data.startswith(HEAD):
        return data
    digest = data.split(b"sha256:")[1][:64].decode()
    places = [store / "objects" / digest[:2] / digest[2:4] / digest for store in stores()]
    found = [place.read_bytes() for place in places if place.exists()]
    if not found and os.environ.get("GIT_LFS_SKIP_DOWNLOAD_ERRORS") != "1":
        sys.exit(f"Error downloading object: {digest}")
    return found[0] if found else data


if __name__ == "__main__":
    sys.stdout.buffer.write({"clean": clean, "smudge": smudge}[sys.argv[1]](sys.stdin.buffer.read()))
