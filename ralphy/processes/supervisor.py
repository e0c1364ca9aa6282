"""The supervisor of one program: it ends what the program leaves behind, and the program when Ralphy dies.

A script of its own, run as `python -I -S supervisor.py LINK RALPHY FILTER PACKAGES FOLDER PROGRAM [ARGUMENT ...]`, with
the program's stdin, stdout and stderr: LINK is the number of an inherited Unix socket, RALPHY the pid of who started
it, FILTER the number of the descriptor that the program finds at FILTER_AT (-1 for none), PACKAGES the folder that has
psutil, FOLDER the program's current folder. By the link come

    in   the program's environment: NAME=VALUE, separated by NUL, with two NUL at the end
         to end the program: two numbers, the seconds that it has after SIGINT, and its tree after SIGTERM
    out  a line each: "started PID", "failed folder ERRNO" or "failed program ERRNO", "exited CODE"

When the link closes (Ralphy has died), it kills all and ends.

Imports are few, since it starts with every agent and every check: `signal`, `json` and `subprocess` would treble the
time that this takes, and psutil is needed only where a program leaves something behind or is ended.
"""

from __future__ import annotations

import _thread
import ctypes
import fcntl
import os
import resource
import select
import sys
import time

LINGER_S, GRACE_S = 0.01, 0.2  # what ends with the program needs no signal; what does not gets this after TERM
LOOK_S = 0.005
FILTER_AT, OUT_OF_THE_WAY = 3, 16
INT, KILL = 2, 9  # as POSIX numbers the signals
SIGNALS = range(1, 65)
SET_PDEATHSIG, SET_CHILD_SUBREAPER = 1, 36  # of prctl
KEYCTL, JOIN_SESSION_KEYRING = {"x86_64": 250, "aarch64": 219}, 1
BUBBLEWRAP = "bwrap"
LIBC = ctypes.CDLL(None)


def main(link_at: str, _ralphy: str, filter_at: str, packages: str, folder: str, *words: str) -> None:
    """Run the program to its end, or until it is to be ended; then end its tree."""
    sys.path.append(packages)
    link = fcntl.fcntl(int(link_at), fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY)
    os.close(int(link_at))
    if int(filter_at) not in (-1, FILTER_AT):
        os.dup2(int(filter_at), FILTER_AT)
        os.close(int(filter_at))
    env = read_environment(link)
    hold_descendants()
    try:
        failed = "folder"
        os.chdir(folder)
        failed = "program"
        program = start(words, env)
    except OSError as error:
        tell(link, f"failed {failed} {error.errno}")
        return
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    tell(link, f"started {program}")
    _thread.start_new_thread(end_when_told, (link, program))
    returncode = wait_for(program)
    end_tree(0.0 if returncode == -KILL else GRACE_S)
    tell(link, f"exited {returncode}")


def read_environment(link: int) -> dict[bytes, bytes]:
    """The program's environment; ends here if Ralphy has died."""
    data = b""
    while not data.endswith(b"\0\0"):
        more = os.read(link, 1 << 16)
        if not more:
            sys.exit()
        data += more
    pairs = (entry.partition(b"=") for entry in data.split(b"\0") if entry)
    return {name: value for name, _, value in pairs}


def hold_descendants() -> None:
    """Write no core files, share no keyring with the shell that Ralphy was started from, and adopt every orphan below,
    so that nothing escapes by forking twice or by starting a session. Only Linux has the latter two."""
    most = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (0, most))
    if sys.platform == "linux":
        LIBC.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        if keyctl := KEYCTL.get(os.uname().machine):
            LIBC.syscall(keyctl, JOIN_SESSION_KEYRING, None)


def start(words: tuple[str, ...], env: dict[bytes, bytes]) -> int:
    """Start the program as a clean process; gives its pid. Raises OSError if that is impossible."""
    me, (said, says) = os.getpid(), os.pipe()  # both are closed when the program starts
    program = os.fork()
    if program == 0:
        try:
            become(words, env, me)
        except OSError as error:
            os.write(says, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(says)
    number = os.read(said, 16)
    os.close(said)
    if number:
        raise OSError(int(number), "")
    return program


def become(words: tuple[str, ...], env: dict[bytes, bytes], parent: int) -> None:
    """What the new process does before it is the program: a session of its own, every signal as it is by default, and
    death when the supervisor is killed."""
    os.setsid()
    for number in SIGNALS:
        LIBC.signal(number, None)
    if sys.platform == "linux":
        LIBC.prctl(SET_PDEATHSIG, KILL, 0, 0, 0)
        if os.getppid() != parent:  # it died before that was asked for
            return
    os.execvpe(words[0], words, env)


def end_when_told(link: int, program: int) -> None:
    """In a thread: end the program, by steps if Ralphy says so and lives on. What is left of its tree follows."""
    graces = os.read(link, 64).split()
    try:
        for step, seconds in zip((interrupt, terminate), map(float, graces), strict=False):
            if seconds:
                step(program)
            if select.select([link], [], [], seconds)[0]:  # Ralphy has died, or is in a hurry
                break
    finally:
        os.kill(program, KILL)  # an error, where it has ended meanwhile, ends this thread as well


def interrupt(program: int) -> None:
    """Send SIGINT to the program; to what runs inside, if it is a sandbox: bubblewrap hands no signals on."""
    import psutil

    try:
        one = psutil.Process(program)
        while one.name() == BUBBLEWRAP and (children := one.children()):
            one = children[0]
        one.send_signal(INT)
        one.resume()  # a stopped process hears only CONT and KILL
    except psutil.Error:
        pass  # it has ended


def terminate(_: int) -> None:
    """Send SIGTERM to all descendants."""
    signal_each("terminate", "resume")


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
        signal_each("terminate", "resume")
        are_left(grace_s)
    while are_left(LOOK_S):
        signal_each("suspend", "kill")


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


def signal_each(*names: str) -> None:
    """Send all descendants each signal, one after the other, by the names that psutil has for them."""
    import psutil

    family = psutil.Process().children(recursive=True)
    for name in names:
        for one in family:
            try:
                getattr(one, name)()
            except psutil.Error:
                pass  # it has ended


def tell(link: int, line: str) -> None:
    try:
        os.write(link, f"{line}\n".encode())
    except OSError:
        pass  # nobody listens any more


if __name__ == "__main__":
    main(*sys.argv[1:])
