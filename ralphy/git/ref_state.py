"""All refs of a repository, read from its files: no process, and what did not change is not read again."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ralphy.files.atomic import is_odd, read_text, signature
from ralphy.git.commands import Repository
from ralphy.git.ref_files import is_packed_sound, ref_text

Refs = dict[str, str]


@dataclass(slots=True)
class RefState:
    """Reads the refs of a repository again and again. A loose ref is known by its file's signature.

    `found` is what was read last, `odd` what is neither file, link nor folder among them: git would wait for it."""

    repository: Repository
    _packed: tuple[tuple[int, ...] | None, Refs] = (None, {})
    _loose: dict[str, tuple[tuple[int, ...], str]] = field(default_factory=dict)
    found: Refs = field(default_factory=dict)
    odd: list[Path] = field(default_factory=list)
    _is_packed_sound: bool = True

    def read(self) -> Refs:
        """Name -> object id (or what else stands in the file): loose ones before packed ones."""
        if (self.repository.common_dir / "reftable").exists():
            rows = self.repository.text("for-each-ref", "--format=%(refname) %(objectname)").splitlines()
            self.found = {row.partition(" ")[0]: row.partition(" ")[2] for row in rows}
            return self.found
        loose: dict[str, tuple[tuple[int, ...], str]] = {}
        self.odd = []
        waiting = [(f"{self.repository.common_dir}/refs", "refs")]
        while waiting:
            waiting += self._look(*waiting.pop(), loose)
        self._loose = loose
        self.found = {**self._read_packed(), **{name: text for name, (_, text) in loose.items()}}
        return self.found

    def _look(self, folder: str, name: str, found: dict[str, tuple[tuple[int, ...], str]]) -> Iterator[tuple[str, str]]:
        """Take the refs of a folder into `found`; gives the folders in it, with their names."""
        try:
            entries = list(os.scandir(folder))
        except OSError:
            return
        for entry in entries:
            ref = f"{name}/{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                yield entry.path, ref
            elif not entry.name.endswith(".lock"):
                known = self._one(entry, self._loose.get(ref))
                if known:
                    found[ref] = known

    def _one(
        self, entry: os.DirEntry[str], known: tuple[tuple[int, ...], str] | None
    ) -> tuple[tuple[int, ...], str] | None:
        try:
            at = entry.stat(follow_symlinks=False)
        except OSError:
            return None
        if is_odd(at.st_mode):
            self.odd.append(Path(entry.path))
            return None
        seen = (at.st_mode, at.st_ino, at.st_size, at.st_mtime_ns, at.st_ctime_ns)
        if known and known[0] == seen:
            return known
        return seen, read_text(Path(entry.path), 4096).strip() if stat.S_ISREG(at.st_mode) else ""

    def unreadable(self) -> list[Path]:
        """What git would wait for, or fail over, as it was found last."""
        return [*self.odd, *([] if self._is_packed_sound else [self.repository.common_dir / "packed-refs"])]

    def _read_packed(self) -> Refs:
        path = self.repository.common_dir / "packed-refs"
        now = signature(path)
        if now is None:
            self._packed, self._is_packed_sound = (None, {}), True
        elif now != self._packed[0]:
            text = ref_text(path)
            rows = (text or "").splitlines()
            parts = [row.partition(" ") for row in rows if row[:1] not in ("#", "^")]
            self._packed = (now, {name: oid for oid, _, name in parts if name})
            self._is_packed_sound = is_packed_sound(text)
        return self._packed[1]
