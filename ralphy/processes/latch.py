"""What a held program waits at until it is released; it stays locked if the holder dies."""

from __future__ import annotations

import os


class Latch:
    """A pipe; `fd` is the end to wait at. It is open for writing too: its reader never sees an end, only the word."""

    def __init__(self) -> None:
        reader, self._writer = os.pipe()
        try:
            self.fd = os.open(f"/proc/self/fd/{reader}", os.O_RDWR | os.O_CLOEXEC)
        finally:
            os.close(reader)
        self.is_lifted = False

    def lift(self) -> None:
        """Let the program go."""
        self.is_lifted = True
        os.write(self._writer, b"\n")

    def close(self) -> None:
        os.close(self.fd)
        os.close(self._writer)
