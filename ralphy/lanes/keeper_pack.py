"""Loose objects as a pack (gitformat-pack), without starting a Git for it.

Sent to the keeper as code, as that is.
"""

from __future__ import annotations

import hashlib
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_KINDS = {b"commit": 1, b"tree": 2, b"blob": 3, b"tag": 4}
_PIECE = 1 << 20


def pack_of(folder: str, oids: Sequence[str]) -> Iterator[bytes]:
    """The pack of these objects of a folder, in pieces."""
    digest = hashlib.new("sha1" if len(oids[0]) == 40 else "sha256")
    parts = [b"PACK\0\0\0\2" + len(oids).to_bytes(4, "big")]
    size = 0
    for oid in oids:
        parts.append(_packed(f"{folder}/{oid[:2]}/{oid[2:]}"))
        size += len(parts[-1])
        if size >= _PIECE or oid == oids[-1]:
            data = b"".join(parts)
            digest.update(data)
            yield data
            parts, size = [], 0
    yield digest.digest()


def _packed(path: str) -> bytes:
    with open(path, "rb") as file:  # noqa: PTH123
        head, _, data = zlib.decompress(file.read()).partition(b"\0")
    size = len(data)
    row = _KINDS[head.partition(b" ")[0]] << 4 | size & 15
    size >>= 4
    header = []
    while size:
        header.append(row | 128)
        row = size & 127
        size >>= 7
    return bytes([*header, row]) + zlib.compress(data, 1)
