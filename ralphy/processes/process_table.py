"""The table of processes: who is alive, and ending those that carry a marker in their environment.

A pid alone names nobody, since pids are used again: a process is its pid together with its start time.
"""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Collection
from pathlib import Path

RUN_MARKER = "RALPHY_RUN_ID"  # the run a process belongs to
REPO_MARKER = "RALPHY_REPO"  # the repository whose runs it belongs to

PROC = Path("/proc")
SWEEPS = 20
DEATH_S = 1.0
ORPHANS_S = 3.0


def start_time(pid: int) -> float | None:
    """When it was started, in seconds since the machine was; None if there is no such process."""
    fields = _stat(pid)
    return int(fields[19]) / os.sysconf("SC_CLK_TCK") if fields else None


def is_alive(pid: int, started: float) -> bool:
    """Whether that very process still runs. A zombie does not."""
    fields = _stat(pid)
    return bool(fields) and fields[0] != b"Z" and start_time(pid) == started


def sweep(variable: str, value: str) -> int:
    """Kill our user's processes that were started with `variable` set to `value`; how many.

    Never kills this process or an ancestor of it. An empty value matches nothing.
    """
    if not value:
        return 0
    marker = os.fsencode(f"{variable}={value}")
    spared = _lineage(os.getpid())
    killed: set[int] = set()
    for _ in range(SWEEPS):  # those killed may have forked in between
        doomed = [pid for pid in _pids() if pid not in spared and _carries(pid, marker)]
        if not doomed:
            break
        killed |= _kill(doomed, marker)
    return len(killed)


def await_orphans(scripts: Collection[str], within_s: float = ORPHANS_S) -> None:
    """Wait until no script of these ends its work for a Ralphy that is dead: what it notes last is read next.

    Each is a file, called as `python -I -S SCRIPT …`; a supervisor names the pid of its Ralphy last.
    """
    held = [fd for pid in _pids() if _is_orphan(pid, scripts) and (fd := _hold(pid)) is not None]
    _await_ends(held, within_s)
    for fd in held:
        os.close(fd)


def _is_orphan(pid: int, scripts: Collection[str]) -> bool:
    try:
        words = (PROC / str(pid) / "cmdline").read_bytes().decode("utf-8", "surrogateescape").split("\0")[:-1]
    except OSError:
        return False
    if len(words) < 6 or words[3] not in scripts:
        return False
    state = _stat(int(words[5])) if words[5].isdecimal() else []
    return not state or state[0] == b"Z"


def descends_from(variable: str, value: str) -> bool:
    """Was this process, or one that it descends from, started with `variable` set to `value`?"""
    marker = os.fsencode(f"{variable}={value}")
    return any(_carries(pid, marker) for pid in _lineage(os.getpid()))


def _kill(pids: list[int], marker: bytes) -> set[int]:
    """Stop all, kill all, wait for their ends for a second at most; those that were there to be killed.

    A pidfd stays with its process: the marker is looked at once more behind it, so that a pid that was
    taken over by a stranger in between is left alone.
    """
    held = {fd: pid for pid in pids if (fd := _hold(pid)) is not None}
    ours = {fd: pid for fd, pid in held.items() if _carries(pid, marker)}
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for fd in ours:
            _send(fd, number)
    _await_ends(list(ours))
    for fd in held:
        os.close(fd)
    return set(ours.values())


def _await_ends(pidfds: list[int], within_s: float = DEATH_S) -> None:
    poll = select.poll()
    for fd in pidfds:
        poll.register(fd, select.POLLIN)
    end, left = time.monotonic() + within_s, len(pidfds)
    while left and (remaining := end - time.monotonic()) > 0:
        for fd, _ in poll.poll(remaining * 1000):
            poll.unregister(fd)
            left -= 1


def _hold(pid: int) -> int | None:
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _send(pidfd: int, number: int) -> None:
    try:
        signal.pidfd_send_signal(pidfd, number)
    except OSError:
        return


def _carries(pid: int, marker: bytes) -> bool:
    folder = PROC / str(pid)
    try:
        return folder.stat().st_uid == os.getuid() and marker in (folder / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _lineage(pid: int) -> set[int]:
    """The process and all its ancestors."""
    lineage: set[int] = set()
    while pid > 0 and pid not in lineage:
        lineage.add(pid)
        fields = _stat(pid)
        pid = int(fields[1]) if fields else 0
    return lineage


def _pids() -> list[int]:
    return [int(folder.name) for folder in PROC.iterdir() if folder.name.isdecimal()]


def _stat(pid: int) -> list[bytes]:
    """The fields of /proc/PID/stat from the state on; empty if there is no such process."""
    try:
        return (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return []
