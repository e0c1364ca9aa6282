"""Keeps the machine from going to sleep by itself while there is work, by a program of the system's.

The program runs `cat`, which ends with this process, however that ends. A closed lid still suspends the machine, and so
does a person.
"""

from __future__ import annotations

import select
import subprocess
from collections.abc import Mapping
from pathlib import Path

from ralphy.processes import program_paths

_ANSWER_S = 5.0
_HOLD = ("sh", "-c", "echo held; exec cat >/dev/null")
# The first one on PATH is used.
_PROGRAMS = (
    ("systemd-inhibit", ("--what=idle", "--who=Ralphy", "--why=agents are at work", "--mode=block")),
    ("caffeinate", ("-i",)),
)


class KeepAwake:
    """Holds off idle sleep while at least one holder, known by its name, needs it; `why_not` is the reason if it
    cannot."""

    def __init__(self, env: Mapping[str, str], root: str = "") -> None:
        self.program = ""
        self.why_not = ""
        self._env, self._root = env, root
        self._holders: set[str] = set()
        self._process: subprocess.Popen[bytes] | None = None

    def hold(self, name: str) -> bool:
        """Hold off idle sleep for a holder; returns whether that works. After a failure it is not tried again."""
        self._holders.add(name)
        if self._process is None and not self.why_not:
            self._start()
        return self._process is not None

    def release(self, name: str) -> None:
        self._holders.discard(name)
        if not self._holders:
            self.close()

    def close(self) -> None:
        process, self._process = self._process, None
        if process:
            _end(process)

    def _start(self) -> None:
        installed = ((path, words) for name, words in _PROGRAMS
                     if (path := program_paths.find(name, self._env, self._root)))  # fmt: skip
        path, words = next(installed, ("", ()))
        if not path:
            self.why_not = f"neither {' nor '.join(name for name, _ in _PROGRAMS)} is on PATH"
            return
        process = subprocess.Popen(
            (path, *words, *_HOLD), env=dict(self._env), start_new_session=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout
        answers = select.select([process.stdout], [], [], _ANSWER_S)[0]
        if answers and process.stdout.readline() == b"held\n":
            self.program, self._process = Path(path).name, process
            return
        stderr = _end(process).decode("utf-8", "replace").strip()
        self.why_not = f"{Path(path).name}: {stderr.splitlines()[0] if stderr else 'no answer'}"


def _end(process: subprocess.Popen[bytes]) -> bytes:
    """Close the pipe that keeps it running, and wait for its end; returns its stderr."""
    try:
        return process.communicate(timeout=_ANSWER_S)[1]
    except (subprocess.TimeoutExpired, OSError):  # an error where a library that shifts the clock refuses to wait
        process.kill()
        process.wait()
        return b""
