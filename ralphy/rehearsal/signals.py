"""Signals as the real CLI handles them: SIGINT interrupts the work, SIGTERM ends the process at once."""

from __future__ import annotations

import math
import os
import signal
import time
from typing import NoReturn

TERMINATED = 143
STEP_S = 0.05


class Interrupted(Exception):
    """SIGINT came."""


class SignalHandler:
    """Notes SIGINT, so that the work can stop between two lines of its output; exits on SIGTERM."""

    def __init__(self) -> None:
        self._is_interrupted = False

    def install(self) -> None:
        """Handle both signals, even if the caller's shell ignores SIGINT."""
        signal.signal(signal.SIGINT, lambda *_: self._interrupt())
        signal.signal(signal.SIGTERM, lambda *_: os._exit(TERMINATED))

    def ignore(self, number: int) -> None:
        """Ignore this signal, by a handler: commands would inherit SIG_IGN."""
        signal.signal(number, lambda *_: None)

    def die(self, name: str) -> NoReturn:
        """End this process by the signal of that name."""
        number = signal.Signals[name]
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        os._exit(128 + number)

    def check(self) -> None:
        """Raise Interrupted when SIGINT has come."""
        if self._is_interrupted:
            raise Interrupted

    def wait(self, seconds: float) -> None:
        """Sleep, unless SIGINT comes."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            self.check()
            time.sleep(min(left, STEP_S))

    def wait_forever(self) -> None:
        """Only a signal ends this."""
        self.wait(math.inf)

    def _interrupt(self) -> None:
        self._is_interrupted = True
