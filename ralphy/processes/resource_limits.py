"""What a run may take of the machine: memory, processes, and what it must leave free on the disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import psutil

from ralphy.files.disk_space import free_bytes
from ralphy.processes.memory import exact_bytes, most_bytes
from ralphy.processes.process_table import descendants

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

    def __init__(self, allowed: Allowance) -> None:
        self.allowed = allowed
        self._disk_at = NEVER
        self._tree_at: float | None = None
        self._processes = len(psutil.pids())

    def why_over(self, root: int, now: float) -> tuple[str, str] | None:
        """Why the run below the process `root` must end now, in a word of STOPS and a sentence; None if it may go on.
        Asking often is cheap."""
        if now - self._disk_at >= DISK_EVERY_S:
            self._disk_at = now
            if found := self.lack_of_disk():
                return found
        if self._tree_at is None:
            self._tree_at = now  # nothing has been started yet
        if now - self._tree_at >= (HASTE_S if self._is_multiplying() else TREE_EVERY_S):
            self._tree_at = now
            return self._tree(root)
        return None

    def _is_multiplying(self) -> bool:
        """Are there many more processes than at the start, whosever they are?"""
        most = self.allowed.max_processes
        return most > 0 and len(psutil.pids()) - self._processes > most

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

    def _tree(self, root: int) -> tuple[str, str] | None:
        allowed, family = self.allowed, descendants(root)
        most = allowed.max_processes
        if most and len(family) > most:
            return "processes", f"it had {len(family)} processes at once (limits.max_processes: {most})"
        most = allowed.max_memory_mb * MEGABYTE
        if not most or most_bytes(family) <= most:
            return None
        if (exact := exact_bytes(descendants(root))) <= most:
            return None
        return "memory", f"it used {exact // MEGABYTE} MB of memory (limits.max_memory_mb: {allowed.max_memory_mb})"
