"""Inside a sandbox without network: forward a loopback port to the proxy outside, and become the program.

A script of its own, run as `python -I -S forward.py SOCKET PORT -- PROGRAM...`. The port listens before the program
starts. A grandchild serves it, so that the program has no unknown child, until the sandbox ends.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress


def main(arguments: Sequence[str]) -> None:
    """Become the program, with the port served beside it."""
    path, port, _, *program = arguments
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", int(port)))
    listener.listen(64)
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            serve(listener, path)
        os._exit(0)
    os.waitpid(child, 0)
    listener.close()
    try:
        os.execvp(program[0], program)  # noqa: S606 - without a shell, on purpose
    except OSError as error:
        sys.stderr.write(f"{program[0]} cannot be started: {error.strerror}\n")
        sys.exit(127)


def serve(listener: socket.socket, path: str) -> None:
    """Forward every connection, in threads, until the sandbox ends."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    while True:
        near, _ = listener.accept()
        threading.Thread(target=forward, args=(near, path), daemon=True).start()


def forward(near: socket.socket, path: str) -> None:
    far = socket.socket(socket.AF_UNIX)
    try:
        far.connect(path)
    except OSError:
        near.close()
        return
    join(near, far)


def join(one: socket.socket, other: socket.socket) -> None:
    """Copy both ways until both have ended."""
    back = threading.Thread(target=copy, args=(other, one), daemon=True)
    back.start()
    copy(one, other)
    back.join()
    one.close()
    other.close()


def copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main(sys.argv[1:])
