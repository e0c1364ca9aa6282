"""One `git cat-file` that answers for all objects and refs, so that none of them costs a process."""

from __future__ import annotations

import select
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from ralphy.errors import EnvironmentProblem

LONGEST_S = 60.0
_NONE = (b" missing\n", b" ambiguous\n", b" submodule\n")


class ObjectReader:
    """Starts git at the first question, and again if the process was killed; `close` ends it."""

    def __init__(self, command: Sequence[str], root: Path, env: Mapping[str, str]) -> None:
        self._command = (*command, "cat-file", "--batch-command")
        self._root = root
        self._env = env
        self._process: subprocess.Popen[bytes] | None = None
        self._guard = threading.Lock()

    def close(self) -> None:
        """End the process; the next question starts another one."""
        process, self._process = self._process, None
        if process:
            process.communicate()

    def __del__(self) -> None:
        self.close()

    def id_of(self, name: str) -> str:
        """The id of the object that a full ref name or another revision leads to; "" if there is none."""
        header, _ = self._query("info", name)
        return header[0].decode() if header else ""

    def contents(self, name: str) -> tuple[str, str, bytes] | None:
        """(id, type, bytes) of the object that a revision leads to; None if there is none."""
        header, data = self._query("contents", name)
        return (header[0].decode(), header[1].decode(), data) if header else None

    def _query(self, command: str, name: str) -> tuple[list[bytes], bytes]:
        """([id, type, size], bytes) for `contents`, the same without bytes for `info`; empty if there is no object."""
        if not name or "\n" in name:
            return [], b""
        line = f"{command} {name}\n".encode("utf-8", "surrogateescape")
        with self._guard:
            answer = self._send(line) or self._send(line)  # the process may have been killed: once more
        if answer is None:
            raise EnvironmentProblem(f"git cannot read object {name[:200]}", hint="git fsck")
        header, data = answer
        return ([], b"") if header.endswith(_NONE) else (header.split(), data)

    def _send(self, line: bytes) -> tuple[bytes, bytes] | None:
        """(header, data) as git prints them; None if it ended before the answer was complete."""
        process = self._process or self._start()
        assert process.stdin and process.stdout
        header, size, data = b"", 0, b""
        try:
            process.stdin.write(line)
            process.stdin.flush()
            if not select.select([process.stdout], [], [], LONGEST_S)[0]:  # a FIFO in the place of a ref, say
                raise EnvironmentProblem(f"git gives no answer about {line.decode(errors='replace').strip()}")
            header = process.stdout.readline()
            number = header.rsplit(b" ", 1)[-1].strip()
            if line.startswith(b"contents ") and number.isdigit():
                size = int(number) + 1  # a line's end follows
                data = process.stdout.read(size)
        except BrokenPipeError:
            header = b""
        except BaseException:  # the rest of its output would be taken for the next answer
            process.kill()
            self.close()
            raise
        if header.endswith(b"\n") and len(data) == size:  # for a damaged object, git prints the size, and dies
            return header, data[:-1]
        self.close()
        return None

    def _start(self) -> subprocess.Popen[bytes]:
        self._process = subprocess.Popen(
            self._command, cwd=self._root, env=dict(self._env), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return self._process
