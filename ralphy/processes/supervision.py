"""Running programs: contained, bounded in time, their output handed on as it comes.

Each has a supervisor process of its own (`supervisor.py`), which holds the program and all its descendants.
"""

from __future__ import annotations

from collections.abc import Callable

from ralphy.errors import EnvironmentProblem
from ralphy.processes.command import PATIENT, RUN_MARKER, Command, Exit, StopGrace
from ralphy.processes.process_table import sweep
from ralphy.processes.program_run import Question, Run, Sink, SupervisorLost

BETWEEN_BYTES = 64  # the line that says how much of an excerpt is missing


class Supervisor:
    """Runs programs, one at a time, for any thread; programs side by side need one each."""

    def __init__(self) -> None:
        self._run: Run | None = None

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
        on_start: Callable[[], None] | None = None,
        should_stop: Question | None = None,
        on_stop: Callable[[str], None] | None = None,
        grace: StopGrace = PATIENT,
    ) -> Exit:
        """Run to the end, the deadline or a stop; output goes to the callbacks, all to the first if alone.

        `on_start` is called when the program has been started. `should_stop` is asked after every piece of output, and
        at least four times a second; the reason it gives is passed to `on_stop` before the first signal. Whatever is
        raised in here (by a callback, by a signal handler of the caller) ends the tree within seconds, then goes on.
        Raises NotStarted, and EnvironmentProblem when the supervisor was lost.
        """
        run = self._run = Run(command, (on_stdout, on_stderr), should_stop, on_stop, grace)
        try:
            run.start()
            if on_start:
                on_start()
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


def _abandon(run: Run) -> None:
    """Let the supervisor go, and end what is left of its run without its help."""
    run.release()
    sweep(RUN_MARKER, run.command.env.get(RUN_MARKER, ""))


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
