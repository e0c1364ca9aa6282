"""Limits of a run: its memory, its processes, and the space that must stay free on the disk.

Memory and processes are those of the whole tree, for which the kernel has no limit: RLIMIT_AS is of one process and
counts addresses that are only reserved, RLIMIT_NPROC counts all processes of the user.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from ralphy.files.disk_space import free_bytes
from ralphy.processes.process_table import descendants

MEGABYTE = 1 << 20
_TREE_EVERY_S = 2.0
_HASTE_S = 0.2  # instead, when there are many new processes
_DISK_EVERY_S = 5.0
_UNNAMED = ("/memfd:", "/dev/zero (deleted)", "/SYSV")


class RunLimits:
    """Looks now and then whether the descendants of a process keep to the limits of one run. 0 is no limit; `folders`
    lie on the disks that must have space. `why` is a sentence about the limit that was passed."""

    def __init__(
        self, max_memory_mb: int = 0, max_processes: int = 0, min_free_mb: int = 0, folders: Sequence[Path] = ()
    ) -> None:
        self.max_memory_mb = max_memory_mb
        self.max_processes = max_processes
        self.min_free_mb = min_free_mb
        self.folders = folders
        self.why = ""
        self._disk_at = float("-inf")
        self._tree_at: float | None = None
        self._processes = len(psutil.pids())

    def why_over(self, root: int, now: float) -> str | None:
        """Why the run below the process `root` must end now: "memory", "processes" or "disk"; None if it may go on.

        Most calls cost nothing. `now` is in seconds of a monotonic clock.
        """
        if now - self._disk_at >= _DISK_EVERY_S:
            self._disk_at = now
            if self.lacks_disk():
                return "disk"
        if self._tree_at is None:
            self._tree_at = now  # nothing has been started yet
        waited_s = now - self._tree_at
        if waited_s < _HASTE_S or (waited_s < _TREE_EVERY_S and not self._is_multiplying()):
            return None
        self._tree_at = now
        return self._tree(root)

    def _is_multiplying(self) -> bool:
        """Has the number of all processes of the machine grown by more than the limit?"""
        most = self.max_processes
        return most > 0 and len(psutil.pids()) - self._processes > most

    def lacks_disk(self) -> bool:
        """Is there too little space on the disk now?"""
        if not self.min_free_mb:
            return False
        free, folder = free_bytes(self.folders)
        if free >= self.min_free_mb * MEGABYTE:
            return False
        left = f"{free // MEGABYTE:.0f} MB are free" if free else "the disk is not writable"
        self.why = f"the disk is nearly full: {left} at {folder} (limits.min_free_mb: {self.min_free_mb})"
        return True

    def _tree(self, root: int) -> str | None:
        family, most = descendants(root), self.max_processes
        if most and len(family) > most:
            self.why = f"it had {len(family)} processes at once (limits.max_processes: {most})"
            return "processes"
        most = self.max_memory_mb * MEGABYTE
        if not most or most_bytes(family) <= most:
            return None
        if (exact := exact_bytes(descendants(root))) <= most:
            return None
        self.why = f"it used {exact // MEGABYTE} MB of memory (limits.max_memory_mb: {self.max_memory_mb})"
        return "memory"


def most_bytes(processes: Iterable[psutil.Process]) -> int:
    """An upper bound of the memory of these processes, fast: the private memory of each, and all shared memory of the
    machine, since no process shows its part of that."""
    return sum(map(private_bytes, processes)) + int(getattr(psutil.virtual_memory(), "shared", 0))


def private_bytes(process: psutil.Process) -> int:
    try:
        memory = process.memory_info()
    except psutil.Error:
        return 0
    return int(memory.rss - getattr(memory, "shared", 0))


def exact_bytes(processes: Collection[psutil.Process]) -> int:
    """The memory of these processes, slow: shared pages are divided among those who share them.

    On Linux it includes memory outside of their address spaces: unnamed files, and a sandbox's file systems in memory.
    """
    pids = [one.pid for one in processes]
    held = sum(dict(_unnamed_files(pids)).values()) + sum(dict(_mounted_memory(pids)).values())
    shares = [_share(one) for one in processes]
    return sum(used for used, _ in shares) + max(0, held - sum(shared for _, shared in shares))


def _share(process: psutil.Process) -> tuple[int, int]:
    """(the process's share of its pages in bytes, the part of that in shared memory)."""
    rows = {row[0]: int(row[1]) * 1024 for row in map(str.split, _lines(Path(f"/proc/{process.pid}/smaps_rollup")))
            if row[0].startswith("Pss")}  # fmt: skip
    return (rows["Pss:"], rows.get("Pss_Shmem:", 0)) if rows else (private_bytes(process), 0)


def _unnamed_files(pids: Iterable[int]) -> Iterator[tuple[tuple[int, int], int]]:
    """((device, inode), bytes) of each open file in memory; a file can come more than once."""
    for pid in pids:
        with suppress(OSError):  # it has ended
            for path in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):  # it has been closed
                    if str(path.readlink()).startswith(_UNNAMED):
                        file = path.stat()
                        yield (file.st_dev, file.st_ino), file.st_blocks * 512


def _mounted_memory(pids: Iterable[int]) -> Iterator[tuple[str, int]]:
    """(device, bytes used) of the file systems in memory that these processes have mounted and this one has not."""
    namespaces: dict[int, int] = {}
    for pid in pids:
        with suppress(OSError):
            namespaces[Path(f"/proc/{pid}/ns/mnt").stat().st_ino] = pid
    ours = {device for device, _ in _memory_mounts("self")}
    for pid in namespaces.values():
        for device, at in _memory_mounts(str(pid)):
            with suppress(OSError):
                if device not in ours:
                    space = os.statvfs(f"/proc/{pid}/root{at}")
                    yield device, (space.f_blocks - space.f_bfree) * space.f_frsize


def _memory_mounts(pid: str) -> Iterator[tuple[str, str]]:
    """(device, mount point) of each file system in memory."""
    for line in _lines(Path(f"/proc/{pid}/mountinfo")):
        mount, _, kind = line.partition(" - ")
        fields = mount.split()
        if kind.startswith(("tmpfs ", "ramfs ")) and "\\" not in fields[4]:
            yield fields[2], fields[4]


def _lines(path: Path) -> list[str]:
    """The lines of a file in /proc; none if its process has ended, or without a /proc."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
