"""The supervisor of one program: it ends what the program leaves behind, and everything when Ralphy dies.

A script of its own, run as `python -I -S supervisor.py LINK RALPHY FILTER PACKAGES`, with the program's stdin, stdout
and stderr. LINK is the number of an inherited Unix socket, RALPHY the pid of who started it, FILTER the number of the
descriptor that the program finds at FILTER_AT (-1 for none), PACKAGES the folder that has psutil. The link carries

    in   one line of JSON: [the program's words, its current folder, its environment]
    out  a line each: "started PID", "failed folder ERRNO" or "failed program ERRNO", "exited CODE"

When Ralphy dies, or closes its end of the link for writing, the supervisor kills the program and all its descendants.
"""

from __future__ import annotations

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

LINGER_S, GRACE_S = 0.01, 0.2  # what ends with the program needs no signal; what does not gets this after SIGTERM
LOOK_S = 0.005
FILTER_AT, OUT_OF_THE_WAY = 3, 16
SET_PDEATHSIG, SET_CHILD_SUBREAPER = 1, 36  # of prctl
KEYCTL, JOIN_SESSION_KEYRING = {"x86_64": 250, "aarch64": 219}, 1
LIBC = ctypes.CDLL(None)
SUPERVISOR = os.getpid()


def main(link_at: str, _ralphy: str, filter_at: str, packages: str) -> None:
    """Run the program to its end, or until Ralphy hangs up; then end its tree."""
    sys.path.append(packages)
    link = socket.socket(fileno=fcntl.fcntl(int(link_at), fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY))
    os.close(int(link_at))
    if int(filter_at) not in (-1, FILTER_AT):
        os.dup2(int(filter_at), FILTER_AT)
        os.close(int(filter_at))
    request = link.makefile("rb").readline()
    if not request:
        return
    words, folder, env = json.loads(request)
    hold_descendants()
    try:
        program = start(words, folder, env, [FILTER_AT] if int(filter_at) >= 0 else [])
    except OSError as error:
        tell(link, f"failed {'folder' if error.filename == folder else 'program'} {error.errno}")
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    tell(link, f"started {program.pid}")
    threading.Thread(target=kill_at_hangup, args=(link, program.pid), daemon=True).start()
    returncode = wait_for(program.pid)
    end_tree(0.0 if returncode == -signal.SIGKILL else GRACE_S)
    tell(link, f"exited {returncode}")


def hold_descendants() -> None:
    """Write no core files, share no keyring with the shell that Ralphy was started from, and adopt every orphan below,
    so that nothing escapes by forking twice or by starting a session. Only Linux has the latter two."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if sys.platform == "linux":
        LIBC.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        if keyctl := KEYCTL.get(os.uname().machine):
            LIBC.syscall(keyctl, JOIN_SESSION_KEYRING, None)


def start(words: list[str], folder: str, env: dict[str, str], descriptors: list[int]) -> subprocess.Popen[bytes]:
    """Start the program in a session of its own, with every signal as it is by default."""
    return subprocess.Popen(
        words, cwd=folder, env=env, start_new_session=True, pass_fds=descriptors, preexec_fn=become_clean
    )


def become_clean() -> None:
    """In the new process, before it is the program: ignore no signal, and die when the supervisor is killed."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    if sys.platform == "linux":
        LIBC.prctl(SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != SUPERVISOR:  # it died before that was asked for
            os._exit(127)


def kill_at_hangup(link: socket.socket, program: int) -> None:
    """In a thread: kill the program when Ralphy hangs up. What is left of its tree follows."""
    link.recv(1)
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
        signal_each(signal.SIGTERM, signal.SIGCONT)
        are_left(grace_s)
    while are_left(LOOK_S):
        signal_each(signal.SIGSTOP, signal.SIGKILL)


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
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def signal_each(*numbers: int) -> None:
    """Send all descendants each signal, one after the other."""
    import psutil  # most programs leave nothing behind, and need not wait for this

    family = psutil.Process().children(recursive=True)
    for number in numbers:
        for one in family:
            try:
                one.send_signal(number)
            except psutil.Error:
                pass  # it has ended


def tell(link: socket.socket, line: str) -> None:
    try:
        link.sendall(f"{line}\n".encode())
    except OSError:
        pass  # nobody listens any more


if __name__ == "__main__":
    main(*sys.argv[1:])
