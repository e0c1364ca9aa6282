"""The warm supervisor: starts one program at a time and ends whatever that program leaves behind.

A script of its own, run as `python -I -S supervisor.py LINK PARENT KIND FOLDER...`: LINK is the number of an inherited
Unix socket, PARENT the pid it must have been started by, the FOLDERs have the packages that it imports. KIND is
`alone`, or `template` for a process that runs no program: on order it forks a supervisor, which shares its memory.
Orders and events are lines of JSON:

    in   {"do": "fork"}, to a template, the new supervisor's link with it
         {"do": "start", "argv": [...], "cwd": "...", "env": {...}}, the child's descriptors from 0 on with it
         {"do": "signal", "signal": 2, "tree": false}
         {"do": "kill"}
    out  {"event": "forked", "pid": 6}, by the new supervisor
         {"event": "started", "pid": 7}
         {"event": "failed", "errno": 2, "message": "...", "what": "program"}
         {"event": "exited", "returncode": -9, "killed": 3}

`ralphy/system` says how it knows all descendants. When the link closes (the parent died) or SIGTERM comes, it kills
them and ends.
"""

from __future__ import annotations

import array
import contextlib
import fcntl
import gc
import json
import math
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from ralphy.system.processes import Descendants

LINGER_S, GRACE_S = 0.01, 0.2  # what ends with the program needs no signal; what does not gets this after TERM
KILL_ROUNDS, ROUND_S = 200, 0.005
MOST_DESCRIPTORS, OUT_OF_THE_WAY = 5, 16  # of a child: stdin, stdout, stderr, its filter, what a held one waits at
WAKING = (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP)


def main(arguments: list[str]) -> int:
    """Serve the link until it closes; 1 when the parent was gone already."""
    link, parent = socket.socket(fileno=int(arguments[0])), int(arguments[1])
    sys.path += arguments[3:]
    from ralphy.system.processes import processes

    if arguments[2] == "template":
        parent, own = os.getpid(), forked(link)
        if own is None:
            return 0
        link = own
    descendants = processes.hold_descendants()
    if os.getppid() != parent:
        return 1
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    keep_descriptors_private(processes.OPEN_FILES)
    Supervisor(link, parent, descendants).serve()
    return 0


def forked(link: socket.socket) -> socket.socket | None:
    """Fork on each order. Gives the fork its link; None, at the end of its own link, to the template.

    The template waits for no fork: the pid of one that ended is not given to another process.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.collect()
    gc.freeze()  # a page that nobody writes to stays shared
    while True:
        order, descriptors, _, _ = socket.recv_fds(link, 1 << 10, 1)
        if not order:
            return None
        with contextlib.suppress(OSError):  # who asked for it sees its link close
            if os.fork() == 0:
                link.close()
                os.setsid()
                own = socket.socket(fileno=descriptors[0])
                own.sendall(json.dumps({"event": "forked", "pid": os.getpid()}).encode() + b"\n")
                return own
        os.close(descriptors[0])


def keep_descriptors_private(open_files: str) -> None:
    """Whatever this process holds beyond stdin, stdout and stderr closes itself when a child is executed."""
    for entry in os.scandir(open_files):
        if int(entry.name) > 2:
            with contextlib.suppress(OSError):  # that of the look itself
                os.set_inheritable(int(entry.name), False)


class Supervisor:
    """One child and its descendants, driven by the link and by SIGCHLD; on Linux, nothing here polls while idle."""

    def __init__(self, link: socket.socket, parent: int, descendants: Descendants) -> None:
        self.link, self.parent, self.descendants = link, parent, descendants
        self.main = 0
        self.status: int | None = None
        self.killed: set[int] = set()
        self.over, self.received = False, b""
        self.descriptors: list[int] = []
        self.wake = listen_to_signals()
        self.changed = [n for n in range(1, signal.NSIG) if signal.getsignal(n) not in (signal.SIG_DFL, None)]
        self.signals, self.everything = select.poll(), select.poll()
        self.signals.register(self.wake, select.POLLIN)
        self.everything.register(self.wake, select.POLLIN)
        self.everything.register(link.fileno(), select.POLLIN)

    def serve(self) -> None:
        try:
            while not self.over:
                ready = {fd for fd, _ in self.everything.poll(self.patience_ms())}
                self.descendants.look()
                if self.wake in ready:
                    self.heed_signals()
                if self.link.fileno() in ready:
                    for order in self.orders():
                        self.obey(order)
        finally:
            self.end_tree(0.0)

    def patience_ms(self) -> float | None:
        watch_s = self.descendants.watch_s
        return watch_s * 1000 if self.main and watch_s < math.inf else None

    def orders(self) -> Iterator[dict[str, Any]]:
        """The whole orders that have arrived; the end of the link sets `over`."""
        room = socket.CMSG_SPACE(MOST_DESCRIPTORS * array.array("i").itemsize)
        try:
            data, ancillary, _, _ = self.link.recvmsg(1 << 16, room)
        except OSError:
            data, ancillary = b"", []
        for _, _, raw in ancillary:
            received = array.array("i", raw[: len(raw) - len(raw) % array.array("i").itemsize])
            for fd in received:
                os.set_inheritable(fd, False)
            self.descriptors += received
        self.over = self.over or not data
        *lines, self.received = (self.received + data).split(b"\n") if b"\n" in data else [self.received + data]
        return (json.loads(line) for line in lines)

    def obey(self, order: dict[str, Any]) -> None:
        if order["do"] == "start":
            self.start(order)
        elif order["do"] == "kill":
            self.end_tree(0.0)
            self.report_exit()
        elif order["tree"]:
            self.signal_tree(order["signal"], signal.SIGCONT)  # a stopped process hears only CONT and KILL
        elif self.main:
            signal_quietly(self.descendants.inside(self.main), order["signal"], signal.SIGCONT)

    def start(self, order: dict[str, Any]) -> None:
        """Fork and execute; answers only when the program runs or could not be executed."""
        given, self.descriptors = self.descriptors, []
        trouble_in, trouble_out = os.pipe()
        order["env"] |= self.descendants.marks()
        signal.pthread_sigmask(signal.SIG_BLOCK, WAKING)
        try:
            pid = os.fork()
            if pid == 0:
                self.become(order, given, trouble_out)
        except OSError as error:
            pid = 0
            os.write(trouble_out, describe(error, "process"))
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for fd in (*given, trouble_out):
            os.close(fd)
        with os.fdopen(trouble_in, "rb") as told:
            trouble = told.read()
        if trouble and pid:
            os.waitpid(pid, 0)
        self.main, self.killed = (0 if trouble else pid), set()
        if self.main:
            self.descendants.began(pid)
        self.tell({"event": "failed", **json.loads(trouble)} if trouble else {"event": "started", "pid": pid})

    def become(self, order: dict[str, Any], given: list[int], trouble: int) -> NoReturn:
        """In the forked child: turn into the program, or write why not to `trouble` and end."""
        what = "process"
        try:
            self.descendants.become_program()
            os.setsid()
            for number in self.changed:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            trouble, *given = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY) for fd in (trouble, *given))
            for target, fd in enumerate(given):
                os.dup2(fd, target)
            what = "folder"
            os.chdir(order["cwd"])
            what = "program"
            os.execvpe(order["argv"][0], order["argv"], order["env"])  # noqa: S606 - without a shell, on purpose
        except BaseException as error:  # whatever it is must be told; nothing may return from here
            os.write(trouble, describe(error, what))
        os._exit(127)

    def heed_signals(self) -> None:
        self.drain_signals()
        self.reap()
        self.report_exit()

    def drain_signals(self) -> None:
        try:
            numbers = os.read(self.wake, 4096)
        except BlockingIOError:
            return
        if signal.SIGTERM in numbers or (signal.SIGHUP in numbers and os.getppid() != self.parent):
            self.over = True

    def reap(self) -> bool:
        """Collect the dead, adopted ones too; True while any child is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.main:
                self.main, self.status = 0, status

    def are_left(self) -> bool:
        """Is anything left of the program?"""
        return self.descendants.are_left(has_children=self.reap())

    def report_exit(self) -> None:
        """Say that the main child has ended, once nothing of it is left."""
        if self.status is None:
            return
        status, self.status = self.status, None
        self.end_tree(GRACE_S)
        self.tell({"event": "exited", "returncode": os.waitstatus_to_exitcode(status), "killed": len(self.killed)})

    def end_tree(self, grace_s: float) -> None:
        """Kill every descendant and reap it, in about a second; `killed` collects all but the main child.

        All are stopped before any is killed, so that none can fork away between two looks at the table.
        """
        main = {self.main}
        if grace_s and self.outlives(LINGER_S):
            self.killed |= self.signal_tree(signal.SIGTERM, signal.SIGCONT) - main
            self.outlives(grace_s)
        for _ in range(KILL_ROUNDS):
            if not self.are_left():
                break
            self.killed |= self.signal_tree(signal.SIGSTOP, signal.SIGKILL) - main
            self.rest(ROUND_S)
        self.descendants.ended()

    def outlives(self, seconds: float) -> bool:
        """Is any child left after that time? Comes back as soon as there is none."""
        end = time.monotonic() + seconds
        while (is_left := self.are_left()) and time.monotonic() < end:
            self.rest(min(end - time.monotonic(), self.descendants.look_again_s))
        return is_left

    def signal_tree(self, *numbers: int) -> set[int]:
        """Send each signal to all descendants, one after the other; the pids that were not dead yet."""
        family = self.descendants.alive()
        for number in numbers:
            for pid, _ in family:
                signal_quietly(pid, number)
        return {pid for pid, state in family if state != b"Z"}

    def rest(self, timeout_s: float) -> None:
        """Until the next signal (a child's end), at most `timeout_s` seconds."""
        if self.signals.poll(max(timeout_s, 0.0) * 1000):
            self.drain_signals()

    def tell(self, event: dict[str, Any]) -> None:
        try:
            self.link.sendall(json.dumps(event).encode() + b"\n")
        except OSError:
            self.over = True


def describe(error: BaseException, what: str) -> bytes:
    number = getattr(error, "errno", None) or 0
    text = os.strerror(number) if number else str(error)
    return json.dumps({"errno": number, "message": text, "what": what}).encode()


def listen_to_signals() -> int:
    """A descriptor that becomes readable, with their numbers, when signals come."""
    wake, write_end = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(write_end, False)
    for number in WAKING:
        signal.signal(number, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    return wake


def signal_quietly(pid: int, *numbers: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        for number in numbers:
            os.kill(pid, number)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
