"""What a tree of processes takes: how many they are, and how much memory they have."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ralphy.processes.shared_memory import held_by

PAGE = os.sysconf("SC_PAGE_SIZE")
MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Use:
    """Of all descendants of a process; `memory` is in bytes, pages that several share counted once for each."""

    processes: int
    memory: int


def tree_use(root: int) -> Use:
    """What the descendants of `root` use now."""
    pids = below(root)
    return Use(len(pids), sum(map(_private_bytes, pids)))


def exact_memory(root: int) -> int:
    """The same memory, shared pages divided among those who share them, and what they hold in memory without having
    it in their address space: slow, and true."""
    pids = below(root)
    own = [_proportional_bytes(pid) for pid in pids]
    shared = sum(mapped for _, mapped in own)
    return sum(whole for whole, _ in own) + max(0, held_by(pids) - shared)


def below(root: int) -> list[int]:
    """The pids of all descendants of a process."""
    children: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if entry.name.isdecimal() and (parent := _parent(entry.name)) >= 0:
            children.setdefault(parent, []).append(int(entry.name))
    found = list(children.get(root, ()))
    for pid in found:  # it grows while it is walked through
        found += children.get(pid, ())
    return found


def threads_of_machine() -> int:
    """How many threads there are in all: one cheap look that tells whether a closer one is worth it."""
    try:
        return int(_read("/proc/loadavg").split()[3].partition(b"/")[2])
    except (IndexError, ValueError):
        return 0


def _parent(pid: str) -> int:
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split(maxsplit=2)
    return int(fields[1]) if len(fields) > 1 else -1


def _private_bytes(pid: int) -> int:
    fields = _read(f"/proc/{pid}/statm").split()
    return (int(fields[1]) - int(fields[2])) * PAGE if len(fields) > 2 else 0


def _proportional_bytes(pid: int) -> tuple[int, int]:
    """A process's part of the memory that it maps, and how much of that is shared memory."""
    found = dict.fromkeys((b"Pss:", b"Pss_Shmem:"), 0)
    for line in _read(f"/proc/{pid}/smaps_rollup").splitlines():
        name, _, rest = line.partition(b" ")
        if name in found:
            found[name] = int(rest.split()[0]) * 1024
    return found[b"Pss:"], found[b"Pss_Shmem:"]


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
