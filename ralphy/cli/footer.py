"""Lines that stay at the bottom of a terminal, below what scrolls."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import RLock
from typing import TextIO

Row = Sequence[tuple[str, str]]  # a line of texts, each with its tone

# To the end of the screen. tmux keeps all that is cleared from the first column of the first row on.
_CLEAR = " \x1b[J\r\x1b[K"


@dataclass(slots=True)
class Footer:
    """Lines that are drawn again below each text that is written; as long as there are none, texts are just written.

    What stands there is erased first, which takes the lines that it has on a terminal of the present size. A process in
    the background draws nothing: the terminal is somebody else's.
    """

    _lines: list[tuple[str, int]] = field(default_factory=list)  # (the line in its colours, its columns)
    _typed: int = 0
    _lock: RLock = field(default_factory=RLock)

    def write(self, stream: TextIO, text: str) -> None:
        """Write a text above the lines."""
        with self._lock:
            put(stream, f"{self._erased(stream)}{text}{self._drawn()}")

    def show(self, stream: TextIO, lines: Sequence[tuple[str, int]]) -> None:
        """Have these lines stand there, or none; nothing is written if they do already."""
        with self._lock:
            if [*lines] == self._lines:
                return
            erased = self._erased(stream)
            self._lines = [*lines] if is_in_front(stream) else []
            put(stream, erased + self._drawn())

    def typed(self) -> None:
        """A line was typed behind the last one: the cursor stands one further down."""
        with self._lock:
            self._typed += 1

    def _drawn(self) -> str:
        self._typed = 0
        return "\n".join(line for line, _ in self._lines)

    def _erased(self, stream: TextIO) -> str:
        """To the beginning of the lines, wherever the terminal has broken them, and everything away from there on."""
        if self._lines and not is_in_front(stream):
            self._lines = []
        if not self._lines:
            return ""
        columns, _ = size_of(stream)
        up = sum(max(1, -(-width // columns)) for _, width in self._lines) - 1 + self._typed
        return (f"\r\x1b[{up}A" if up > 0 else "\r") + _CLEAR


def size_of(stream: TextIO) -> tuple[int, int]:
    """Columns and lines of the terminal that the stream is; the usual ones where it does not say."""
    try:
        found = os.get_terminal_size(stream.fileno())
    except OSError:
        return 80, 24
    return found.columns or 80, found.lines or 24


def is_in_front(stream: TextIO) -> bool:
    """Does the stream's terminal belong to this process's group, as far as that can be told?"""
    try:
        return os.tcgetpgrp(stream.fileno()) in (0, os.getpgrp())
    except OSError:
        return True


def put(stream: TextIO, text: str) -> None:
    """Write; when nobody reads it any more (the terminal is closed), the work goes on all the same."""
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
