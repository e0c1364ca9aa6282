"""Processes as every Unix tells of them, by psutil. Nobody holds a family together here: it is known by its marks.

A process belongs to the program if it is below the supervisor or the program, if it shares a session with one that
does, if it carries the program's mark in its environment, or if it was seen to belong at an earlier look. A process
that forks twice, leaves its session and clears its environment between two looks is lost (docs/reliability.md).
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import time
from collections.abc import Collection
from contextlib import suppress

import psutil

OPEN_FILES = "/dev/fd"
MARK = "RALPHY_PROGRAM"  # in the environment of all that comes of one program
_ROUNDS, _ROUND_S = 200, 0.02
_CLOCK_S = 1.0  # a clock that is set moves the times at which processes were created
_GONE = (psutil.Error, OSError)


class Family:
    """The program and what came of it, as far as its marks tell; `strangers` are never part of it."""

    def __init__(self, strangers: Collection[int]) -> None:
        self.strangers = set(strangers)
        self.program = 0
        self.mark = ""
        self.known: set[psutil.Process] = set()

    def find(self, parent: int = 0) -> list[psutil.Process]:
        """All of it; `parent` is whose children belong to it in any case. They are known from now on."""
        table = {one.pid: one for one in psutil.process_iter() if one.pid not in self.strangers}
        parents = {pid: _parent(one) for pid, one in table.items()}
        sessions = {pid: _session(pid) for pid in table}
        foreign = {_session(pid) for pid in self.strangers} | {-1}
        found = {pid for pid in table if parent and parents[pid] == parent}
        found |= {pid for pid, one in table.items() if one in self.known or self._is_marked(one, sessions[pid])}
        while True:
            own = {sessions[pid] for pid in found} - foreign
            more = {pid for pid in table if parents[pid] in found or sessions[pid] in own} - found
            if not more:
                break
            found |= more
        self.known = {table[pid] for pid in found}
        return sorted(self.known, key=lambda one: one.pid)

    def _is_marked(self, one: psutil.Process, session: int) -> bool:
        if self.program and self.program in (one.pid, session):
            return True
        try:
            return bool(self.mark) and one.environ().get(MARK) == self.mark
        except _GONE:
            return False


class Watched:
    """The family of this process's program, looked at now and then; a guardian ends it if this process is killed."""

    look_again_s, watch_s = 0.02, 0.5

    def __init__(self) -> None:
        self._me = os.getpid()
        self._guardian, self._told = _start_guardian()
        self._family = Family({self._me, self._guardian})
        self._looked_at = 0.0

    def become_program(self) -> None:
        """The guardian stands in for the signal at the death of the parent."""

    def marks(self) -> dict[str, str]:
        self._family.mark = secrets.token_hex(8)
        return {MARK: self._family.mark}

    def began(self, program: int) -> None:
        self._family.program = program
        with suppress(psutil.Error):  # it has ended already
            self._family.known = {psutil.Process(program)}
        self._looked_at = time.monotonic()
        self._tell()

    def look(self) -> None:
        now = time.monotonic()
        if self._family.program and now - self._looked_at >= self.watch_s:
            self._looked_at, known = now, self._family.known
            self._family.find(self._me)
            if self._family.known - known:
                self._tell()

    def ended(self) -> None:
        self._family.program, self._family.mark, self._family.known = 0, "", set()
        self._tell()

    def alive(self) -> list[tuple[int, bytes]]:
        return [(one.pid, b"Z" if _is_dead(one) else b"") for one in self._family.find(self._me)]

    def are_left(self, *, has_children: bool) -> bool:  # noqa: ARG002 - the guardian is a child, too
        return any(state != b"Z" for _, state in self.alive())

    def inside(self, pid: int) -> int:
        return pid  # there are no sandboxes

    def _tell(self) -> None:
        """Let the guardian know whom to end."""
        family = self._family
        value = [family.mark, [[one.pid, one.create_time()] for one in family.known]]
        with suppress(OSError):  # somebody has killed it
            os.write(self._told, json.dumps(value).encode() + b"\n")


def hold_descendants() -> Watched:
    return Watched()


def _start_guardian() -> tuple[int, int]:
    """(pid, where it is told of the family): a child that waits for the end of a pipe that this process alone holds."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(reader)
        return pid, writer
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.dup2(reader, 0)
        os.closerange(3, max(int(name) for name in os.listdir(OPEN_FILES)) + 1)
        _guard()
    finally:
        os._exit(0)


def _guard() -> None:
    """End what was told last, when there is nobody left to tell anything."""
    told, rest = b'["", []]', b""
    while data := os.read(0, 1 << 16):
        *lines, rest = (rest + data).split(b"\n")
        told = lines[-1] if lines else told
    family = Family({os.getpid()})
    family.mark, known = json.loads(told)
    for pid, created in known:
        with suppress(psutil.Error):
            one = psutil.Process(pid)
            family.known |= {one} if abs(one.create_time() - created) < _CLOCK_S else set()
    for _ in range(_ROUNDS if known else 0):
        left = [one for one in family.find() if not _is_dead(one)]
        if not left:
            return
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for one in left:
                with suppress(*_GONE):
                    one.send_signal(number)
        time.sleep(_ROUND_S)


def descendants(root: int) -> list[int]:
    """Those that share a session with one of them are counted, too: their parents may have died."""
    family = Family({root})
    return [one.pid for one in family.find(root)]


def private_bytes(pid: int) -> int:
    with suppress(*_GONE):
        found = psutil.Process(pid).memory_info()
        return int(found.rss - getattr(found, "shared", 0))
    return 0


def exact_bytes(pids: Collection[int]) -> int:
    """Without what they hold in memory and have not in their address space."""
    return sum(map(_own_bytes, pids))


def _own_bytes(pid: int) -> int:
    with suppress(*_GONE):
        found = psutil.Process(pid).memory_full_info()
        return int(getattr(found, "pss", found.uss))
    return private_bytes(pid)


def shared_of_machine() -> int:
    return int(getattr(psutil.virtual_memory(), "shared", 0))


def threads_of_machine() -> int:
    return len(psutil.pids())


def _parent(one: psutil.Process) -> int:
    try:
        return int(one.ppid())
    except _GONE:
        return -1


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except OSError:
        return -1


def _is_dead(one: psutil.Process) -> bool:
    try:
        return bool(one.status() == psutil.STATUS_ZOMBIE)
    except _GONE:
        return True
