"""The crew: agents that work on stories side by side, each in a lane of its own.

One thread is in the engine: the one that decides. A flight is a run in the steps that the engine takes for it; where it
comes to its agent, a thread of its own sits with that, and what it hears goes through the inbox. So nothing in the
engine needs a lock, and stories are judged and landed one by one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Self

from ralphy.agents.protocol import AgentResult
from ralphy.engine.folder_signature import signature_of
from ralphy.engine.runs.running import Flight, Go
from ralphy.engine.workspace.waiting import seconds_left
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.decision import Rest

_LOOK_S = 0.25  # how often the feature's folder is looked at while agents work
_FAREWELL_S = 20.0  # more than what the ladder of signals takes


class Ended(BaseException):
    """The agent is to be ended, because Ralphy ends."""


@dataclass(slots=True)
class _Seat:
    """A flight, and the thread that sits with its agent."""

    flight: Flight
    thread: threading.Thread
    result: AgentResult | None = None
    error: BaseException | None = field(default=None)


class Crew:
    """The flights of one workspace. `begin` starts one, `wait` is where their ends are heard, and leaving ends all."""

    def __init__(self, w: Workspace) -> None:
        self._w = w
        self._inbox: SimpleQueue[Callable[[], None] | _Seat] = SimpleQueue()
        self._seats: list[_Seat] = []
        self._over = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.end()

    def __len__(self) -> int:
        return len(self._seats)

    def begin(self, flight: Flight) -> None:
        """Take the flight to its agent, and have a thread sit with that."""
        w, over = self._w, self._over
        before = w.post, w.should_end
        w.post, w.should_end = self._inbox.put, lambda: _end_if(over)
        try:
            go = next(flight)
        finally:
            w.post, w.should_end = before
        inbox = self._inbox
        seat = _Seat(flight, threading.Thread(target=lambda: inbox.put(_sat(seat, go)), daemon=True))
        self._seats.append(seat)
        seat.thread.start()

    def wait(self, rest: Rest, before: int) -> None:
        """Until a run is settled, the folder is not as it was `before`, or the time of the rest has come."""
        until = getattr(rest, "until", None)
        while self._seats:
            try:
                came = self._inbox.get(timeout=_LOOK_S)
            except Empty:
                if signature_of(self._w.repository, self._w.feature) != before:
                    return
                if until is not None and seconds_left(self._w, until) <= 0:
                    self._w.session = replace(self._w.session, waited=until)  # whatever the clock says of it
                    return
                continue
            if isinstance(came, _Seat):
                self._settle(came)
                return
            came()

    def end(self) -> None:
        """End all agents, and wait for that; another interrupt meanwhile leaves them no time for a farewell."""
        self._over.set()
        try:
            for seat in self._seats:
                seat.thread.join(_FAREWELL_S)
        except BaseException:  # the first one is passed on
            self._w.checkout.kill_supervisors()
        self._seats.clear()
        self._inbox, self._over = SimpleQueue(), threading.Event()

    def _settle(self, seat: _Seat) -> None:
        """The rest of a flight, once its agent has ended."""
        seat.thread.join()
        self._seats.remove(seat)
        if seat.error:
            raise seat.error
        assert seat.result
        with suppress(StopIteration):
            seat.flight.send(seat.result)


def _sat(seat: _Seat, go: Go) -> _Seat:
    """In the thread: run the agent to its end. A run that ends with an error is cleared up here, beside the others."""
    try:
        seat.result = go()
    except BaseException as error:
        try:
            seat.flight.throw(error)
        except BaseException as final:
            seat.error = final
    return seat


def _end_if(over: threading.Event) -> None:
    if over.is_set():
        raise Ended
