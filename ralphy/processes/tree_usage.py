"""What a tree of processes takes: how many they are, and how much memory they have."""

from __future__ import annotations

from dataclasses import dataclass

from ralphy.system.processes import processes

MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Use:
    """Of all descendants of a process; `memory` is in bytes, pages that several share counted once for each."""

    processes: int
    memory: int


def tree_use(root: int) -> Use:
    """What the descendants of `root` use now."""
    pids = below(root)
    return Use(len(pids), sum(map(processes.private_bytes, pids)))


def exact_memory(root: int) -> int:
    """The same memory, shared pages divided among those who share them: slow, and true."""
    return processes.exact_bytes(below(root))


def below(root: int) -> list[int]:
    """The pids of all descendants of a process."""
    return processes.descendants(root)
