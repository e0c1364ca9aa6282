"""What the programs of all agents have in common: the conditions and the files of a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ralphy.agents.protocol import AgentRequest, Thresholds
from ralphy.files.capped_file import CappedFile
from ralphy.files.disk_space import refusal
from ralphy.processes.resource_limits import RunLimits
from ralphy.sandbox.bubblewrap import Sandbox

MAX_STREAM = 64 << 20
MAX_STDERR = 1 << 20
EXIT_GRACE_S = 10.0
STARTUP_S = 120.0


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of an agent's run: when it is stopped, its limits, its sandbox.

    The agent has `startup_s` to begin its work, and `exit_grace_s` to exit after its result. Without `thresholds` there
    is no watchdog. `should_stop` is asked about four times a second; a reason that it returns ends the run.
    """

    startup_s: float = STARTUP_S
    thresholds: Thresholds | None = None
    limits: RunLimits | None = None
    sandbox: Sandbox | None = None
    should_stop: Callable[[], str | None] | None = None
    exit_grace_s: float = EXIT_GRACE_S


class RunFiles:
    """The files of a run in its folder: `prompt.md`, `stream.ndjson` as it was printed, `stderr.log`. Raises
    EnvironmentProblem if they cannot be written."""

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

    def save_prompt(self, prompt: bytes) -> None:
        """Save a copy of the prompt for people. The agent does not read it: by its descriptor, it could write to it."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            with os.fdopen(os.open(self.prompt, flags, 0o600), "wb") as file:
                file.write(prompt)
        except OSError as error:
            raise refusal(error, "cannot be written", str(self.prompt)) from error

    def close(self, last: bytes = b"", lost: int = 0) -> None:
        """A stream that was cut ends with the number of bytes left out (with `lost`, which it never got), and with the
        line `last`."""
        self.stream.left_out += lost
        note = b'{"type":"ralphy_cut","bytes_left_out":%d}\n' % self.stream.left_out
        self.stream.close(note + last)
        self.errors.close(b"[%d bytes left out]\n" % self.errors.left_out)
