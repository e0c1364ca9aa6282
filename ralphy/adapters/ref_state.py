"""All refs of a repository, read from its files: no process, and what did not change is not read again."""

from __future__ import annotations

import os
import re
import stat
from dataclasses import dataclass, field
from pathlib import Path

from ralphy.adapters.files import read_regular, read_text, signature
from ralphy.adapters.git import Repository

_OID = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
Refs = dict[str, str]


def is_oid(value: str) -> bool:
    """Is it an object's id, and no name of another ref, no garbage?"""
    return _OID.fullmatch(value) is not None


@dataclass(slots=True)
class RefState:
    """Reads the refs of a repository again and again. A loose ref is known by its file's signature."""

    repository: Repository
    _packed: tuple[tuple[int, ...] | None, Refs] = (None, {})
    _loose: dict[str, tuple[tuple[int, ...], str]] = field(default_factory=dict)

    def read(self) -> Refs:
        """Name -> object id (or what else stands in the file): loose ones before packed ones."""
        if (self.repository.common_dir / "reftable").exists():
            rows = self.repository.text("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
            return {row.partition(" ")[0]: row.partition(" ")[2] for row in rows}
        loose: dict[str, tuple[tuple[int, ...], str]] = {}
        self._walk(f"{self.repository.common_dir}/refs", "refs", loose)
        self._loose = loose
        return {**self._read_packed(), **{name: text for name, (_, text) in loose.items()}}

    def _walk(self, folder: str, name: str, found: dict[str, tuple[tuple[int, ...], str]]) -> None:
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return
        for entry in entries:
            ref = f"{name}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                self._walk(entry.path, ref, found)
            elif not entry.name.endswith(".lock"):
                known = self._one(entry, self._loose.get(ref))
                if known:
                    found[ref] = known

    @staticmethod
    def _one(entry: os.DirEntry[str], known: tuple[tuple[int, ...], str] | None) -> tuple[tuple[int, ...], str] | None:
        try:
            at = entry.stat(follow_symlinks=False)
        except OSError:
            return None
        seen = (at.st_mode, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns)
        if known and known[0] == seen:
            return known
        return seen, read_text(Path(entry.path), 4096).strip() if stat.S_ISREG(at.st_mode) else ""

    def _read_packed(self) -> Refs:
        path = self.repository.common_dir / "packed-refs"
        now = signature(path)
        if now is None:
            return {}
        if now != self._packed[0]:
            rows = (read_regular(path) or b"").decode("utf-8", "surrogateescape").splitlines()
            parts = [row.partition(" ") for row in rows if row[:1] not in ("#", "^")]
            self._packed = (now, {name: oid for oid, _, name in parts if name})
        return self._packed[1]
