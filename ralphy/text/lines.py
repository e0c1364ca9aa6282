"""A stream of bytes, cut into lines of bounded length."""

from __future__ import annotations

MAX_LINE = 16 << 20


class Lines:
    """Cuts a stream into lines; one over `max_line` bytes is dropped, memory stays flat.

    `lost` counts the bytes of such lines, while they come.
    """

    def __init__(self, max_line: int = MAX_LINE) -> None:
        self.max_line = max_line
        self.lost = 0
        self._pieces: list[bytes] = []
        self._held = 0
        self._too_long = False

    def feed(self, data: bytes) -> list[bytes]:
        """The lines that `data` completes, without their newlines."""
        first, *rest = data.split(b"\n")
        self._hold(first)
        if not rest:
            return []
        lines = [*self._release(), *rest[:-1]]
        self._hold(rest[-1])
        if len(data) <= self.max_line:
            return lines
        kept = [line for line in lines if len(line) <= self.max_line]
        self.lost += sum(map(len, lines)) - sum(map(len, kept))
        return kept

    def close(self) -> list[bytes]:
        """The last line, if it came without a newline."""
        return self._release() if self._held else []

    def _hold(self, piece: bytes) -> None:
        self._held += len(piece)
        if self._held > self.max_line:
            self.lost += len(piece) if self._too_long else self._held
            self._too_long = True
            self._pieces.clear()
        elif piece:
            self._pieces.append(piece)

    def _release(self) -> list[bytes]:
        line = b"".join(self._pieces)
        whole = [] if self._too_long else [line]
        self._pieces, self._held, self._too_long = [], 0, False
        return whole
