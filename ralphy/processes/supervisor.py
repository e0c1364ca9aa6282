"""The supervisor of one program: it ends what the program leaves behind, and the program when Ralphy dies.

A script of its own, run as `python -I -S supervisor.py LINK RALPHY FILTER PACKAGES`, with the program's stdin, stdout
and stderr: LINK is the number of an inherited Unix socket, RALPHY the pid of who started it, FILTER the number of the
descriptor that the program finds at FILTER_AT (-1 for none), PACKAGES the folder that has psutil. By the link come
lines of JSON:

    in   {"argv": [...], "cwd": "...", "env": {...}}
    out  {"event": "started", "pid": 7}
         {"event": "failed", "message": "...", "is_folder": false}
         {"event": "exited", "returncode": -9}

When the link closes (Ralphy asks for the end, or has died), it kills all and ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

LINGER_S, GRACE_S = 0.01, 0.2  # what ends with the program needs no signal; what does not gets this after TERM
LOOK_S = 0.005
FILTER_AT, OUT_OF_THE_WAY = 3, 16
SET_PDEATHSIG, SET_CHILD_SUBREAPER = 1, 36  # of prctl
KEYCTL, JOIN_SESSION_KEYRING = {"x86_64": 250, "aarch64": 219}, 1


def main(link_at: str, _ralphy: str, filter_at: str, packages: str) -> None:
    """Run the program that the link orders to its end, or to that of the link; then end its tree."""
    sys.path.append(packages)
    link = socket.socket(fileno=fcntl.fcntl(int(link_at), fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY))
    os.close(int(link_at))
    kept = [FILTER_AT] if int(filter_at) >= 0 else []
    if kept:
        os.dup2(int(filter_at), FILTER_AT)
    order = link.makefile("rb").readline()
    program = start(link, json.loads(order), kept) if order else None
    if program is None:
        return
    is_over = threading.Event()
    threading.Thread(target=kill_at_the_end, args=(link, program.pid, is_over), daemon=True).start()
    returncode = wait_for(program.pid)
    end_tree(0.0 if is_over.is_set() else GRACE_S)
    tell(link, {"event": "exited", "returncode": returncode})


def start(link: socket.socket, order: dict[str, Any], kept: list[int]) -> subprocess.Popen[bytes] | None:
    """Start the program as a clean process, and let go of what it was given. None if that is impossible: it is told."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    for number in signal.valid_signals():
        if signal.getsignal(number) is signal.SIG_IGN and number not in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)  # those two are Python's own, and subprocess puts them back
    try:
        program = subprocess.Popen(
            order["argv"], cwd=order["cwd"], env=order["env"], pass_fds=kept, start_new_session=True,
            preexec_fn=hold_descendants() if sys.platform == "linux" else None,
        )  # fmt: skip
    except OSError as error:
        is_folder = error.filename == order["cwd"] != order["argv"][0]
        tell(link, {"event": "failed", "message": error.strerror or str(error), "is_folder": is_folder})
        return None
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    tell(link, {"event": "started", "pid": program.pid})
    return program


def hold_descendants() -> Callable[[], None]:
    """Have this process adopt every orphan below it, so that nothing escapes it by forking twice or by starting a
    session. Gives what a child does before it becomes the program. Only Linux has this.
    """
    me, libc, keyctl = os.getpid(), ctypes.CDLL(None), KEYCTL.get(os.uname().machine)
    libc.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def before_exec() -> None:
        libc.prctl(SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if keyctl:  # an empty keyring in the place of the one of the shell that Ralphy was started from
            libc.syscall(keyctl, JOIN_SESSION_KEYRING, None)
        if os.getppid() != me:  # it died before that was asked for
            os._exit(127)

    return before_exec


def kill_at_the_end(link: socket.socket, program: int, is_over: threading.Event) -> None:
    """In a thread: nothing comes after the order, so the link is readable when it has ended."""
    with contextlib.suppress(OSError):
        link.recv(1)
    is_over.set()
    with contextlib.suppress(ProcessLookupError):
        os.kill(program, signal.SIGKILL)


def wait_for(program: int) -> int:
    """Collect the dead, adopted ones too, up to the program; its exit code."""
    while True:
        pid, status = os.wait()
        if pid == program:
            return os.waitstatus_to_exitcode(status)


def end_tree(grace_s: float) -> None:
    """End every descendant and collect it.

    All are stopped before any is killed, so that none can fork away between two looks at the table.
    """
    if grace_s and are_left(LINGER_S):
        signal_tree(signal.SIGTERM, signal.SIGCONT)  # a stopped process hears only CONT and KILL
        are_left(grace_s)
    while are_left(LOOK_S):
        signal_tree(signal.SIGSTOP, signal.SIGKILL)


def are_left(seconds: float) -> bool:
    """Is any child left after that time? Comes back as soon as there is none."""
    end = time.monotonic() + seconds
    while has_children():
        if time.monotonic() >= end:
            return True
        time.sleep(LOOK_S)
    return False


def has_children() -> bool:
    """Collect the dead; is any child left?"""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    return False


def signal_tree(*numbers: int) -> None:
    """Send each signal to all descendants, one after the other."""
    import psutil  # it takes three times as long as all else here, and most programs leave nothing behind

    family = psutil.Process().children(recursive=True)
    for number in numbers:
        for one in family:
            with contextlib.suppress(psutil.Error):
                one.send_signal(number)


def tell(link: socket.socket, event: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # nobody listens any more
        link.sendall(json.dumps(event).encode() + b"\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
