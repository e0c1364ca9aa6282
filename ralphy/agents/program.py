"""What all agents' programs have in common: the files of a run, and a command line inside the walls."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ralphy.agents.protocol import AgentRequest
from ralphy.files.capped_file import CappedFile
from ralphy.files.disk_space import refusal
from ralphy.processes.command import Command
from ralphy.sandbox.bubblewrap import Sandbox
from ralphy.system.door import here

MAX_STREAM = 64 << 20
MAX_STDERR = 1 << 20


class RunFiles:
    """What a run leaves in its folder: `prompt.md`, `stream.ndjson` as it was printed, `stderr.log`; and `input`, what
    the program reads. Raises EnvironmentProblem where they cannot be written."""

    def __init__(self, request: AgentRequest) -> None:
        folder = Path(request.run_dir)
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)
            self.input = here.input_file("prompt")
            self.stream = CappedFile(folder / "stream.ndjson", MAX_STREAM)
            self.errors = CappedFile(folder / "stderr.log", MAX_STDERR)
        except OSError as error:
            raise refusal(error, "cannot be written", request.run_dir) from error
        self.prompt = folder / "prompt.md"

    def begin(self, prompt: bytes) -> None:
        """Give the prompt to the agent, whose input is open already, and keep a copy for people.

        The agent's input is not a file of the run's folder: by way of its own descriptor it could write to that.
        """
        try:
            _write_private(self.prompt, prompt)
            self.input.seal(prompt)
        except OSError as error:
            raise refusal(error, "cannot be written", str(self.prompt)) from error

    def close(self, last: bytes = b"", lost: int = 0) -> None:
        """A stream that was cut says how many bytes are missing (`lost` are those that never came to it), and ends with
        the line `last`."""
        self.input.close()
        self.stream.left_out += lost
        note = b'{"type":"ralphy_cut","bytes_left_out":%d}\n' % self.stream.left_out
        self.stream.close(note + last)
        self.errors.close(b"[%d bytes left out]\n" % self.errors.left_out)


def command_of(argv: Sequence[str], request: AgentRequest, files: RunFiles, sandbox: Sandbox | None) -> Command:
    """A command line as it is started: inside the walls, if there are any, with the prompt as its input."""
    held = sandbox.held if sandbox else None
    words = tuple(held.around(argv, request.env, request.outbox)) if held else tuple(argv)
    is_held = held is not None and held.is_around(words)
    return Command(argv=words, cwd=request.cwd, env=request.env, deadline_s=request.deadline_s,
                   stdin_path=files.input.path, is_held=is_held,
                   filter=held.filter if held and is_held else b"")  # fmt: skip


def _write_private(path: Path, data: bytes) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(data)
