"""prd.json on the disk: read when it has changed, written whole. Ralphy and its person write it."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from ralphy.documents.prd_reader import read_prd
from ralphy.files.atomic import replace_file, sync_folder
from ralphy.files.read import signature
from ralphy.pipeline.model import Prd
from ralphy.text.strict_json import dump


class PrdStore:
    """The file, and the PRD that was last read from it or written to it; `where` is how errors name the file."""

    def __init__(self, path: Path, where: str, base_branches: Collection[str] = ()) -> None:
        self.path = path
        self._where = where
        self._base_branches = base_branches
        self._signature: tuple[int, ...] | None = None
        self._prd: Prd | None = None

    def load(self) -> Prd:
        """The PRD as it is there now, without stories if there is no file.

        Raises InvalidInput (file, line, field) for anything that is not a valid prd.json.
        """
        now = signature(self.path)
        if now is None:
            self._prd = Prd.of({"userStories": []})
        elif self._prd is None or now != self._signature:
            self._prd = Prd.of(read_prd(self.path, base_branches=self._base_branches, where=self._where))
        self._signature = now
        return self._prd

    def forget(self) -> None:
        """Release the value; the next `load` reads the file again."""
        self._prd = None

    @property
    def exists(self) -> bool:
        return self._signature is not None

    @property
    def is_as_read(self) -> bool:
        """Is the file still the one that was last read or written here?"""
        return signature(self.path) == self._signature

    def save(self, prd: Prd) -> bytes:
        """Replace the file; gives the bytes that are there now."""
        data = dump(prd.raw)
        replace_file(self.path, data)
        sync_folder(self.path.parent)
        self._signature, self._prd = signature(self.path), prd
        return data
