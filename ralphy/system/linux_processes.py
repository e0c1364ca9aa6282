"""Processes as only Linux tells of them: who descends from whom, and what they hold in memory, read from /proc.

It is read by hand: with 500 processes psutil takes four times as long, in the thread that reads the agent's output.
Imported on Linux alone, by `processes`; the supervisor does that without any site packages.
"""

from __future__ import annotations

import ctypes
import math
import os
import signal
import sys
from collections.abc import Collection, Iterable, Iterator

assert sys.platform == "linux"

OPEN_FILES = "/proc/self/fd"
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_KEYCTL, _JOIN_SESSION_KEYRING = {"x86_64": 250, "aarch64": 219}, 1
_PAGE = os.sysconf("SC_PAGE_SIZE")
_MOST_DESCRIPTORS = 20_000
_NAMELESS = ("/memfd:", "/dev/zero (deleted)", "/SYSV")


class Subreaper:
    """Nothing escapes this process by forking twice or by starting a session: it adopts every orphan below it."""

    look_again_s = watch_s = math.inf

    def __init__(self) -> None:
        self._me = os.getpid()
        self._libc = ctypes.CDLL(None)
        self._keyctl = _KEYCTL.get(os.uname().machine)
        self._libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        # The kernel sends this when the *thread* that started us ends, so HUP asks "is the parent gone?" while
        # TERM is an order. Until the handler stands, HUP's default ends us, which is right as well.
        self._libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGHUP), 0, 0, 0)

    def become_program(self) -> None:
        self._libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
        if self._keyctl:  # an empty keyring in the place of the one of the shell that Ralphy was started from
            self._libc.syscall(self._keyctl, _JOIN_SESSION_KEYRING, None)
        if os.getppid() != self._me:
            os._exit(127)

    def marks(self) -> dict[str, str]:
        return {}

    def began(self, program: int) -> None:
        """The kernel keeps the family together."""

    def look(self) -> None:
        """The kernel forgets none."""

    def ended(self) -> None:
        """Nothing to do."""

    def alive(self) -> list[tuple[int, bytes]]:
        return list(_below(self._me))

    def are_left(self, *, has_children: bool) -> bool:
        return has_children

    def inside(self, pid: int) -> int:
        """bubblewrap hands no signals on, it dies of them."""
        while _read(f"/proc/{pid}/comm") == b"bwrap\n" and (child := next(_below(pid), None)):
            pid = child[0]
        return pid


def hold_descendants() -> Subreaper:
    return Subreaper()


def descendants(root: int) -> list[int]:
    return [pid for pid, _ in _below(root)]


def _below(root: int) -> Iterator[tuple[int, bytes]]:
    """Every process below `root` with its state, zombies included (their threads may live on)."""
    children: dict[int, list[tuple[int, bytes]]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal():
            fields = (
                _read(f"/proc/{entry.name}/stat").rpartition(b")")[2].split(maxsplit=2)
            )  # the name may hold anything
            if len(fields) > 1:
                children.setdefault(int(fields[1]), []).append((int(entry.name), fields[0]))
    parents = [root]
    while parents:
        family = children.get(parents.pop(), [])
        parents += [pid for pid, _ in family]
        yield from family


def private_bytes(pid: int) -> int:
    fields = _read(f"/proc/{pid}/statm").split()
    return (int(fields[1]) - int(fields[2])) * _PAGE if len(fields) > 2 else 0


def exact_bytes(pids: Collection[int]) -> int:
    """Counts what they hold in memory without having it in their address space, too: files without a name, and the
    file systems in memory of a sandbox."""
    own = [_proportional_bytes(pid) for pid in pids]
    held = sum(dict(_nameless(pids)).values()) + sum(dict(_mounted(pids)).values())
    return sum(whole for whole, _ in own) + max(0, held - sum(mapped for _, mapped in own))


def shared_of_machine() -> int:
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith(b"Shmem:"):
            return int(line.split()[1]) * 1024
    return 0


def threads_of_machine() -> int:
    try:
        return int(_read("/proc/loadavg").split()[3].partition(b"/")[2])
    except (IndexError, ValueError):
        return 0


def _proportional_bytes(pid: int) -> tuple[int, int]:
    """A process's part of the memory that it maps, and how much of that is shared memory."""
    found = dict.fromkeys((b"Pss:", b"Pss_Shmem:"), 0)
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        name, _, rest = line.partition(b" ")
        if name in found:
            found[name] = int(rest.split()[0]) * 1024
    return found[b"Pss:"], found[b"Pss_Shmem:"]


def _nameless(pids: Iterable[int]) -> Iterator[tuple[tuple[int, int], int]]:
    """((device, inode), bytes) of the files in memory behind their descriptors; the same file may come again."""
    left = _MOST_DESCRIPTORS
    for pid in pids:
        for name in _names(f"/proc/{pid}/fd"):
            left -= 1
            if not left:
                return
            try:
                path = f"/proc/{pid}/fd/{name}"
                if os.readlink(path).startswith(_NAMELESS):
                    found = os.stat(path)
                    yield (found.st_dev, found.st_ino), found.st_blocks * 512
            except OSError:
                continue


def _mounted(pids: Iterable[int]) -> Iterator[tuple[str, int]]:
    """(device, bytes used) of the memory file systems that these processes see and this one does not."""
    spaces = {own: pid for pid in pids if (own := _link(f"/proc/{pid}/ns/mnt"))}
    ours = {device for device, _ in _memory_mounts("self")}
    for pid in spaces.values():
        for device, at in _memory_mounts(str(pid)):
            if device in ours:
                continue
            try:
                found = os.statvfs(f"/proc/{pid}/root{at}")
            except OSError:
                continue
            yield device, (found.f_blocks - found.f_bfree) * found.f_frsize


def _memory_mounts(pid: str) -> Iterator[tuple[str, str]]:
    """(device, where) of each file system in memory."""
    try:
        with open(f"/proc/{pid}/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.readlines()
    except OSError:
        return
    for line in lines:
        mount, _, kind = line.partition(" - ")
        fields = mount.split()
        if kind.startswith(("tmpfs ", "ramfs ")) and "\\" not in fields[4]:
            yield fields[2], fields[4]


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _read(path: str) -> bytes:
    """What a small file of /proc says; nothing when its process has gone."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.read(fd, 8192)
    except OSError:
        return b""
    finally:
        os.close(fd)
