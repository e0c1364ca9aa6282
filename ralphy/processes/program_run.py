"""One program from its start to its end: pipes, events of the supervisor and clocks in one selector."""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from ralphy.files.memory_file import sealed
from ralphy.processes.command import HURRIED, Command, Exit, NotStarted, StopGrace
from ralphy.processes.supervisor_link import Link, LinkError
from ralphy.system.door import here

READ_BYTES = 1 << 20
DRAIN_S = 1.0  # how long output is awaited after the end, when something still holds the pipe
TICK_S = 0.25  # how often `should_stop` is asked while nothing is printed
LONGEST_WAIT_S = 3600.0  # an endless deadline is more than a selector takes
ASLEEP_S = 30.0  # who wakes so late was stopped, or the machine slept: that time is nobody's
AT_ONCE = frozenset({"memory", "processes", "held"})  # reasons that leave no time for a farewell, or need none

Sink = Callable[[bytes], None]
Question = Callable[[], "str | None"]


class Latch:
    """A pipe that a held program waits at; it stays locked if the holder dies.

    `fd` is the end to wait at. It is open for writing too: its reader never sees an end, only the word.
    """

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


class Run:
    """A single use: `start`, then `complete`; `hurry` where that did not come to its end; at last `release`.

    A held program is made ready by `prepare`, and let go by `start`.
    """

    def __init__(
        self,
        link: Link,
        command: Command,
        sinks: tuple[Sink, Sink | None],
        should_stop: Question | None,
        on_stop: Callable[[str], None] | None,
        grace: StopGrace,
    ) -> None:
        self.link = link
        self.command = command
        self.sinks = sinks
        self.should_stop = should_stop
        self.on_stop = on_stop
        self.grace = grace
        self.selector = selectors.DefaultSelector()
        self.pipes: set[int] = set()
        self.stopped: str | None = None
        self.ordered = False
        self.ended: dict[str, Any] | None = None
        self.latch = Latch() if command.is_held else None
        self.began = self.awake_at = self.due = 0.0
        self.steps: Iterator[tuple[dict[str, Any], float]] = iter(())

    def prepare(self) -> None:
        """Order a program that is held, and do not wait for it."""
        if self.latch:
            self._order()

    def start(self) -> None:
        """From here on the time counts."""
        self.began = self.awake_at = time.monotonic()
        self.due = self.began + self.command.deadline_s
        if self.latch:
            self.latch.lift()
        else:
            self._order()

    def complete(self) -> Exit:
        ended = self._await_end()
        duration_s = time.monotonic() - self.began
        self._drain()
        return Exit(ended["returncode"], self.stopped, duration_s, ended["killed"])

    def _await_end(self) -> dict[str, Any]:
        while self.ended is None:
            patience_s = self._patience()
            self._round(patience_s)
            self._keep_time(patience_s)
        return self.ended

    def hurry(self) -> bool:
        """End the tree by the ladder with short graces, output discarded; False if the supervisor must go."""
        self.sinks, self.should_stop, self.on_stop, self.grace = (_discard, _discard), None, None, HURRIED
        if self.ended is not None or not self.ordered:
            return True
        try:
            if self.link.in_step:
                self._stop("interrupted" if self.latch is None or self.latch.is_lifted else "held")
                self._await_end()
        except BaseException:  # a second Ctrl-C wants the end at once; the first exception is the one to go on
            return False
        return self.ended is not None

    def release(self) -> None:
        for fd in tuple(self.pipes):
            self._close(fd)
        if self.latch:
            self.latch.close()
        self.selector.close()

    def _order(self) -> None:
        self.selector.register(self.link.socket, selectors.EVENT_READ, self._hear)
        theirs = [_open_input(self.command.stdin_path)]
        try:
            for sink in (0, 1) if self.sinks[1] else (0,):
                theirs.append(self._pipe(sink))
            what = {"argv": self.command.argv, "cwd": self.command.cwd, "env": dict(self.command.env)}
            self.ordered = True
            theirs.append(_filter(self.command.filter))
            held_at = (self.latch.fd,) if self.latch else ()
            more = (theirs[-1], *held_at) if held_at or self.command.filter else ()
            self.link.send({"do": "start", **what}, (theirs[0], theirs[1], theirs[-2], *more))
        finally:
            for fd in theirs:
                os.close(fd)

    def _pipe(self, sink: int) -> int:
        """A pipe whose output goes to that sink; returns the end to write to."""
        ours, theirs = os.pipe()
        self.pipes.add(ours)
        os.set_blocking(ours, False)
        here.widen_pipe(ours, READ_BYTES)
        self.selector.register(ours, selectors.EVENT_READ, lambda: self._read(ours, sink))
        return theirs

    def _round(self, timeout_s: float) -> None:
        for key, _ in self.selector.select(timeout_s):
            key.data()

    def _read(self, fd: int, sink: int) -> None:
        try:
            data = os.read(fd, READ_BYTES)
        except BlockingIOError:
            return
        if not data:
            self._close(fd)
            return
        take = self.sinks[sink]
        assert take
        take(data)

    def _close(self, fd: int) -> None:
        self.pipes.discard(fd)
        with suppress(KeyError):  # an exception came before it was registered
            self.selector.unregister(fd)
        os.close(fd)

    def _hear(self) -> None:
        for event in self.link.events():
            if event["event"] == "failed":
                self.ended = event
                raise _why_not_started(self.command, event)
            if event["event"] == "exited":
                self.ended = event

    def _patience(self) -> float:
        """Seconds until something must be done even if nothing happens."""
        longest = TICK_S if self.should_stop and not self.stopped else LONGEST_WAIT_S
        return min(max(self.due - time.monotonic(), 0.0), longest)

    def _keep_time(self, patience_s: float) -> None:
        """Stop when it is time. What a round took beyond all patience was spent asleep, and puts the time off."""
        now = time.monotonic()
        asleep_s, self.awake_at = now - self.awake_at - patience_s, now
        if asleep_s > ASLEEP_S:
            self.due += asleep_s
        if self.ended is not None:
            return
        late = now >= self.due
        if self.stopped is None:
            reason = (self.should_stop() if self.should_stop else None) or ("deadline" if late else None)
            if reason:
                self._stop(reason)
        elif late:
            self._step()

    def _stop(self, reason: str) -> None:
        self.stopped = self.stopped or reason
        if self.on_stop:
            self.on_stop(reason)
        ladder: tuple[tuple[dict[str, Any], float], ...] = (
            ({"do": "signal", "signal": signal.SIGINT, "tree": False}, self.grace.interrupt_s),
            ({"do": "signal", "signal": signal.SIGTERM, "tree": True}, self.grace.terminate_s),
            ({"do": "kill"}, self.grace.kill_s),
        )
        self.steps = iter(ladder[-1:] if reason in AT_ONCE else ladder)
        self._step()

    def _step(self) -> None:
        """One step up the ladder of signals."""
        step = next(self.steps, None)
        if step is None:
            self.link.kill()
            raise LinkError("it did not stop its processes")
        order, wait_s = step
        self.due = time.monotonic() + wait_s
        self.link.send(order)

    def _drain(self) -> None:
        """What is still in the pipes, until their ends or for a second at most."""
        self.selector.unregister(self.link.socket)
        end = time.monotonic() + DRAIN_S
        while self.pipes and (left := end - time.monotonic()) > 0:
            self._round(left)


def _why_not_started(command: Command, event: Mapping[str, Any]) -> NotStarted:
    if event["what"] == "folder":
        return NotStarted(f"cannot work there: {event['message']}", where=command.cwd)
    return NotStarted(
        f"{command.argv[0] if command.argv else '(empty command)'} cannot be started: {event['message']}",
        hint="is it installed, executable, and on PATH?",
    )


def _open_input(path: str | None) -> int:
    try:
        return os.open(path or os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise NotStarted(f"cannot be read: {error.strerror}", where=path or os.devnull) from error


def _filter(program: bytes) -> int:
    """What a sandbox reads its filter of system calls from."""
    with sealed(program) as descriptor:
        return os.dup(descriptor)


def _discard(_: bytes) -> None:
    return
