"""The supervisor of one program: it ends what the program leaves behind, and everything when Ralphy dies.

A script of its own, run as `python -I -S supervisor.py LINK RALPHY ENV FILTER PACKAGES FOLDER PROGRAM [ARGUMENT ...]`,
with the program's stdin, stdout and stderr. LINK is the number of an inherited Unix socket, RALPHY the pid of who
started it, by which a later Ralphy finds the supervisors of a dead one (`process_table.await_orphans`), ENV the number
of a descriptor with the program's environment (NAME=VALUE, separated by NUL), FILTER the number of the one that the
program finds at FILTER_AT (-1 for none), PACKAGES the folder that has psutil, FOLDER the program's current folder. The
supervisor reports on the link, a line each: "started PID", "failed folder ERRNO" or "failed program ERRNO", "exited
CODE".

When Ralphy dies, or closes its end of the link for writing, the supervisor kills the program and all its descendants.

It starts with every agent and every check, thousands of times in Ralphy's own tests, so it imports little: `subprocess`
alone would double the time that this takes.
"""

from __future__ import annotations

import _thread
import ctypes
import fcntl
import os
import resource
import sys
import time

LINGER_S, GRACE_S = 0.01, 0.2  # what ends with the program needs no signal; what does not gets this after SIGTERM
LOOK_S = 0.005
FILTER_AT, OUT_OF_THE_WAY = 3, 16
KILL = 9  # as POSIX numbers the signals
SIGNALS = range(1, 65)
SET_PDEATHSIG, SET_CHILD_SUBREAPER = 1, 36  # of prctl
KEYCTL, JOIN_SESSION_KEYRING = {"x86_64": 250, "aarch64": 219}, 1
LIBC = ctypes.CDLL(None)


def main(link_at: str, _ralphy: str, env_at: str, filter_at: str, packages: str, folder: str, *words: str) -> None:
    """Run the program to its end, or until Ralphy hangs up; then end its tree."""
    sys.path.append(packages)
    link = fcntl.fcntl(int(link_at), fcntl.F_DUPFD_CLOEXEC, OUT_OF_THE_WAY)
    os.close(int(link_at))
    env = read_environment(int(env_at))
    if int(filter_at) not in (-1, FILTER_AT):
        os.dup2(int(filter_at), FILTER_AT)
        os.close(int(filter_at))
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
    _thread.start_new_thread(kill_at_hangup, (link, program))
    returncode = wait_for(program)
    end_tree(0.0 if returncode == -KILL else GRACE_S)
    tell(link, f"exited {returncode}")


def read_environment(descriptor: int) -> dict[bytes, bytes]:
    """The program's environment."""
    with open(descriptor, "rb") as file:
        pairs = (entry.partition(b"=") for entry in file.read().split(b"\0") if entry)
        return {name: value for name, _, value in pairs}


def hold_descendants() -> None:
    """Write no core files, share no keyring with the shell that Ralphy was started from, and adopt every orphan below,
    so that nothing escapes by forking twice or by starting a session. Only Linux has the latter two."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    if sys.platform == "linux":
        LIBC.prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        if keyctl := KEYCTL.get(os.uname().machine):
            LIBC.syscall(keyctl, JOIN_SESSION_KEYRING, None)


def start(words: tuple[str, ...], env: dict[bytes, bytes]) -> int:
    """Start the program; returns its pid. Raises OSError if that is impossible."""
    me, (errors, error) = os.getpid(), os.pipe()  # the program closes it when it starts
    program = os.fork()
    if program == 0:
        try:
            become(words, env, me)
        except OSError as why:
            os.write(error, str(why.errno).encode())
        finally:
            os._exit(127)
    os.close(error)
    number = os.read(errors, 16)
    os.close(errors)
    if number:
        raise OSError(int(number), "")
    return program


def become(words: tuple[str, ...], env: dict[bytes, bytes], supervisor: int) -> None:
    """In the new process: become the program, in a session of its own, with every signal as it is by default, and to
    die when the supervisor is killed."""
    os.setsid()
    for number in SIGNALS:
        LIBC.signal(number, None)
    if sys.platform == "linux":
        LIBC.prctl(SET_PDEATHSIG, KILL, 0, 0, 0)
        if os.getppid() != supervisor:  # it died before
            return
    os.execvpe(words[0], words, env)


def kill_at_hangup(link: int, program: int) -> None:
    """In a thread: kill the program when Ralphy hangs up. What is left of its tree follows."""
    os.read(link, 1)
    os.kill(program, KILL)


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
    import psutil  # most programs leave nothing behind, and need not wait for this

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
