"""The supervisor of one program: it ends what the program leaves behind, and the program when Ralphy dies.

A script of its own, run as `python -I -S supervisor.py LINK RALPHY FILTER PACKAGES`, with the program's stdin, stdout
and stderr: LINK is the number of an inherited Unix socket, RALPHY the pid of who started it, FILTER the number of the
descriptor that the program finds at FILTER_AT (-1 for none), PACKAGES the folder that has psutil. By the link come
lines of JSON:

    in   {"argv": [...], "cwd": "...", "env": {...}}
    out  {"event": "started", "pid": 7}
         {"event": "failed", "message": "...", "is_folder": false}
         {"event": "exited", "returncode": -9, "killed": 3}

When the link closes (Ralphy asks for the end, or has died) or SIGTERM comes, it kills all and ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import psutil

LINGER_S, GRACE_S = 0.01, 0.2  # what ends with the program needs no signal; what does not gets this after TERM
KILL_ROUNDS, ROUND_S = 200, 0.005
FILTER_AT, OUT_OF_THE_WAY = 3, 16
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
SET_PDEATHSIG, SET_CHILD_SUBREAPER = 1, 36  # of prctl
KEYCTL, JOIN_SESSION_KEYRING = {"x86_64": 250, "aarch64": 219}, 1


def main(link_at: str, _ralphy: str, filter_at: str, packages: str) -> None:
    """Run the program that the link orders."""
    sys.path.append(packages)
    link = socket.socket(fileno=fcntl.fcntl(int(link_at), fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY))
    os.close(int(link_at))
    kept = [FILTER_AT] if int(filter_at) >= 0 else []
    if kept:
        os.dup2(int(filter_at), FILTER_AT)
    order = link.makefile("rb").readline()
    if order:
        Supervisor(link).serve(json.loads(order), kept)


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


class Supervisor:
    """The program and its descendants."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.program = 0
        self.status: int | None = None
        self.killed: set[int] = set()
        self.wake = listen_to_signals(link)

    def serve(self, order: dict[str, Any], kept: list[int]) -> None:
        """Run the program to its end, or to that of the link; then end its tree."""
        resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
        if not self.start(order, kept):
            return
        sources, is_over = select.poll(), False
        sources.register(self.wake, select.POLLIN)
        sources.register(self.link, select.POLLIN)  # nothing comes after the order: it is readable at its end
        while self.status is None and not is_over:
            is_over = any(fd == self.link.fileno() for fd, _ in sources.poll())
            self.drain_signals()
            self.reap()
        self.end_tree(0.0 if is_over else GRACE_S)
        if self.status is not None:
            code, killed = os.waitstatus_to_exitcode(self.status), len(self.killed - {self.program})
            self.tell({"event": "exited", "returncode": code, "killed": killed})

    def start(self, order: dict[str, Any], kept: list[int]) -> bool:
        """Start the program, and let go of what it was given; False, and the reason is told, if that is impossible."""
        try:
            # Kept: subprocess would collect the end of one that is forgotten, and `reap` is to hear of it.
            self.child = subprocess.Popen(
                order["argv"], cwd=order["cwd"], env=order["env"], pass_fds=kept, start_new_session=True,
                preexec_fn=hold_descendants() if sys.platform == "linux" else None,
            )  # fmt: skip
        except OSError as error:
            is_folder = error.filename == order["cwd"] != order["argv"][0]
            self.tell({"event": "failed", "message": error.strerror or str(error), "is_folder": is_folder})
            return False
        self.program = self.child.pid
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        self.tell({"event": "started", "pid": self.program})
        return True

    def drain_signals(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self.wake, 4096)

    def reap(self) -> bool:
        """Collect the dead, adopted ones too; True while any child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.program:
                self.status = status

    def end_tree(self, grace_s: float) -> None:
        """Kill every descendant and reap it, in about a second.

        All are stopped before any is killed, so that none can fork away between two looks at the table.
        """
        if grace_s and self.outlives(LINGER_S):
            self.signal_tree(signal.SIGTERM, signal.SIGCONT)  # a stopped process hears only CONT and KILL
            self.outlives(grace_s)
        for _ in range(KILL_ROUNDS):
            if not self.reap():
                break
            self.signal_tree(signal.SIGSTOP, signal.SIGKILL)
            self.rest(ROUND_S)

    def outlives(self, seconds: float) -> bool:
        """Is any child left after that time? Comes back as soon as there is none."""
        end = time.monotonic() + seconds
        while (is_left := self.reap()) and (left := end - time.monotonic()) > 0:
            self.rest(left)
        return is_left

    def signal_tree(self, *numbers: int) -> None:
        """Send each signal to all descendants, one after the other; `killed` gets those that were alive."""
        import psutil  # it takes three times as long as all else here, and most programs leave nothing behind

        family = psutil.Process().children(recursive=True)
        self.killed |= {one.pid for one in family if is_alive(one)}
        for number in numbers:
            for one in family:
                with contextlib.suppress(psutil.Error):
                    one.send_signal(number)

    def rest(self, timeout_s: float) -> None:
        """Until the next signal (a child's end), at most `timeout_s` seconds."""
        if select.select([self.wake], [], [], timeout_s)[0]:
            self.drain_signals()

    def tell(self, event: dict[str, Any]) -> None:
        with contextlib.suppress(OSError):  # nobody listens any more
            self.link.sendall(json.dumps(event).encode() + b"\n")


def is_alive(one: psutil.Process) -> bool:
    import psutil

    try:
        return bool(one.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def listen_to_signals(link: socket.socket) -> int:
    """A descriptor that becomes readable when signals come. What is to end this process closes the link.

    The program begins with the system's answers to all signals, whatever whoever started Ralphy had ignored.
    """
    for number in signal.valid_signals():
        if signal.getsignal(number) is signal.SIG_IGN and number not in (signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)  # those two are Python's own, and subprocess puts them back
    wake, write_end = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(write_end, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    for number in ENDING:
        signal.signal(number, lambda *_: close_link(link))
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    return wake


def close_link(link: socket.socket) -> None:
    with contextlib.suppress(OSError):  # it is closed already
        link.shutdown(socket.SHUT_RDWR)


if __name__ == "__main__":
    main(*sys.argv[1:])
