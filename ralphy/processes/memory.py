"""How much memory processes hold: quickly, and as true as can be."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import psutil

_MOST_DESCRIPTORS = 20_000
_NAMELESS = ("/memfd:", "/dev/zero (deleted)", "/SYSV")


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
    return sum(map(_own_bytes, processes)) + max(0, held - sum(map(_shared_bytes, pids)))


def _own_bytes(process: psutil.Process) -> int:
    try:
        found = process.memory_full_info()
    except psutil.Error:
        return private_bytes(process)
    return int(getattr(found, "pss", found.uss))


def _shared_bytes(pid: int) -> int:
    """How much of a process's part of the memory is shared memory."""
    rows = (line.split() for line in _lines(Path(f"/proc/{pid}/smaps_rollup")))
    return sum(int(row[1]) * 1024 for row in rows if row[0] == "Pss_Shmem:")


def _nameless(pids: Iterable[int]) -> Iterator[tuple[tuple[int, int], int]]:
    """((device, inode), bytes) of the files in memory behind their descriptors; the same file may come again."""
    left = _MOST_DESCRIPTORS
    for pid in pids:
        for path in _inside(Path(f"/proc/{pid}/fd")):
            left -= 1
            if not left:
                return
            try:
                if str(path.readlink()).startswith(_NAMELESS):
                    found = path.stat()
                    yield (found.st_dev, found.st_ino), found.st_blocks * 512
            except OSError:
                continue


def _mounted(pids: Iterable[int]) -> Iterator[tuple[str, int]]:
    """(device, bytes used) of the memory file systems that these processes see and this one does not."""
    spaces = {own: pid for pid in pids if (own := _link(Path(f"/proc/{pid}/ns/mnt")))}
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
    for line in _lines(Path(f"/proc/{pid}/mountinfo")):
        mount, _, kind = line.partition(" - ")
        fields = mount.split()
        if kind.startswith(("tmpfs ", "ramfs ")) and "\\" not in fields[4]:
            yield fields[2], fields[4]


def _inside(folder: Path) -> list[Path]:
    try:
        return [*folder.iterdir()]
    except OSError:
        return []


def _link(path: Path) -> str:
    try:
        return str(path.readlink())
    except OSError:
        return ""


def _lines(path: Path) -> list[str]:
    """The lines of a file of /proc; none when its process has gone, or where there is no /proc."""
    try:
        return path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return []
