"""Running programs: contained, bounded in time, their output handed on as it comes.

`Supervisor` is this side of `supervisor.py`, which holds the program and all its descendants. One of them
runs one program at a time, for any thread; programs side by side need one each, best of the same template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from ralphy.errors import EnvironmentProblem
from ralphy.processes.command import PATIENT, Command, Exit, StopGrace
from ralphy.processes.process_table import RUN_MARKER, sweep
from ralphy.processes.program_run import Question, Run, Sink
from ralphy.processes.supervisor_link import Link, LinkError, Template

BETWEEN_BYTES = 64  # the line that says how much of an excerpt is missing


class Supervisor:
    """Runs programs one after the other through a warm supervisor process, started when first needed."""

    def __init__(self, template: Template | None = None) -> None:
        self._link: Link | None = None
        self._template = template

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def warm(self) -> None:
        """Start the supervisor process ahead of the first run."""
        if not self._link:
            self._link = Link(self._template)

    @property
    def pid(self) -> int:
        """The process below which all programs run; 0 before it is started."""
        return self._link.pid if self._link else 0

    def kill(self) -> None:
        """End the supervisor process as by kill -9, from whatever thread; its program dies with it."""
        if self._link:
            self._link.kill()

    def close(self) -> None:
        """End the supervisor process and whatever it holds."""
        link, self._link = self._link, None
        if link:
            link.drop()

    def run(
        self,
        command: Command,
        on_stdout: Sink,
        on_stderr: Sink | None,
        *,
        should_stop: Question | None = None,
        on_stop: Callable[[str], None] | None = None,
        grace: StopGrace = PATIENT,
    ) -> Exit:
        """Run to the end, the deadline or a stop; output goes to the callbacks, all to the first if alone.

        For the rest see `prepared`, which this is without anything in between.
        """
        with self.prepared(command, on_stdout, on_stderr, should_stop=should_stop, on_stop=on_stop, grace=grace) as run:
            run.start()
            return run.complete()

    @contextmanager
    def prepared(
        self,
        command: Command,
        on_stdout: Sink,
        on_stderr: Sink | None,
        *,
        should_stop: Question | None = None,
        on_stop: Callable[[str], None] | None = None,
        grace: StopGrace = PATIENT,
    ) -> Iterator[Run]:
        """Gives the run to start and to complete. A program that is held is made ready here, and ended if it is not
        wanted after all.

        `should_stop` is asked after every piece of output, and at least four times a second; the reason it gives is
        passed to `on_stop` before the first signal. Whatever is raised in here (by a callback, by a signal handler of
        the caller) ends the tree within seconds, then goes on. Raises NotStarted, and EnvironmentProblem when the
        supervisor was lost.
        """
        self.warm()
        assert self._link
        run = Run(self._link, command, (on_stdout, on_stderr), should_stop, on_stop, grace)
        try:
            run.prepare()
            yield run
            if not run.hurry():
                self._abandon(command)
        except LinkError as error:
            self._abandon(command)
            raise EnvironmentProblem(
                f"the supervisor of {command.argv[0]} ended unexpectedly: {error}",
                hint="its processes were ended; if it recurs, find out what kills processes (memory?)",
            ) from error
        except BaseException:
            if not run.hurry():
                self._abandon(command)
            raise
        finally:
            run.release()

    def _abandon(self, command: Command) -> None:
        """Let the supervisor go, and end what is left of its run without its help."""
        self.close()
        sweep(RUN_MARKER, command.env.get(RUN_MARKER, ""))


def capture(
    supervisor: Supervisor,
    command: Command,
    limit_bytes: int = 1 << 20,
    *,
    should_stop: Question | None = None,
    grace: StopGrace = PATIENT,
) -> tuple[Exit, bytes]:
    """Run and return what was printed, stdout and stderr in one; of too much, some head and mostly tail."""
    excerpt = Excerpt(limit_bytes)
    return supervisor.run(command, excerpt.add, None, should_stop=should_stop, grace=grace), excerpt.value()


class Excerpt:
    """The head and the tail of a long stream: keeps `limit` bytes, a quarter from the head, the rest from the tail.

    Memory stays within about twice the limit.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._head_room = limit // 4
        self._tail_room = max(limit - self._head_room - BETWEEN_BYTES, 0)
        self._total = 0
        self._head = b""
        self._tail = bytearray()

    def add(self, data: bytes) -> None:
        self._total += len(data)
        taken = data[: self._head_room - len(self._head)]
        self._head += taken
        self._tail += data[len(taken) :]
        if len(self._tail) > 2 * self._limit:
            del self._tail[: -self._limit or None]

    def value(self) -> bytes:
        """All of it if it fits, else head and tail around a line that says how much is missing."""
        if self._total <= self._limit:
            return self._head + bytes(self._tail)
        tail = bytes(self._tail[-self._tail_room :]) if self._tail_room else b""
        missing = self._total - len(self._head) - len(tail)
        return self._head + b"\n[... %d bytes left out ...]\n" % missing + tail
