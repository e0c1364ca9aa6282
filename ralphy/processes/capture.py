"""Captures the output of a program, up to a limit."""

from __future__ import annotations

from ralphy.processes.command import Command, Exit
from ralphy.processes.supervision import ShouldStop, run_supervised

BETWEEN_BYTES = 64  # the line that says how much of an excerpt is missing


def capture(
    command: Command,
    limit_bytes: int = 1 << 20,
    *,
    should_stop: ShouldStop | None = None,
) -> tuple[Exit, bytes]:
    """Run a program; returns how it ended and its output, stdout and stderr in one, as an excerpt of `limit_bytes`."""
    excerpt = Excerpt(limit_bytes)
    return run_supervised(command, excerpt.add, should_stop=should_stop), excerpt.value()


class Excerpt:
    """The head and the tail of a long stream: keeps `limit` bytes, a quarter from the head, the rest from the tail.

    Memory stays within about twice the limit.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._head_room = limit // 4
        self._tail_room = max(limit - self._head_room - BETWEEN_BYTES, 0)
        self._total = 0
        self._head = b""
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        self._total += len(data)
        head = data[: self._head_room - len(self._head)]
        self._head += head
        self._tail += data[len(head) :]
        if len(self._tail) > 2 * self._limit:
            del self._tail[: -self._limit or None]

    def value(self) -> bytes:
        """All of it if it fits, else head and tail around a line that says how much is missing."""
        if self._total <= self._limit:
            return self._head + bytes(self._tail)
        tail = bytes(self._tail[-self._tail_room :]) if self._tail_room else b""
        missing = self._total - len(self._head) - len(tail)
        return self._head + b"\n[... %d bytes left out ...]\n" % missing + tail
