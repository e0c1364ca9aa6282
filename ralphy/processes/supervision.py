"""Running programs: contained, bounded in time, their output handed on as it comes.

Each has a supervisor process of its own (`supervisor.py`), which holds the program and all its descendants.
"""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

import psutil

from ralphy.errors import EnvironmentProblem
from ralphy.files.memory_file import sealed
from ralphy.processes.command import AT_ONCE, HURRIED, PATIENT, RUN_MARKER, Command, Exit, NotStarted, StopGrace
from ralphy.processes.process_table import sweep

SCRIPT = str(Path(__file__).with_name("supervisor.py"))
PACKAGES = str(Path(psutil.__file__).parents[1])
READ_BYTES = 1 << 20
START_S = 60.0  # a machine under load takes its time
KILL_S = 5.0  # how long after SIGKILL the end is awaited
GOODBYE_S = 5.0
DRAIN_S = 1.0  # how long output is awaited after the end, when something still holds the pipe
TICK_S = 0.25  # how often `should_stop` is asked while nothing is printed
LONGEST_WAIT_S = 3600.0  # an endless deadline is more than a selector takes
ASLEEP_S = 2.0  # who wakes so late was stopped, or the machine slept: that time does not count
NO_TIME = frozenset({"memory", "processes"})  # reasons that leave no time for a farewell

Sink = Callable[[bytes], None]
Question = Callable[[], "str | None"]


class SupervisorLost(Exception):
    """The supervisor process has gone, or no longer does what it is told."""


class Supervisor:
    """Runs programs, one at a time, for any thread; programs side by side need one each."""

    def __init__(self) -> None:
        self._run: _Run | None = None

    @property
    def pid(self) -> int:
        """The process below which the program runs; 0 while none does."""
        run = self._run
        return run.process.pid if run and run.process else 0

    def kill(self) -> None:
        """End the supervisor process as by kill -9, from whatever thread; its program dies with it."""
        run = self._run
        if run and run.process:
            run.process.kill()

    def run(
        self,
        command: Command,
        on_stdout: Sink,
        on_stderr: Sink | None,
        *,
        should_stop: Question | None = None,
        on_stop: Callable[[str], None] | None = None,
    ) -> Exit:
        """Run to the end, the deadline or a stop; output goes to the callbacks, all to the first if alone.

        `should_stop` is asked after every piece of output, and at least four times a second; the reason it gives is
        passed to `on_stop` before the first signal. Whatever is raised in here (by a callback, by a signal handler of
        the caller) ends the tree within seconds, then goes on.
        Raises NotStarted, and EnvironmentProblem when the supervisor was lost.
        """
        run = self._run = _Run(command, [*filter(None, (on_stdout, on_stderr))], should_stop, on_stop, PATIENT)
        try:
            run.start()
            return run.complete()
        except SupervisorLost as error:
            _abandon(run)
            raise EnvironmentProblem(
                f"the supervisor of {command.argv[0]} ended unexpectedly: {error}",
                hint="its processes were ended; if it recurs, find out what kills processes (memory?)",
            ) from error
        except BaseException:
            if not run.hurry():
                _abandon(run)
            raise
        finally:
            self._run = None
            run.release()


def _abandon(run: _Run) -> None:
    """Let the supervisor go, and end what is left of its run without its help."""
    run.release()
    sweep(RUN_MARKER, run.command.env.get(RUN_MARKER, ""))


@dataclass
class _Run:
    """A single use: `start`, then `complete`; `hurry` where that did not come to its end; at last `release`."""

    command: Command
    sinks: list[Sink]
    should_stop: Question | None
    on_stop: Callable[[str], None] | None
    grace: StopGrace
    process: subprocess.Popen[bytes] | None = None
    is_started: bool = False
    returncode: int | None = None
    stopped: str | None = None
    began: float = 0.0
    awake_at: float = 0.0
    due: float = 0.0
    _received: bytes = b""

    def __post_init__(self) -> None:
        self.link, self._theirs = socket.socketpair()
        self.selector = selectors.DefaultSelector()

    def start(self) -> None:
        """Have the program started; from then on the time counts. Raises NotStarted."""
        self.process = self._start_supervisor()
        self.link.settimeout(START_S)
        try:
            self.link.sendall(_as_bytes(self.command.env))
        except OSError as error:
            raise SupervisorLost(error.strerror or "broken link") from error
        while not self.is_started:
            self._hear()
        self.link.settimeout(None)
        self.selector.register(self.link, selectors.EVENT_READ, self._hear)
        self.began = self.awake_at = time.monotonic()
        self.due = self.began + self.command.deadline_s

    def _start_supervisor(self) -> subprocess.Popen[bytes]:
        command = self.command
        if not command.argv:
            raise NotStarted("an empty command cannot be started")
        with ExitStack() as given:
            given.enter_context(self._theirs)
            # Without markers, lest a sweep for the run that this Ralphy itself is part of takes it for a leftover.
            env = {name: value for name, value in os.environ.items() if not name.startswith("RALPHY_")}
            try:
                stdin = given.enter_context(sealed(command.stdin)) if command.stdin else subprocess.DEVNULL
                at = given.enter_context(sealed(command.filter)) if command.filter else -1
                words = (str(self._theirs.fileno()), str(os.getpid()), str(at), PACKAGES, command.cwd, *command.argv)
                process = subprocess.Popen(
                    (sys.executable, "-I", "-S", SCRIPT, *words), env=env, cwd="/", start_new_session=True, bufsize=0,
                    stdin=stdin, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE if len(self.sinks) > 1 else subprocess.STDOUT,
                    pass_fds=[self._theirs.fileno(), *([at] if at >= 0 else [])],
                )  # fmt: skip
            except OSError as error:
                raise EnvironmentProblem(f"no process can be started: {error.strerror or error}") from error
        for at, pipe in enumerate(filter(None, (process.stdout, process.stderr))):
            os.set_blocking(pipe.fileno(), False)
            self.selector.register(pipe, selectors.EVENT_READ, partial(self._read, pipe, at))
        return process

    def complete(self) -> Exit:
        returncode = self._await_end()
        duration_s = time.monotonic() - self.began
        self._drain()
        return Exit(returncode, self.stopped, duration_s)

    def hurry(self) -> bool:
        """End the tree by steps with short graces, output discarded; False if the supervisor must go."""
        self.should_stop, self.on_stop, self.grace = None, None, HURRIED
        if self.returncode is not None or self.process is None:
            return True
        if not self.is_started:
            return False
        self.sinks = [_discard, _discard]
        try:
            self._stop("interrupted")
            self._await_end()
        except BaseException:  # a second Ctrl-C wants the end at once; the first exception is the one to go on
            return False
        return True

    def release(self) -> None:
        """Close everything. A supervisor that still lives kills its tree then, and is killed if it does not end."""
        self.selector.close()
        self.link.close()
        self._theirs.close()
        if not self.process:
            return
        for pipe in filter(None, (self.process.stdout, self.process.stderr)):
            pipe.close()
        try:
            self.process.wait(GOODBYE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _await_end(self) -> int:
        while self.returncode is None:
            longest = TICK_S if self.should_stop and not self.stopped else LONGEST_WAIT_S
            patience_s = min(max(self.due - time.monotonic(), 0.0), longest)
            self._round(patience_s)
            self._keep_time(patience_s)
        return self.returncode

    def _round(self, timeout_s: float) -> None:
        for key, _ in self.selector.select(timeout_s):
            key.data()

    def _read(self, pipe: IO[bytes], at: int) -> None:
        """Hand on a piece of output."""
        data = pipe.read(READ_BYTES)
        if data:
            self.sinks[at](data)
        elif data is not None:
            self.selector.unregister(pipe)

    def _hear(self) -> None:
        """What the supervisor says; waits if that is nothing yet. Raises SupervisorLost when it has gone."""
        try:
            data = self.link.recv(1 << 16)
        except OSError as error:
            raise SupervisorLost(error.strerror or "it does not answer") from error
        if not data:
            raise SupervisorLost("it closed its link")
        *lines, self._received = (self._received + data).split(b"\n")
        for event, *words in map(bytes.split, lines):
            if event == b"failed":
                self.returncode = -1
                raise _why_not_started(self.command, *words)
            if event == b"exited":
                self.returncode = int(words[0])
            self.is_started = True

    def _keep_time(self, patience_s: float) -> None:
        """Stop when it is time. What a round took beyond all patience was spent asleep, and puts the time off."""
        now = time.monotonic()
        asleep_s, self.awake_at = now - self.awake_at - patience_s, now
        if asleep_s > ASLEEP_S:
            self.due += asleep_s
        if self.returncode is not None:
            return
        is_late = now >= self.due
        if self.stopped is None:
            reason = (self.should_stop() if self.should_stop else None) or ("deadline" if is_late else None)
            if reason:
                self._stop(reason)
        elif is_late:
            raise SupervisorLost("it did not stop its processes")

    def _stop(self, reason: str) -> None:
        """Have the tree ended. Asked for once more, it is killed at once."""
        self.stopped = self.stopped or reason
        if self.on_stop:
            self.on_stop(reason)
        grace = AT_ONCE if reason in NO_TIME else self.grace
        self.due = time.monotonic() + grace.interrupt_s + grace.terminate_s + KILL_S
        with suppress(OSError):  # it has gone, which is heard next
            self.link.sendall(f"{grace.interrupt_s} {grace.terminate_s}".encode())

    def _drain(self) -> None:
        """What is still in the pipes, until their ends or for a second at most."""
        self.selector.unregister(self.link)
        end = time.monotonic() + DRAIN_S
        while self.selector.get_map() and (left := end - time.monotonic()) > 0:
            self._round(left)


def _as_bytes(env: Mapping[str, str]) -> bytes:
    """An environment as the supervisor reads it."""
    return b"\0".join(os.fsencode(f"{name}={value}") for name, value in env.items()) + b"\0\0"


def _discard(_: bytes) -> None:
    return


def _why_not_started(command: Command, what: bytes, number: bytes) -> NotStarted:
    why = os.strerror(int(number))
    if what == b"folder":
        return NotStarted(f"cannot work there: {why}", where=command.cwd)
    return NotStarted(f"{command.argv[0]} cannot be started: {why}",
                      hint="is it installed, executable, and on PATH?")  # fmt: skip
