"""SIGTERM, SIGHUP and Ctrl-C during a run are raised, and none is lost."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from ralphy.pipeline.events import Decided, Event, Listener


class Terminated(BaseException):
    """SIGTERM or SIGHUP as an exception: what is open is closed on the way out."""


Came = list[type[BaseException]]


@contextmanager
def signals(came: Came) -> Iterator[None]:
    """Raise Terminated on SIGTERM and SIGHUP during a run; a signal that `nohup` ignores stays ignored.

    Python drops what is raised in an object's `__del__`: `came` notes each signal, for `heeding` to raise it again.
    """

    def raise_it(number: int, _: FrameType | None) -> None:
        came.append(KeyboardInterrupt if number == signal.SIGINT else Terminated)
        raise came[-1]

    def unraisable(lost: sys.UnraisableHookArgs) -> None:
        if not issubclass(lost.exc_type, (KeyboardInterrupt, Terminated)):
            sys.__unraisablehook__(lost)

    heard = [number for number in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(number) is not signal.SIG_IGN]
    heard += [signal.SIGINT] if signal.getsignal(signal.SIGINT) is signal.default_int_handler else []
    before = {number: signal.signal(number, raise_it) for number in heard}
    sys.unraisablehook = unraisable
    try:
        yield
    finally:
        sys.unraisablehook = sys.__unraisablehook__
        for number, handler in before.items():
            signal.signal(number, handler)


def heeding(came: Came) -> Listener:
    """A listener that raises a lost signal again at the next decision."""

    def heed(event: Event) -> None:
        if came and isinstance(event, Decided):
            raise came.pop()

    return heed
