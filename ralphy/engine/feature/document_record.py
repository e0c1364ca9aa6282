"""What Ralphy knows of the live documents in a checkout: which version it wrote last, and what the files looked like.

A small file in Ralphy's state folder, one per checkout and feature. A version that is about to be written is noted
before it is: after a kill nothing of Ralphy's is taken for a person's edit.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular

_TICK_NS = 20_000_000  # the clock of a file system: a change in the same tick would look like none
_MOST_VERSIONS = 8  # earlier versions of a document, for edits that began with one of them
Signature = tuple[int, ...]


@dataclass(slots=True)
class Record:
    """`tip` is the commit whose documents were laid out last, `head` what HEAD said then.

    `files` has the version (blob id) that Ralphy wrote last, and the signature of the file that is known to hold it;
    `also` are other versions that no person has to be asked about: those about to be written, and adopted edits;
    `earlier` are former versions, newest first. `left` are files that hold what the commit that is checked out has, as
    `files` has those that Ralphy wrote; `saved` is what the file at `path` holds.
    """

    path: Path
    tip: str = ""
    head: str = ""
    files: dict[str, tuple[str, Signature]] = field(default_factory=dict)
    also: dict[str, list[str]] = field(default_factory=dict)
    earlier: dict[str, list[str]] = field(default_factory=dict)
    left: dict[str, tuple[str, Signature]] = field(default_factory=dict)
    saved: bytes = b""

    def is_ours(self, name: str, ids: Iterable[str]) -> bool:
        """Is one of these the version that Ralphy wrote, or one that it has adopted?"""
        last, _ = self.files.get(name, ("", ()))
        return any(oid == last or oid in self.also.get(name, ()) for oid in ids)

    def note(self, name: str, oid: str, stat: Signature) -> None:
        """The file holds this version now."""
        last, _ = self.files.get(name, ("", ()))
        former = dict.fromkeys((last, *self.also.pop(name, ()), *self.earlier.get(name, ())))
        self.earlier[name] = [old for old in former if old and old != oid][:_MOST_VERSIONS]
        self.files[name] = (oid, stat)

    def accept(self, name: str, oid: str) -> None:
        """A version that is not an edit (any more)."""
        known = self.also.get(name, [])
        if oid not in known:
            self.also[name] = [oid, *known][:_MOST_VERSIONS]

    def versions(self, name: str) -> list[str]:
        """What a person's edit of a document can have begun with, the newest first."""
        last, _ = self.files.get(name, ("", ()))
        return [oid for oid in (last, *self.earlier.get(name, ())) if oid]

    def save(self) -> None:
        noted = {"tip": self.tip, "head": self.head, "files": self.files, "also": self.also, "earlier": self.earlier,
                 "left": self.left}  # fmt: skip
        data = orjson.dumps(noted)
        if data != self.saved:
            replace_file(self.path, data, durable=False)
            self.saved = data


def read_record(path: Path) -> Record:
    """The record at a path; an empty one if there is none, or it cannot be read."""
    data = read_regular(path) or b""
    try:
        noted = orjson.loads(data or b"{}")
        return Record(
            path,
            str(noted.get("tip", "")),
            str(noted.get("head", "")),
            _files(noted.get("files", {})),
            _lists(noted.get("also", {})),
            _lists(noted.get("earlier", {})),
            _files(noted.get("left", {})),
            data,
        )
    except (AttributeError, TypeError, ValueError):
        return Record(path)


def _files(noted: Any) -> dict[str, tuple[str, Signature]]:
    return {name: (str(oid), tuple(map(int, stat))) for name, (oid, stat) in noted.items()}


def _lists(noted: Any) -> dict[str, list[str]]:
    return {name: [str(oid) for oid in ids] for name, ids in noted.items()}


def blob_id(data: bytes, object_format: str) -> str:
    """The id that Git gives a file with these bytes."""
    kind = hashlib.sha256 if object_format == "sha256" else hashlib.sha1
    return kind(b"blob %d\0" % len(data) + data).hexdigest()


def is_old(signature: Signature) -> bool:
    """Whether a change from now on would show in the signature: not in the tick in which the file was written."""
    return bool(signature) and time.time_ns() - max(signature[3:]) > _TICK_NS
