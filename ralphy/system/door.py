"""Clocks, files and file events: `here` is Linux's way or the portable one, chosen when this is imported."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Protocol

from ralphy.system import IS_PORTABLE


class InputFile(Protocol):
    """A file without a name that holds the input of a program. `path` opens it in this process, from its beginning."""

    @property
    def path(self) -> str: ...

    def open(self) -> int:
        """A descriptor that only reads."""

    def seal(self, data: bytes) -> None:
        """Give it its content, once."""

    def close(self) -> None: ...


class FolderEvents(Protocol):
    """`descriptor` becomes readable when a watched folder changes; -1 where nothing tells that."""

    @property
    def descriptor(self) -> int: ...

    def add(self, folder: Path) -> None:
        """Watch a folder from now on; a folder that cannot be watched is left to watchfiles."""

    def read(self) -> set[str]:
        """The paths that came, changed or went since the last call."""

    def close(self) -> None: ...


class Here(Protocol):
    """What this operating system has."""

    def steady(self) -> float:
        """Seconds on a clock that nobody sets and that goes on while the machine is suspended, where there is one."""

    def input_file(self, name: str) -> InputFile:
        """A new file without a name."""

    def folder_events(self) -> FolderEvents:
        """A watcher of single folders."""

    def begin_write(self, descriptor: int) -> None:
        """Have the disk begin with what was written, and do not wait for it."""

    def finish_write(self, descriptor: int) -> None:
        """Wait until the disk has what was written."""

    def copy_range(self, reader: int, writer: int, size: int) -> int:
        """Have the system copy at most so many bytes, sharing blocks where it can; OSError (ENOSYS) where it cannot."""

    def sync_data(self, descriptor: int) -> None:
        """Wait until the disk has the content of a file; its times may come later."""

    def make_accessible(self, parent: int, name: str) -> None:
        """Give a folder a mode in which its owner can read and empty it; no link is followed where that can be."""

    def widen_pipe(self, descriptor: int, size: int) -> None:
        """Give a pipe room for so many bytes, where that can be."""


def _chosen() -> Here:
    if sys.platform == "linux" and not IS_PORTABLE:
        from ralphy.system import linux

        return linux
    from ralphy.system import portable

    return portable


here: Here = _chosen()
