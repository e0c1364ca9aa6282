"""How the agent dies: SIGINT ends it with a result, SIGTERM at once without one, as with the real CLI.

A thread reads the signals from a pipe that the interpreter's own C handler writes to. A Python handler in the
main thread would come too late when the signal arrives just before a system call that blocks; blocked signals
would be inherited by the commands that an act runs.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

TERMINATED = 143


class Vigil:
    """Watches over SIGINT and SIGTERM from `begin` on.

    `on_interrupt` says with which exit code SIGINT ends the process; None lets it go on. Before an act has
    begun this is 0 and no result line, as when the real CLI waits for the first bytes of an answer.
    """

    def __init__(self) -> None:
        self.ignored: set[int] = set()
        self.on_interrupt: Callable[[], int | None] = lambda: 0

    def begin(self) -> None:
        """Take over both signals, also where the caller's shell had switched SIGINT off."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _nothing)
        threading.Thread(target=self._watch, args=(reading,), daemon=True).start()

    def _watch(self, reading: int) -> None:
        while came := os.read(reading, 1):
            number = came[0]
            if number in self.ignored:
                continue
            if number == signal.SIGTERM:
                os._exit(TERMINATED)
            if number == signal.SIGINT and (code := self.on_interrupt()) is not None:
                os._exit(code)


def stay() -> NoReturn:
    """Wait for ever; only a signal ends it."""
    while True:
        signal.pause()


def die(name: str) -> NoReturn:
    """End this process by the signal of that name."""
    number = signal.Signals[name]
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    sys.exit(128 + number)


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """A handler that does nothing is not inherited by children, unlike SIG_IGN."""
