"""What all agents' programs have in common: what stands around them, and the files of a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from ralphy.agents.protocol import AgentRequest, Thresholds
from ralphy.files.capped_file import CappedFile
from ralphy.files.disk_space import refusal
from ralphy.processes.resource_limits import Allowance
from ralphy.sandbox.bubblewrap import Sandbox

MAX_STREAM = 64 << 20
MAX_STDERR = 1 << 20
EXIT_GRACE_S = 10.0
STARTUP_S = 120.0


@dataclass(frozen=True, slots=True)
class Conditions:
    """What stands around an agent: when it is stopped, what it may take, and its walls.

    It has `startup_s` until it begins to work, and `exit_grace_s` to live on after its result. Without `thresholds`
    no watchdog looks on. `should_stop` is asked about four times a second while it runs; a reason that it gives ends
    the run.
    """

    startup_s: float = STARTUP_S
    thresholds: Thresholds | None = None
    allowed: Allowance = field(default_factory=Allowance)
    sandbox: Sandbox | None = None
    should_stop: Callable[[], str | None] | None = None
    exit_grace_s: float = EXIT_GRACE_S


class RunFiles:
    """What a run leaves in its folder: `prompt.md`, `stream.ndjson` as it was printed, `stderr.log`.
    Raises EnvironmentProblem where they cannot be written."""

    def __init__(self, request: AgentRequest) -> None:
        folder = Path(request.run_dir)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)
            self.stream = CappedFile(folder / "stream.ndjson", MAX_STREAM)
            self.errors = CappedFile(folder / "stderr.log", MAX_STDERR)
        except OSError as error:
            raise refusal(error, "cannot be written", request.run_dir) from error
        self.prompt = folder / "prompt.md"

    def keep_prompt(self, prompt: bytes) -> None:
        """Keep a copy of the prompt for people. It is not the agent's input, which could be written to by its
        descriptor."""
        try:
            _write_private(self.prompt, prompt)
        except OSError as error:
            raise refusal(error, "cannot be written", str(self.prompt)) from error

    def close(self, last: bytes = b"", lost: int = 0) -> None:
        """A stream that was cut says how many bytes are missing (`lost` are those that never came to it), and ends with
        the line `last`."""
        self.stream.left_out += lost
        note = b'{"type":"ralphy_cut","bytes_left_out":%d}\n' % self.stream.left_out
        self.stream.close(note + last)
        self.errors.close(b"[%d bytes left out]\n" % self.errors.left_out)


def _write_private(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(data)
