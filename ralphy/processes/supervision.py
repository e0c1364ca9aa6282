"""Running programs: contained, bounded in time, their output handed on as it comes.

Each has a supervisor process of its own (`supervisor.py`), which holds the program and all its descendants.
"""

from __future__ import annotations

import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

import psutil

from ralphy.errors import EnvironmentProblem
from ralphy.files.memory_file import sealed
from ralphy.processes.command import REPO_MARKER, RUN_MARKER, Command, Exit, NotStarted
from ralphy.processes.process_table import descendants, signal_all, sweep
from ralphy.processes.program_paths import BWRAP

SCRIPT = str(Path(__file__).with_name("supervisor.py"))
_PACKAGES = str(Path(psutil.__file__).parents[1])
_READ_BYTES = 1 << 20
_START_S = 60.0  # a machine under load takes its time
_KILL_S = 30.0  # how long the supervisor has to collect what was killed; it takes milliseconds on a calm machine
_GOODBYE_S = 5.0
_DRAIN_S = 1.0  # how long output is awaited after the end, when something still holds the pipe
_TICK_S = 0.25  # how often `should_stop` is asked while nothing is printed
_ASLEEP_S = 2.0  # a tick that took so long was no tick: Ralphy was stopped, or the machine slept
_NO_TIME = frozenset({"memory", "processes"})  # reasons that leave no time for a farewell

Sink = Callable[[bytes], None]
ShouldStop = Callable[[int], "str | None"]


@dataclass(frozen=True, slots=True)
class StopGrace:
    """Seconds that a stop leaves: to the program after SIGINT, to its tree after SIGTERM. SIGKILL follows."""

    interrupt_s: float
    terminate_s: float


PATIENT = StopGrace(5.0, 5.0)
HURRIED = StopGrace(0.5, 0.5)
AT_ONCE = StopGrace(0.0, 0.0)


class SupervisorLost(Exception):
    """The supervisor process has gone, or does not end its program."""


def run_supervised(
    command: Command,
    on_stdout: Sink,
    on_stderr: Sink | None = None,
    *,
    should_stop: ShouldStop | None = None,
    on_stop: Callable[[str], None] | None = None,
) -> Exit:
    """Run a program to its end, its deadline or a stop; output goes to the callbacks, all to the first if alone.

    `should_stop` is asked after every piece of output, and at least four times a second, with the pid of the process
    that all processes of the program descend from; the reason it gives is passed to `on_stop` before the first signal.
    Whatever is raised in here (by a callback, by a signal handler of the caller) ends the tree within seconds, then
    goes on. Raises NotStarted, and EnvironmentProblem when the supervisor was lost.
    """
    with closing(_SupervisedRun(command, [*filter(None, (on_stdout, on_stderr))])) as run:
        try:
            run.start()
            return run.complete(should_stop, on_stop)
        except SupervisorLost as error:
            raise EnvironmentProblem(
                f"the supervisor of {command.argv[0]} ended unexpectedly: {error}",
                hint="its processes were ended; if it recurs, find out what kills processes (memory?)",
            ) from error
        except BaseException:
            run.sinks = [_discard, _discard]
            with suppress(BaseException):  # a second Ctrl-C wants the end at once; the first exception is raised
                run.end(HURRIED)
            raise


class _SupervisedRun:
    """A program, its supervisor and what connects them to Ralphy: `start`, then `complete`, at last `close`."""

    def __init__(self, command: Command, sinks: list[Sink]) -> None:
        self.command = command
        self.sinks = sinks
        self.supervisor: subprocess.Popen[bytes] | None = None
        self.program = 0  # its pid, once it has started
        self.returncode: int | None = None
        self.link, self._far_end = socket.socketpair()
        self._selector = selectors.DefaultSelector()

    def start(self) -> None:
        """Start the program. Raises NotStarted."""
        if not self.command.argv:
            raise NotStarted("an empty command cannot be started")
        self.supervisor = self._start_supervisor()
        self.link.settimeout(_START_S)
        while not self.program:
            self._hear()
        self.link.settimeout(None)
        self._selector.register(self.link, selectors.EVENT_READ, self._hear)

    def _start_supervisor(self) -> subprocess.Popen[bytes]:
        command = self.command
        # Without markers, lest a sweep for the run that this Ralphy itself is part of takes it for a leftover.
        own_env = {name: value for name, value in os.environ.items() if not name.startswith("RALPHY_")}
        env = b"\0".join(os.fsencode(f"{name}={value}") for name, value in command.env.items())
        with ExitStack() as given:
            far_end = given.enter_context(self._far_end).fileno()
            try:
                env_at = given.enter_context(sealed(env))
                stdin = given.enter_context(sealed(command.stdin)) if command.stdin else subprocess.DEVNULL
                at = given.enter_context(sealed(command.filter)) if command.filter else -1
                words = (str(far_end), str(os.getpid()), str(env_at), str(at), _PACKAGES, command.cwd, *command.argv)
                process = subprocess.Popen(
                    (sys.executable, "-I", "-S", SCRIPT, *words), env=own_env, cwd="/", start_new_session=True,
                    bufsize=0, stdin=stdin, stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE if len(self.sinks) > 1 else subprocess.STDOUT,
                    pass_fds=[far_end, env_at, *([at] if at >= 0 else [])],
                )  # fmt: skip
            except OSError as error:
                raise EnvironmentProblem(f"no process can be started: {error.strerror or error}") from error
        for at, pipe in enumerate(filter(None, (process.stdout, process.stderr))):
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, partial(self._read, pipe, at))
        return process

    def complete(self, should_stop: ShouldStop | None, on_stop: Callable[[str], None] | None) -> Exit:
        """Wait for the end, or bring it about."""
        began = time.monotonic()
        stopped = self._await_end(self.command.deadline_s, should_stop)
        if stopped:
            if on_stop:
                on_stop(stopped)
            self.end(AT_ONCE if stopped in _NO_TIME else PATIENT)
        duration_s = time.monotonic() - began
        self._drain()
        return Exit(self.returncode, stopped, duration_s)

    def end(self, grace: StopGrace) -> None:
        """End the tree by steps. Raises SupervisorLost if something of it is left."""
        steps = (
            (self._interrupt, grace.interrupt_s),
            (self._terminate, grace.terminate_s),
            (self._kill, _KILL_S),
        )
        for step, patience_s in steps:
            if patience_s and self.program and self.returncode is None:
                step()
                self._await_end(patience_s)
        if self.program and self.returncode is None:
            raise SupervisorLost("it did not stop its processes")

    def close(self) -> None:
        """Close everything. A supervisor that still lives kills its tree then, and is killed if it does not end."""
        self._selector.close()
        self.link.close()
        self._far_end.close()
        if not self.supervisor:
            return
        for pipe in filter(None, (self.supervisor.stdout, self.supervisor.stderr)):
            pipe.close()
        try:
            self.supervisor.wait(_GOODBYE_S)
        except subprocess.TimeoutExpired:
            self.supervisor.kill()
            self.supervisor.wait()
        if self.returncode is None:
            sweep({name: self.command.env[name] for name in (RUN_MARKER, REPO_MARKER) if name in self.command.env})

    def _interrupt(self) -> None:
        """Send SIGINT to the program; to what runs inside, if it is a sandbox: bubblewrap hands no signals on."""
        with suppress(psutil.Error, OSError):  # it has ended, or is another user's
            for one in descendants(self._root):
                if one.pid == self.program:
                    while one.name() == BWRAP and (children := one.children()):
                        one = children[0]
                    os.kill(one.pid, signal.SIGINT)
                    os.kill(one.pid, signal.SIGCONT)  # a stopped process hears only CONT and KILL

    def _terminate(self) -> None:
        signal_all(descendants(self._root), signal.SIGTERM, signal.SIGCONT)

    def _kill(self) -> None:
        """Hang up, upon which the supervisor kills all; the program may have stopped it."""
        with suppress(OSError):  # it has gone, which is heard next
            self.link.shutdown(socket.SHUT_WR)
        os.kill(self._root, signal.SIGCONT)

    @property
    def _root(self) -> int:
        assert self.supervisor
        return self.supervisor.pid

    def _await_end(self, within_s: float, should_stop: ShouldStop | None = None) -> str | None:
        """Hand on output until the program has ended; gives the reason if it is to be stopped before.

        The time in which Ralphy was stopped, or the machine slept, does not count.
        """
        before = time.monotonic()
        due = before + within_s
        while self.returncode is None:
            self._listen(min(_TICK_S, max(due - before, 0.0)))
            now = time.monotonic()
            tick_s, before = now - before, now
            due += tick_s if tick_s > _ASLEEP_S else 0.0
            if self.returncode is None:
                reason = (should_stop(self._root) if should_stop else None) or ("deadline" if now >= due else None)
                if reason:
                    return reason
        return None

    def _listen(self, timeout_s: float) -> None:
        for key, _ in self._selector.select(timeout_s):
            key.data()

    def _read(self, pipe: IO[bytes], at: int) -> None:
        """Hand on a piece of output."""
        data = pipe.read(_READ_BYTES)
        if data:
            self.sinks[at](data)
        elif data is not None:
            self._selector.unregister(pipe)

    def _hear(self) -> None:
        """Take what the supervisor reports; waits if that is nothing yet. Raises SupervisorLost when it has gone."""
        try:
            data = self.link.recv(1 << 16)
        except OSError as error:
            raise SupervisorLost(error.strerror or "it does not answer") from error
        if not data:
            raise SupervisorLost("it closed its link")
        for line in data.decode().splitlines():
            match line.split():
                case ["started", pid]:
                    self.program = int(pid)
                case ["exited", code]:
                    self.returncode = int(code)
                case ["failed", what, number]:
                    self.returncode = -1
                    raise _why_not_started(self.command, what, int(number))

    def _drain(self) -> None:
        """What is still in the pipes, until their ends or for a second at most."""
        self._selector.unregister(self.link)
        end = time.monotonic() + _DRAIN_S
        while self._selector.get_map() and (left := end - time.monotonic()) > 0:
            self._listen(left)


def _discard(_: bytes) -> None:
    return


def _why_not_started(command: Command, what: str, number: int) -> NotStarted:
    why = os.strerror(number)
    if what == "folder":
        return NotStarted(f"cannot work there: {why}", where=command.cwd)
    return NotStarted(f"{command.argv[0]} cannot be started: {why}",
                      hint="is it installed, executable, and on PATH?")  # fmt: skip
