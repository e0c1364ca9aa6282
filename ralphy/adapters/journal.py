"""The journal: one JSON object a line, appended, never changed; all counters are folds over it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from ralphy.core.errors import EnvironmentProblem
from ralphy.core.history import History


class Journal:
    """journal.jsonl of a project. Many processes may append; lines are short and written in one call."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0

    def append(self, entry: Mapping[str, Any], *, durable: bool = True) -> None:
        """Add a line; when `durable`, it (and all before it) is on the disk when this returns.

        A torn last line of a crash is closed first.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, self._mend(descriptor) + orjson.dumps(entry) + b"\n")
                if durable:
                    os.fdatasync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise EnvironmentProblem(
                f"the journal cannot be written: {error.strerror}", where=str(self._path)
            ) from error

    @staticmethod
    def _mend(descriptor: int) -> bytes:
        size = os.fstat(descriptor).st_size
        return b"" if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n" else b"\n"

    def catch_up(self, history: History) -> None:
        """Fold in what was appended since the last call, by whomever."""
        for entry in self._new_lines():
            history.add(entry)

    def _new_lines(self) -> Iterator[Mapping[str, Any]]:
        try:
            if self._path.stat().st_size == self._read:
                return
            with self._path.open("rb") as source:
                source.seek(self._read)
                data = source.read()
        except FileNotFoundError:
            return
        end = data.rfind(b"\n") + 1
        self._read += end
        for line in data[:end].splitlines():
            try:
                entry = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue
            if isinstance(entry, dict):
                yield entry
