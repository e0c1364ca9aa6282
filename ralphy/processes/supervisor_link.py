"""The line to the warm supervisor: its process, the socket, orders out and events in."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from ralphy.errors import EnvironmentProblem
from ralphy.system import IS_PORTABLE, VARIABLE

SCRIPT = str(Path(__file__).with_name("supervisor.py"))
PACKAGES = str(Path(__file__).parents[2])  # where Ralphy's own package lies
GOODBYE_S = 5.0


class LinkError(Exception):
    """The supervisor process has gone, or no longer does what it is told."""


class Link:
    """A supervisor process of our own; making one starts it without waiting for it.

    `in_step` is False while an order is half sent: after an exception there, the link can only be dropped.
    """

    def __init__(self) -> None:
        self.socket, theirs = socket.socketpair()
        self.in_step = True
        self._received = b""
        with theirs:
            try:
                self._process = _start(theirs.fileno())
            except OSError as error:
                self.socket.close()
                raise EnvironmentProblem(f"no process can be started: {error.strerror}") from error

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, order: dict[str, Any], descriptors: tuple[int, ...] = ()) -> None:
        """Give an order, with open files that travel along. Raises LinkError."""
        body = json.dumps(order).encode() + b"\n"
        self.in_step = False
        try:
            sent = socket.send_fds(self.socket, [body], descriptors) if descriptors else 0
            self.socket.sendall(body[sent:])
        except OSError as error:
            raise LinkError(error.strerror or "broken link") from error
        self.in_step = True

    def events(self) -> Iterator[dict[str, Any]]:
        """What it has said; waits if that is nothing yet. Raises LinkError when it has gone."""
        try:
            data = self.socket.recv(1 << 16)
        except OSError as error:
            raise LinkError(error.strerror or "broken link") from error
        if not data:
            raise LinkError("it closed its link")
        *lines, self._received = (self._received + data).split(b"\n")
        return (json.loads(line) for line in lines)

    def kill(self) -> None:
        """For a supervisor that obeys no more; its program dies with it, what that started may not."""
        self._process.kill()

    def drop(self) -> None:
        """Hang up, upon which the supervisor kills its tree and ends; kill it if it does not."""
        self.socket.settimeout(GOODBYE_S)
        try:
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)
            while self.socket.recv(1 << 16):
                pass
        except TimeoutError:
            self._process.kill()
        except OSError:
            pass  # it went before us
        finally:
            self.socket.close()
        self._process.wait()


def _start(descriptor: int) -> subprocess.Popen[bytes]:
    # Without markers, lest a sweep for the run that this Ralphy itself is part of takes it for a leftover.
    env = {name: value for name, value in os.environ.items() if not name.startswith("RALPHY_") or name == VARIABLE}
    return subprocess.Popen(
        [sys.executable, "-I", "-S", SCRIPT, str(descriptor), str(os.getpid()), *_packages()],
        pass_fds=[descriptor],
        env=env,
        cwd="/",
        start_new_session=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _packages() -> list[str]:
    """The folders from which a supervisor imports: it looks nowhere else, so that it starts fast."""
    if not IS_PORTABLE:
        return [PACKAGES]
    import psutil

    return [PACKAGES, str(Path(psutil.__file__).parents[1])]
