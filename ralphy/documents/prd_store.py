"""prd.json on the disk: read when it changed, written whole; Ralphy is its only writer."""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from pathlib import Path

from ralphy.documents.prd_reader import read_prd
from ralphy.files.atomic import replace_file, sync_folder
from ralphy.files.read import signature
from ralphy.pipeline.model import Prd
from ralphy.text.strict_json import dump


class PrdStore:
    """The file and the value that was last read from it or written to it."""

    def __init__(self, path: Path, shown_as: str, base_branches: Collection[str] = ()) -> None:
        self.path = path
        self._shown_as = shown_as
        self._base_branches = base_branches
        self._seen: tuple[int, ...] | None = None
        self._prd: Prd | None = Prd.of({"userStories": []})
        self._digest = ""

    def load(self) -> Prd:
        """The PRD as it is there now, without stories if there is no file.

        Raises InvalidInput (file, line, field) for anything that is not a valid prd.json.
        """
        seen = signature(self.path)
        prd = self._prd
        if seen is None:
            self._seen, prd, self._digest = None, Prd.of({"userStories": []}), ""
        elif prd is None or seen != self._seen:
            document, digest = read_prd(self.path, base_branches=self._base_branches, shown_as=self._shown_as)
            if prd is None or digest != self._digest:
                prd, self._digest = Prd.of(document), digest
            self._seen = seen
        self._prd = prd
        return prd

    def forget(self) -> None:
        """Let the value go until it is asked for again; that the file is known is not forgotten."""
        self._prd = None

    @property
    def exists(self) -> bool:
        return self._seen is not None

    @property
    def is_as_read(self) -> bool:
        """Is the file still the one that was last read or written here?"""
        return signature(self.path) == self._seen

    def save(self, prd: Prd) -> bytes:
        """Replace the file; gives the bytes that are there now."""
        data = dump(prd.raw)
        replace_file(self.path, data)
        sync_folder(self.path.parent)
        self._seen, self._prd, self._digest = signature(self.path), prd, hashlib.sha256(data).hexdigest()
        return data
