"""Splits a stream of bytes into lines of bounded length."""

from __future__ import annotations

MAX_LINE = 16 << 20


class LineSplitter:
    """Drops a line of more than `max_line` bytes, so that memory stays flat; `lost` counts the bytes of such lines."""

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self.max_line = max_line
        self.lost = 0
        self._begun = bytearray()
        self._is_too_long = False

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their newlines."""
        first, *others = data.split(b"\n")
        self._add(first)
        lines = []
        for piece in others:
            lines += self._end()
            self._add(piece)
        return lines

    def close(self) -> list[bytes]:
        """The last line, if it came without a newline."""
        return self._end() if self._begun else []

    def _add(self, piece: bytes) -> None:
        self._begun += piece
        if self._is_too_long or len(self._begun) > self.max_line:
            self._is_too_long = True
            self.lost += len(self._begun)
            self._begun.clear()

    def _end(self) -> list[bytes]:
        lines = [] if self._is_too_long else [bytes(self._begun)]
        self._begun.clear()
        self._is_too_long = False
        return lines
