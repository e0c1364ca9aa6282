"""What a run may take of the machine: memory, processes, and what it must leave free on the disk."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from ralphy.files.disk_space import free_bytes
from ralphy.processes.process_table import descendants

MEGABYTE = 1 << 20
TREE_EVERY_S = 2.0
HASTE_S = 0.2  # how soon again, when there are thousands of new processes
DISK_EVERY_S = 5.0
NEVER = float("-inf")
_NAMELESS = ("/memfd:", "/dev/zero (deleted)", "/SYSV")


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
        """Why the run below the process `root` must end now, in a word ("memory", "processes" or "disk") and a
        sentence; None if it may go on. Asking often is cheap."""
        if now - self._disk_at >= DISK_EVERY_S:
            self._disk_at = now
            if found := self.lack_of_disk():
                return found
        if self._tree_at is None:
            self._tree_at = now  # nothing has been started yet
        waited_s = now - self._tree_at
        if waited_s < HASTE_S or (waited_s < TREE_EVERY_S and not self._is_multiplying()):
            return None
        self._tree_at = now
        return self._tree(root)

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


def most_bytes(processes: Iterable[psutil.Process]) -> int:
    """The most that they can hold, quickly: what each has for itself, and all of the machine's shared memory, since no
    process shows what it holds of that."""
    return sum(map(private_bytes, processes)) + int(getattr(psutil.virtual_memory(), "shared", 0))


def private_bytes(process: psutil.Process) -> int:
    try:
        found = process.memory_info()
    except psutil.Error:
        return 0
    return int(found.rss - getattr(found, "shared", 0))


def exact_bytes(processes: Collection[psutil.Process]) -> int:
    """What they hold, shared pages divided among those who share them: slowly.

    On Linux this counts what they hold in memory without having it in their address space, too: files without a name,
    and the file systems in memory of a sandbox.
    """
    pids = [one.pid for one in processes]
    held = sum(dict(_nameless(pids)).values()) + sum(dict(_mounted(pids)).values())
    shares = [_share(one) for one in processes]
    return sum(used for used, _ in shares) + max(0, held - sum(shared for _, shared in shares))


def _share(process: psutil.Process) -> tuple[int, int]:
    """(its part of the pages that it uses, how much of that is shared memory)."""
    rows = {row[0]: int(row[1]) * 1024 for row in map(str.split, _lines(Path(f"/proc/{process.pid}/smaps_rollup")))
            if row[0].startswith("Pss")}  # fmt: skip
    return (rows["Pss:"], rows.get("Pss_Shmem:", 0)) if rows else (private_bytes(process), 0)


def _nameless(pids: Iterable[int]) -> Iterator[tuple[tuple[int, int], int]]:
    """((device, inode), bytes) of the files in memory behind their descriptors; the same file may come again."""
    for pid in pids:
        with suppress(OSError):  # it has ended
            for path in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):  # it has been closed
                    if str(path.readlink()).startswith(_NAMELESS):
                        found = path.stat()
                        yield (found.st_dev, found.st_ino), found.st_blocks * 512


def _mounted(pids: Iterable[int]) -> Iterator[tuple[str, int]]:
    """(device, bytes used) of the memory file systems that these processes see and this one does not."""
    spaces: dict[int, int] = {}
    for pid in pids:
        with suppress(OSError):
            spaces[Path(f"/proc/{pid}/ns/mnt").stat().st_ino] = pid
    ours = {device for device, _ in _memory_mounts("self")}
    for pid in spaces.values():
        for device, at in _memory_mounts(str(pid)):
            with suppress(OSError):
                if device not in ours:
                    found = os.statvfs(f"/proc/{pid}/root{at}")
                    yield device, (found.f_blocks - found.f_bfree) * found.f_frsize


def _memory_mounts(pid: str) -> Iterator[tuple[str, str]]:
    """(device, where) of each file system in memory."""
    for line in _lines(Path(f"/proc/{pid}/mountinfo")):
        mount, _, kind = line.partition(" - ")
        fields = mount.split()
        if kind.startswith(("tmpfs ", "ramfs ")) and "\\" not in fields[4]:
            yield fields[2], fields[4]


def _lines(path: Path) -> list[str]:
    """The lines of a file of /proc; none when its process has gone, or where there is no /proc."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
