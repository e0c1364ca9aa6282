"""The agent's tools: each call is printed as the real CLI prints it, and carried out."""

from __future__ import annotations

import errno
import os
import shlex
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from ralphy.rehearsal.context import Context
from ralphy.rehearsal.signals import STEP_S, SignalHandler
from ralphy.rehearsal.stream import Stream


class Tools:
    """The tools of a turn. `touched` are the files changed so far; `is_red` says that the last command failed."""

    def __init__(self, context: Context, stream: Stream, signals: SignalHandler) -> None:
        self.context = context
        self.stream = stream
        self.touched: set[Path] = set()
        self.is_red = False
        self.signals = signals
        self._command: subprocess.Popen[str] | None = None

    def path(self, name: str) -> Path:
        """A file by its name relative to the working folder; placeholders are filled."""
        return self.context.cwd / self.context.fill(name)

    def read(self, path: Path) -> None:
        """The Read tool."""
        call = self.stream.call("Read", file_path=str(path))
        if not path.is_file():
            where = f"Note: your current working directory is {self.context.cwd}."
            self.stream.reply(call, f"File does not exist. {where}", is_error=True)
            return
        lines = text_of(path).split("\n")
        self.stream.reply(call, "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, start=1)))

    def write(self, path: Path, text: str) -> None:
        """The Write tool: `text` becomes the whole content of the file; folders are made."""
        call = self.stream.call("Write", file_path=str(path), content=text)
        self._put(call, path, text, f"File written successfully at: {path}")

    def append(self, path: Path, text: str) -> None:
        """The Edit tool, used to add `text` at the end; a file that is empty or missing is written."""
        before = text_of(path)
        if not before:
            self.write(path, text)
            return
        old = before[before.rstrip("\n").rfind("\n") + 1 :]
        call = self.stream.call("Edit", file_path=str(path), old_string=old, new_string=old + text, replace_all=False)
        self._put(call, path, before + text, f"The file {path} has been updated successfully.")

    def delete(self, paths: list[Path]) -> None:
        """`rm -rf` by the Bash tool."""
        self.touched.update(paths)
        self.bash(["rm", "-rf", "--", *map(str, paths)])

    def bash(self, *commands: list[str]) -> None:
        """The Bash tool: the commands one after the other until one fails.

        There is no shell; each command has its own session, as with the real CLI.
        """
        line = " && ".join(map(shlex.join, commands))
        call = self.stream.call("Bash", command=line, description="Rehearsed command")
        code, parts = 0, []
        for argv in commands:
            code, *output = self._execute(argv)
            parts += [part.strip("\n") for part in output if part.strip()]
            if code:
                parts.insert(0, f"Exit code {code}")
                break
        self.is_red = bool(code)
        self.stream.reply(call, "\n".join(parts), is_error=self.is_red)

    def kill_command(self) -> None:
        """Kill the running command and its children."""
        if self._command:
            with suppress(ProcessLookupError):
                os.killpg(self._command.pid, signal.SIGKILL)

    def _put(self, call: str, path: Path, text: str, done: str) -> None:
        """Write the file and reply to the call; where that is not possible, the call fails."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="")
        except OSError as problem:
            name = errno.errorcode.get(problem.errno or 0, "EIO")
            self.stream.reply(call, f"{name}: {problem.strerror}, open '{path}'", is_error=True)
            return
        self.touched.add(path)
        self.stream.reply(call, done)

    def _execute(self, argv: list[str]) -> tuple[int, str, str]:
        """Exit code, stdout and stderr; 127 for an unknown program."""
        own = {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": self.stream.session, "GIT_EDITOR": "true"}
        try:
            self._command = command = subprocess.Popen(
                argv, cwd=self.context.cwd, env={**os.environ, **own}, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, encoding="utf-8",
                errors="replace",
            )  # fmt: skip
        except OSError as problem:
            return 127, "", f"{argv[0]}: {problem.strerror}"
        output, errors = self._output(command)
        self._command = None
        return command.returncode if command.returncode >= 0 else 128 - command.returncode, output, errors

    def _output(self, command: subprocess.Popen[str]) -> tuple[str, str]:
        """What the command prints until it ends; Interrupted when SIGINT comes first."""
        while True:
            self.signals.check()
            with suppress(subprocess.TimeoutExpired):
                return command.communicate(timeout=STEP_S)


def text_of(path: Path) -> str:
    """The file's text as far as it can be read, line endings as they are; empty when there is none."""
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""
