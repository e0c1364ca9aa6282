"""The journal as a chain: each line holds a number, the digest of the line before, and its own digest.

A line that was changed, taken out, put in or moved breaks it, and `verify` says where. What a chain cannot tell is that
its end was cut off, or that somebody made all of it again. Lines of before there was a chain are accepted at its start.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from ralphy.errors import EnvironmentProblem
from ralphy.files.file_lock import try_lock

START = "0" * 64
LINKAGE = ("seq", "prev", "hash")
_LINKED = re.compile(rb'(,"seq":(\d+),"prev":"([0-9a-f]{64})"),"hash":"([0-9a-f]{64})"\}$')
_TAIL = 64 * 1024
_TRIES = 400


@dataclass(frozen=True, slots=True)
class Link:
    """Where the chain stands: the number and the digest of its last line."""

    seq: int = 0
    hash: str = START


@dataclass(frozen=True, slots=True)
class Audit:
    """What was found: `links` lines of a chain, `before` older ones, `torn` halves of a crash; `broken` says where."""

    links: int
    before: int
    torn: int
    head: str
    line: int = 0
    broken: str = ""


def linked(entry: bytes, last: Link) -> bytes:
    """An entry (JSON, an object) as the chain's next line, without its line break."""
    body = entry[:-1] + b',"seq":%d,"prev":"%s"}' % (last.seq + 1, last.hash.encode())
    return body[:-1] + b',"hash":"%s"}' % hashlib.sha256(body).hexdigest().encode()


def last_link(descriptor: int) -> Link:
    """Where the chain in an open file stands: looked for from the file's end."""
    size = os.fstat(descriptor).st_size
    reach = _TAIL
    while True:
        start = max(0, size - reach)
        lines = os.pread(descriptor, size - start, start).split(b"\n")
        for line in reversed(lines if start == 0 else lines[1:]):
            if match := _LINKED.search(line):
                return Link(int(match[2]), match[4].decode())
        if start == 0:
            return Link()
        reach *= 16


def lock(descriptor: int, path: Path) -> None:
    """Hold the file for the moment of an append; closing it gives it back."""
    if not try_lock(descriptor, _TRIES):
        raise EnvironmentProblem("another process holds the journal", where=str(path), hint=f"fuser {path}")


def unlock(descriptor: int) -> None:
    """Give the file back before it is closed."""
    fcntl.flock(descriptor, fcntl.LOCK_UN)


def verify(data: bytes) -> Audit:
    """Follow the chain from its first line to its last."""
    link, links, before, torn = Link(), 0, 0, 0
    for number, line in enumerate(data.split(b"\n"), start=1):
        if not line:
            continue
        match = _LINKED.search(line)
        if not match:
            is_whole = line.endswith(b"}") and line.startswith(b"{")
            if links and is_whole:
                return Audit(links, before, torn, link.hash, number, "Ralphy did not write this line")
            torn, before = (torn, before + 1) if is_whole else (torn + 1, before)
            continue
        if why := _why_broken(line, match, link, is_first=not links):
            return Audit(links, before, torn, link.hash, number, why)
        link, links = Link(int(match[2]), match[4].decode()), links + 1
    return Audit(links, before, torn, link.hash)


def _why_broken(line: bytes, match: re.Match[bytes], last: Link, *, is_first: bool) -> str:
    body = line[: match.end(1)] + b"}"
    if hashlib.sha256(body).hexdigest().encode() != match[4]:
        return "this line was changed"
    if int(match[2]) != last.seq + 1 or match[3].decode() != last.hash:
        return "the start of the chain is missing" if is_first else "lines before this one were removed, added or moved"
    return ""
