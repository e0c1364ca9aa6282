"""The crew: agents that work on stories side by side, each in a lane of its own.

One thread is in the engine: the one that decides. A flight is a run in the steps that the engine takes for it; where it
comes to its agent, a thread of its own sits with that, and what it hears goes through the inbox. So nothing in the
engine needs a lock, and stories are judged and landed one by one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Self

from ralphy.agents.protocol import AgentResult, Outcome
from ralphy.engine.runs.running import Flight, Go
from ralphy.engine.wakeups import signature_of
from ralphy.engine.workspace.waiting import seconds_left
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.decision import Rest

_LOOK_S = 1.0  # how often the feature's folder is looked at
_FAREWELL_S = 20.0  # more than what the ladder of signals takes


class Ended(BaseException):
    """The agent is to be ended, because Ralphy ends."""


@dataclass(slots=True)
class _Seat:
    """A flight, and the thread that sits with its agent."""

    flight: Flight
    run: str
    thread: threading.Thread
    result: AgentResult | None = None
    error: BaseException | None = field(default=None)

    @property
    def can_wait(self) -> bool:
        """Is only its work left to be judged? What an agent tells of a limit or a trouble is heard at once."""
        if self.result is None or self.result.outcome is not Outcome.SUCCEEDED:
            return False
        limit = self.result.limit
        return limit is None or not (limit.status != "allowed" or any(w.is_worth_a_warning for w in limit.windows))


_Inbox = SimpleQueue[Callable[[], None] | _Seat]


def _taken(inbox: _Inbox, wait_s: float) -> Callable[[], None] | _Seat | None:
    """The next thing in the inbox, awaited for so many seconds; None if nothing came."""
    with suppress(Empty):
        return inbox.get(timeout=wait_s)
    return None


class Crew:
    """The flights of one workspace. `begin` starts one, `wait` is where their ends are heard, and leaving ends all."""

    def __init__(self, w: Workspace) -> None:
        self._w = w
        self._inbox = _Inbox()  # what the threads of agents have to say
        self._seats: list[_Seat] = []
        self._ended: list[_Seat] = []  # whose work is to be judged
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
        run = w.session.in_work[-1].run
        seat = _Seat(flight, run, threading.Thread(target=lambda: inbox.put(_sat(seat, go)), daemon=True))
        self._seats.append(seat)
        seat.thread.start()

    def wait(self, rest: Rest, before: int) -> None:
        """Until an agent has ended, a run is settled, the folder is not as it was `before`, or the time of the rest has
        come. What can wait is settled at the next call, so that another agent can begin before the checks."""
        until, look_at, wait_s = getattr(rest, "until", None), 0.0, 0.0
        while self._seats:
            if self._ended:
                self._settle(self._ended.pop())
                return
            came = _taken(self._inbox, wait_s)
            if isinstance(came, _Seat):
                (self._note_over if came.can_wait else self._settle)(came)
                return
            if came:
                came()
            left_s = _LOOK_S if until is None else seconds_left(self._w, until)
            if until is not None and left_s <= 0:
                self._w.session = replace(self._w.session, waited=until)  # whatever the clock says of it
                return
            if time.monotonic() >= look_at:
                look_at = time.monotonic() + _LOOK_S
                if signature_of(self._w.repository, self._w.feature) != before:
                    return
            wait_s = 0.0 if came else min(left_s, _LOOK_S)

    def end(self) -> None:
        """End all agents, and wait for that; another interrupt meanwhile leaves them no time for a farewell."""
        self._over.set()
        try:
            for seat in self._seats:
                seat.thread.join(_FAREWELL_S)
        except BaseException:  # the first one is passed on
            self._w.checkout.kill_supervisors()
        self._seats.clear()
        self._ended.clear()
        self._inbox, self._over = _Inbox(), threading.Event()

    def _note_over(self, seat: _Seat) -> None:
        """The agent is at work no more, and what it cost is known."""
        assert seat.result
        in_work, cost = self._w.session.in_work, seat.result.cost_usd
        self._w.session = replace(self._w.session, in_work=tuple(
            replace(work, is_over=True, promised_usd=cost) if work.run == seat.run else work for work in in_work
        ))  # fmt: skip
        self._ended.append(seat)

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
