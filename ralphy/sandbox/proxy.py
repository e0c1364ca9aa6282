"""The way out of a closed sandbox: an HTTP proxy on a Unix socket that allows a few hosts and refuses all others.

It takes CONNECT for https, and absolute addresses for http. A connection leads to the one host that it was opened for,
whatever is sent through it later.
"""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Collection
from contextlib import suppress

from ralphy.errors import EnvironmentProblem
from ralphy.files import temporary
from ralphy.files.tree_walk import remove
from ralphy.sandbox.forward import join

_HEAD_BYTES = 64 * 1024
_PATIENCE_S = 30.0
_MOST_AT_ONCE = 100  # connections: each takes two descriptors and a thread of Ralphy's own; further ones wait
_CONNECT = re.compile(rb"CONNECT ([^\s:]+):(\d{1,5}) HTTP/1\.[01]\r\n")
_ABSOLUTE = re.compile(rb"([A-Z]+) http://([^\s/:@]+)(?::(\d{1,5}))?(/?\S*) (HTTP/1\.[01])\r\n", re.I)

Host = tuple[str, int]


def host_of(text: str) -> Host:
    """The (name, port) in `name` or `name:port`; the port is 443 by default."""
    name, colon, number = text.rpartition(":")
    return (name.lower(), int(number)) if colon and number.isdigit() else (text.lower(), 443)


class AllowProxy:
    """Serves in threads of this process until it is closed; the sandbox binds `folder`; `owner` is the checkout's
    token."""

    def __init__(self, hosts: Collection[Host], owner: str) -> None:
        self.hosts = frozenset(hosts)
        self._room = threading.BoundedSemaphore(_MOST_AT_ONCE)
        self.folder = temporary.make("proxy", owner)
        self.socket = self.folder / "proxy"
        self._listener = socket.socket(socket.AF_UNIX)
        try:
            self._listener.bind(os.fspath(self.socket))
        except OSError as error:
            self.close()
            raise EnvironmentProblem(
                f"cannot create a socket for the sandbox's network: {error}", where=str(self.socket),
                hint="set TMPDIR to a folder with a short path",
            ) from error  # fmt: skip
        self._listener.listen(64)
        threading.Thread(target=self._serve, daemon=True, name="ralphy-proxy").start()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        remove(self.folder)

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                self._room.acquire()
                near, _ = self._listener.accept()
                threading.Thread(target=self._answer, args=(near,), daemon=True).start()

    def _answer(self, near: socket.socket) -> None:
        try:
            self._lead(near)
        except OSError:
            near.close()
        finally:
            self._room.release()

    def _lead(self, near: socket.socket) -> None:
        near.settimeout(_PATIENCE_S)
        head = _head_of(near)
        host, onward = _wanted(head)
        if host not in self.hosts:
            _refuse(
                near,
                b"403 Forbidden",
                f"{host[0]}:{host[1]} is not in safety.network" if host else "not a proxy request",
            )
            return
        try:
            far = socket.create_connection(host, timeout=_PATIENCE_S)
        except OSError as error:
            _refuse(near, b"502 Bad Gateway", f"{host[0]}:{host[1]}: {error.strerror or error}")
            return
        near.settimeout(None)
        far.settimeout(None)
        if onward:
            far.sendall(onward)
        else:
            near.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        join(near, far)


def _head_of(near: socket.socket) -> bytes:
    """The data up to the end of the request's head, and what came with it."""
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _HEAD_BYTES:
        data = near.recv(1 << 16)
        if not data:
            break
        head += data
    return head


def _wanted(head: bytes) -> tuple[Host, bytes]:
    """(the host of a request, the data to send to it): for CONNECT there is none."""
    if match := _CONNECT.match(head):
        return (match[1].decode("ascii", "replace").lower(), int(match[2])), b""
    if match := _ABSOLUTE.match(head):
        line = b"%s %s %s\r\n" % (match[1], match[4] if match[4].startswith(b"/") else b"/" + match[4], match[5])
        host = (match[2].decode("ascii", "replace").lower(), int(match[3] or 80))
        return host, line + head[match.end() :]
    return ("", 0), b""


def _refuse(near: socket.socket, status: bytes, why: str) -> None:
    body = f"Ralphy's sandbox: {why}\n".encode()
    near.sendall(b"HTTP/1.1 %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s" % (status, len(body), body))
    near.close()
