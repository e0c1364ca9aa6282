"""The line to the warm supervisor: its process, the socket, orders out and events in."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ralphy.errors import EnvironmentProblem
from ralphy.system import IS_PORTABLE, VARIABLE

SCRIPT = str(Path(__file__).with_name("supervisor.py"))
PACKAGES = str(Path(__file__).parents[2])  # where Ralphy's own package lies
GOODBYE_S = 5.0
FORK_S = 30.0  # a machine under load takes its time


class LinkError(Exception):
    """The supervisor process has gone, or no longer does what it is told."""


class Link:
    """A supervisor process of our own; making one starts it, and waits for it only if a template forks it.

    `in_step` is False while an order is half sent: after an exception there, the link can only be dropped.
    """

    def __init__(self, template: Template | None = None, kind: str = "alone") -> None:
        self.socket, theirs = socket.socketpair()
        self.in_step = True
        self._received = b""
        self._process: subprocess.Popen[bytes] | _Fork
        try:
            with theirs:
                if template:
                    template.fork(theirs.fileno())
                else:
                    self._process = _start(theirs.fileno(), kind)
            if template:
                self._process = _Fork(self._pid_told())
        except (OSError, LinkError) as error:
            self.socket.close()
            why = getattr(error, "strerror", None) or error
            raise EnvironmentProblem(f"no process can be started: {why}") from error
        except BaseException:
            self.socket.close()  # it ends by that
            raise

    def _pid_told(self) -> int:
        self.socket.settimeout(FORK_S)
        (told,) = self.events()
        self.socket.settimeout(None)
        return int(told["pid"])

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


class Template:
    """A process from which supervisors are forked, so that they share what they have in memory; started when first
    needed."""

    def __init__(self) -> None:
        self._link: Link | None = None
        self._guard = threading.Lock()

    def fork(self, descriptor: int) -> None:
        """Have a supervisor made, for the other end of this socket. Raises LinkError."""
        with self._guard:
            try:
                self._send(descriptor)
            except LinkError:  # somebody has ended it
                self.close()
                self._send(descriptor)

    def _send(self, descriptor: int) -> None:
        self._link = self._link or Link(kind="template")
        self._link.send({"do": "fork"}, (descriptor,))

    def close(self) -> None:
        """End it, and all that were forked from it."""
        link, self._link = self._link, None
        if link:
            link.drop()


@dataclass(frozen=True, slots=True)
class _Fork:
    """A supervisor that a template has forked, and does not wait for: its pid stays its own while that is there."""

    pid: int

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        """Its template is the one to wait."""


def _start(descriptor: int, kind: str) -> subprocess.Popen[bytes]:
    # Without markers, lest a sweep for the run that this Ralphy itself is part of takes it for a leftover.
    env = {name: value for name, value in os.environ.items() if not name.startswith("RALPHY_") or name == VARIABLE}
    return subprocess.Popen(
        [sys.executable, "-I", "-S", SCRIPT, str(descriptor), str(os.getpid()), kind, *_packages()],
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
