"""One program from its start to its end: its supervisor, pipes and clocks in one selector."""

from __future__ import annotations

import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil

from ralphy.errors import EnvironmentProblem
from ralphy.files.memory_file import sealed
from ralphy.processes.command import HURRIED, Command, Exit, NotStarted, StopGrace
from ralphy.processes.process_table import descendants, inside_sandbox, signal_all

SCRIPT = str(Path(__file__).with_name("supervisor.py"))
READ_BYTES = 1 << 20
START_S = 60.0  # a machine under load takes its time
GOODBYE_S = 5.0
DRAIN_S = 1.0  # how long output is awaited after the end, when something still holds the pipe
TICK_S = 0.25  # how often `should_stop` is asked while nothing is printed
LONGEST_WAIT_S = 3600.0  # an endless deadline is more than a selector takes
ASLEEP_S = 2.0  # who wakes so late was stopped, or the machine slept: that time is nobody's
AT_ONCE = frozenset({"memory", "processes"})  # reasons that leave no time for a farewell

Sink = Callable[[bytes], None]
Question = Callable[[], "str | None"]


class SupervisorLost(Exception):
    """The supervisor process has gone, or no longer does what it is told."""


class Run:
    """A single use: `start`, then `complete`; `hurry` where that did not come to its end; at last `release`."""

    def __init__(
        self,
        command: Command,
        sinks: tuple[Sink, Sink | None],
        should_stop: Question | None,
        on_stop: Callable[[str], None] | None,
        grace: StopGrace,
    ) -> None:
        self.command = command
        self.sinks = sinks
        self.should_stop = should_stop
        self.on_stop = on_stop
        self.grace = grace
        self.process: subprocess.Popen[bytes] | None = None
        self.link, self._theirs = socket.socketpair()
        self.selector = selectors.DefaultSelector()
        self.pipes: set[int] = set()
        self.is_started = False
        self.program: psutil.Process | None = None
        self.stopped: str | None = None
        self.ended: dict[str, Any] | None = None
        self.began = self.awake_at = self.due = 0.0
        self.steps: Iterator[tuple[Callable[[], None], float]] = iter(())
        self._received = b""

    def start(self) -> None:
        """Have the program started; from then on the time counts. Raises NotStarted."""
        self._start_supervisor()
        assert self.process
        order = {"argv": self.command.argv, "cwd": self.command.cwd, "env": dict(self.command.env)}
        self.link.settimeout(START_S)
        try:
            self.link.sendall(json.dumps(order).encode() + b"\n")
        except OSError as error:
            raise SupervisorLost(error.strerror or "broken link") from error
        while not self.is_started:
            self._hear()
        self.link.settimeout(None)
        self.selector.register(self.link, selectors.EVENT_READ, self._hear)
        self.began = self.awake_at = time.monotonic()
        self.due = self.began + self.command.deadline_s

    def complete(self) -> Exit:
        ended = self._await_end()
        duration_s = time.monotonic() - self.began
        self._drain()
        return Exit(ended["returncode"], self.stopped, duration_s, ended["killed"])

    def hurry(self) -> bool:
        """End the tree by the ladder with short graces, output discarded; False if the supervisor must go."""
        self.sinks, self.should_stop, self.on_stop, self.grace = (_discard, _discard), None, None, HURRIED
        if self.ended is not None or self.process is None:
            return True
        if not self.is_started:
            return False
        try:
            self._stop("interrupted")
            self._await_end()
        except BaseException:  # a second Ctrl-C wants the end at once; the first exception is the one to go on
            return False
        return True

    def release(self) -> None:
        """Close everything. A supervisor that still lives kills its tree then, and is killed if it does not end."""
        for fd in tuple(self.pipes):
            self._close(fd)
        self.selector.close()
        self._theirs.close()
        if self.process:
            self._hang_up(self.process)
        self.link.close()

    def _hang_up(self, supervisor: subprocess.Popen[bytes]) -> None:
        try:
            self.link.settimeout(GOODBYE_S)
            self.link.shutdown(socket.SHUT_WR)
            while self.link.recv(1 << 16):
                pass
        except TimeoutError:
            supervisor.kill()
        except OSError:
            pass  # it went before us
        supervisor.wait()

    def _start_supervisor(self) -> None:
        with ExitStack() as theirs:
            theirs.callback(self._theirs.close)
            streams = [_open_input(self.command.stdin_path)]
            theirs.callback(os.close, streams[0])
            for sink in (0, 1) if self.sinks[1] else (0,):
                streams.append(self._pipe(sink))
                theirs.callback(os.close, streams[-1])
            given = [self._theirs.fileno()]
            if self.command.filter:
                given.append(theirs.enter_context(sealed(self.command.filter)))
            words = [str(given[0]), str(os.getpid()), str(given[-1] if self.command.filter else -1)]
            # Without markers, lest a sweep for the run that this Ralphy itself is part of takes it for a leftover.
            env = {name: value for name, value in os.environ.items() if not name.startswith("RALPHY_")}
            try:
                self.process = subprocess.Popen(
                    [sys.executable, "-I", "-S", SCRIPT, *words, str(Path(psutil.__file__).parents[1])],
                    stdin=streams[0], stdout=streams[1], stderr=streams[-1], pass_fds=given, env=env, cwd="/",
                    start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                raise EnvironmentProblem(f"no process can be started: {error.strerror or error}") from error

    def _pipe(self, sink: int) -> int:
        """A pipe whose output goes to that sink; returns the end to write to."""
        ours, theirs = os.pipe()
        self.pipes.add(ours)
        os.set_blocking(ours, False)
        self.selector.register(ours, selectors.EVENT_READ, lambda: self._read(ours, sink))
        return theirs

    def _await_end(self) -> dict[str, Any]:
        while self.ended is None:
            patience_s = self._patience()
            self._round(patience_s)
            self._keep_time(patience_s)
        return self.ended

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
        """What the supervisor says; waits if that is nothing yet. Raises SupervisorLost when it has gone."""
        try:
            data = self.link.recv(1 << 16)
        except OSError as error:
            raise SupervisorLost(error.strerror or "it does not answer") from error
        if not data:
            raise SupervisorLost("it closed its link")
        *lines, self._received = (self._received + data).split(b"\n")
        for line in lines:
            event = json.loads(line)
            if event["event"] == "started":
                self.is_started = True
                with suppress(psutil.Error):  # it has ended already
                    self.program = psutil.Process(event["pid"])
                continue
            self.ended = event
            if event["event"] == "failed":
                raise _why_not_started(self.command, event["message"], is_folder=event["is_folder"])

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
        ladder: tuple[tuple[Callable[[], None], float], ...] = (
            (self._interrupt, self.grace.interrupt_s),
            (self._terminate, self.grace.terminate_s),
            (self._kill, self.grace.kill_s),
        )
        self.steps = iter(ladder[-1:] if reason in AT_ONCE else ladder)
        self._step()

    def _step(self) -> None:
        """One step up the ladder of signals."""
        step = next(self.steps, None)
        if step is None:
            raise SupervisorLost("it did not stop its processes")
        send, wait_s = step
        self.due = time.monotonic() + wait_s
        send()

    def _interrupt(self) -> None:
        if self.program:
            signal_all([inside_sandbox(self.program)], signal.SIGINT, signal.SIGCONT)

    def _terminate(self) -> None:
        assert self.process
        signal_all(descendants(self.process.pid), signal.SIGTERM, signal.SIGCONT)

    def _kill(self) -> None:
        with suppress(OSError):  # it has gone, which is heard next
            self.link.shutdown(socket.SHUT_WR)

    def _drain(self) -> None:
        """What is still in the pipes, until their ends or for a second at most."""
        self.selector.unregister(self.link)
        end = time.monotonic() + DRAIN_S
        while self.pipes and (left := end - time.monotonic()) > 0:
            self._round(left)


def _why_not_started(command: Command, message: str, *, is_folder: bool) -> NotStarted:
    if is_folder:
        return NotStarted(f"cannot work there: {message}", where=command.cwd)
    return NotStarted(
        f"{command.argv[0] if command.argv else '(empty command)'} cannot be started: {message}",
        hint="is it installed, executable, and on PATH?",
    )


def _open_input(path: str | None) -> int:
    try:
        return os.open(path or os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise NotStarted(f"cannot be read: {error.strerror}", where=path or os.devnull) from error


def _discard(_: bytes) -> None:
    return
