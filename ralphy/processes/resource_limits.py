"""What a run may take of the machine: memory, processes, and what it must leave free on the disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ralphy.files.disk_space import free_bytes
from ralphy.system.processes import processes

MEGABYTE = 1 << 20
TREE_EVERY_S = 2.0
HASTE_S = 0.2  # how soon again, when there are thousands of new processes
DISK_EVERY_S = 5.0
NEVER = float("-inf")


@dataclass(frozen=True, slots=True)
class Allowance:
    """The limits of one run, in MB and processes; the space is looked for where `folders` lie. 0 is no limit."""

    max_memory_mb: int = 0
    max_processes: int = 0
    min_free_mb: int = 0
    folders: tuple[Path, ...] = ()


class Bounds:
    """Looks now and then whether the descendants of a process keep to what they are allowed."""

    def __init__(self, allowed: Allowance, root: int) -> None:
        self.allowed = allowed
        self.root = root
        self._disk_at = NEVER
        self._tree_at: float | None = None
        self._threads = processes.threads_of_machine()

    def why_over(self, now: float) -> tuple[str, str] | None:
        """Why the run must end now, in a word of STOPS and a sentence; None if it may go on. Asking often is cheap."""
        if now - self._disk_at >= DISK_EVERY_S:
            self._disk_at = now
            if found := self.lack_of_disk():
                return found
        if self._tree_at is None:
            self._tree_at = now  # nothing has been started yet
        if now - self._tree_at >= (HASTE_S if self._is_multiplying() else TREE_EVERY_S):
            self._tree_at = now
            return self._tree()
        return None

    def _is_multiplying(self) -> bool:
        """Are there thousands of threads more than at the start, whosever they are?"""
        most = self.allowed.max_processes
        return most > 0 and processes.threads_of_machine() - self._threads > most

    def lack_of_disk(self) -> tuple[str, str] | None:
        """Why there is too little room on the disk now; None if there is enough."""
        if not self.allowed.min_free_mb:
            return None
        free, folder = free_bytes(self.allowed.folders)
        if free >= self.allowed.min_free_mb * MEGABYTE:
            return None
        left = f"{free // MEGABYTE:.0f} MB are free" if free else "the disk is not writable"
        said = f"the disk is nearly full: {left} at {folder}"
        return "disk", f"{said} (limits.min_free_mb: {self.allowed.min_free_mb})"

    def _tree(self) -> tuple[str, str] | None:
        allowed, pids = self.allowed, processes.descendants(self.root)
        most = allowed.max_processes
        if most and len(pids) > most:
            return "processes", f"it had {len(pids)} processes at once (limits.max_processes: {most})"
        most = allowed.max_memory_mb * MEGABYTE
        # No process shows what it holds in memory that is shared: all of the machine's is the most that it can be.
        if not most or sum(map(processes.private_bytes, pids)) + processes.shared_of_machine() <= most:
            return None
        if (exact := processes.exact_bytes(processes.descendants(self.root))) <= most:
            return None
        return "memory", f"it used {exact // MEGABYTE} MB of memory (limits.max_memory_mb: {allowed.max_memory_mb})"
