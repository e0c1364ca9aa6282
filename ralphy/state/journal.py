"""The journal: one JSON object a line, appended, never changed, chained; all counters are folds over it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from ralphy.errors import EnvironmentProblem
from ralphy.files.disk_space import refusal
from ralphy.files.read import open_regular, read_tail
from ralphy.pipeline.history import History
from ralphy.secrets.known_values import Values, clear_json, without_values
from ralphy.state.chain import LINKAGE, last_link, linked, lock, unlock

_MOST_TORN = 1 << 20


class Journal:
    """journal.jsonl of a project. Many processes may append; lines are short and written in one call."""

    def __init__(self, path: Path, secrets: Values = ()) -> None:
        self._path = path
        self._secrets = secrets
        self._read = 0
        self._inode = 0

    def append(self, entry: Mapping[str, Any], *, durable: bool = True) -> None:
        """Add a line; when `durable`, it (and all before it) is on the disk when this returns.

        A torn last line of a crash is closed first.
        """
        clean = clear_json(_dumped(entry), lambda text: without_values(text, self._secrets))
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            try:
                lock(descriptor, self._path)
                line = _end_of_torn_line(descriptor) + linked(clean, last_link(descriptor)) + b"\n"
                while line := line[os.write(descriptor, line) :]:
                    pass  # the disk is all but full: the next call says so
                unlock(descriptor)  # others need not wait for the disk
                if durable:
                    os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise refusal(error, "the journal cannot be written", str(self._path)) from error

    def close_torn_line(self) -> int:
        """Close a last line that a crash or a lost disk has torn; gives how many bytes of it there are."""
        if read_tail(self._path, 1) in (b"", b"\n"):
            return 0
        data = read_tail(self._path, _MOST_TORN)
        torn = len(data) - (data.rfind(b"\n") + 1)
        self.append({"ev": "mended", "bytes": torn}, durable=False)
        return torn

    def catch_up(self, history: History) -> None:
        """Fold in what any process has appended since the last call."""
        for entry in self.entries():
            history.add(entry)

    def entries(self) -> Iterator[Mapping[str, Any]]:
        """The lines that any process has appended since the last call."""
        data = self._new_bytes()
        end = data.rfind(b"\n") + 1
        self._read += end
        for line in data[:end].split(b"\n"):
            if line[:1] != b"{" or line[-1:] != b"}":  # `ralphy audit` takes nothing else for a line either
                continue
            try:
                entry = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue
            if isinstance(entry, dict):
                yield {name: value for name, value in entry.items() if name not in LINKAGE}

    def _new_bytes(self) -> bytes:
        """What stands behind the last line read; from the beginning if the file was taken away or cut."""
        try:
            with open_regular(self._path) as source:
                status = os.fstat(source.fileno())
                if status.st_ino != self._inode or status.st_size < self._read:
                    self._inode, self._read = status.st_ino, 0
                source.seek(self._read)
                return source.read()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise self._unreadable(str(error.strerror)) from error

    def _unreadable(self, why: str) -> EnvironmentProblem:
        return EnvironmentProblem(f"the journal cannot be read: {why}", where=str(self._path))


def _end_of_torn_line(descriptor: int) -> bytes:
    """The line break that the last line lacks, if a crash has torn it."""
    size = os.fstat(descriptor).st_size
    return b"" if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n" else b"\n"


def _dumped(entry: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(entry)
    except TypeError:  # a file's name that is not UTF-8
        text = json.dumps(entry, ensure_ascii=False, default=str).encode("utf-8", "replace")
        return orjson.dumps(orjson.loads(text))
