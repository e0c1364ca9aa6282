"""The folder for the documents of one run. It is opened before the run: the agent cannot replace the descriptor."""

from __future__ import annotations

import os
import weakref
from pathlib import Path

from ralphy.files.read import read_regular


class Outbox:
    """An outbox, to be opened while no agent is alive. A missing one, or a link, is empty."""

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
        """Make a new outbox, for a run that begins."""
        path.mkdir(exist_ok=True)
        return cls(path)

    def __str__(self) -> str:
        return str(self.path)

    def read(self, name: str, most: int) -> bytes | None:
        """The content of a file; None unless it is a regular file of at most `most` bytes."""
        return read_regular(Path(name), most, self._descriptor) if self._descriptor >= 0 else None
