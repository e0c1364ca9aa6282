"""What was found of parts: a line for each tree without one, in a file of the state folder; a kill costs one."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

from ralphy.files.atomic import read_regular

_MOST_BYTES = 16 << 20  # as much as some 150,000 parts take; then it starts over
_LINE = re.compile(rb"^([0-9a-f:]+) ([01]) ([0-9.]+)\n", re.M)
_OPEN = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


@dataclass(frozen=True, slots=True)
class Answer:
    """Does a check turn red without the part, and how many seconds did it take to ask?"""

    is_missed: bool
    seconds: float


@dataclass(slots=True)
class Answers:
    """The answers by key, which names the tree and the checks; read when they are first asked for."""

    path: Path
    _known: dict[str, Answer] | None = field(default=None)

    def get(self, key: str) -> Answer | None:
        if self._known is None:
            data = read_regular(self.path, _MOST_BYTES) or b""
            self._known = {
                key.decode(): Answer(said == b"1", _seconds(took)) for key, said, took in _LINE.findall(data)
            }
        return self._known.get(key)

    def add(self, key: str, answer: Answer) -> None:
        """Keep an answer; a torn line of an earlier kill is closed first."""
        self.get(key)
        assert self._known is not None
        self._known[key] = answer
        line = f"{key} {int(answer.is_missed)} {answer.seconds:.2f}\n".encode()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, _OPEN, 0o600)
        try:
            if os.fstat(descriptor).st_size > _MOST_BYTES:
                os.ftruncate(descriptor, 0)
            os.write(descriptor, b"\n" + line)
        finally:
            os.close(descriptor)


def _seconds(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
