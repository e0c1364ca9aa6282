"""The folder in which one run hands in its documents, known by its descriptor: whatever its name leads to by then."""

from __future__ import annotations

import os
import weakref
from pathlib import Path

from ralphy.files.read import read_regular


class Outbox:
    """An outbox that was opened while no agent was alive. One that is not there, or is a link, is empty."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            self._descriptor = -1
        else:
            weakref.finalize(self, os.close, self._descriptor)

    @classmethod
    def made(cls, path: Path) -> Outbox:
        """A new one, for a run that begins."""
        path.mkdir(exist_ok=True)
        return cls(path)

    def __str__(self) -> str:
        return str(self.path)

    def read(self, name: str, most: int) -> bytes | None:
        """A file that was handed in; None if it is not there, or is not a regular file of a sensible size."""
        return read_regular(Path(name), most, self._descriptor) if self._descriptor >= 0 else None
