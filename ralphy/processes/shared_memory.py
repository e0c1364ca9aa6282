"""Memory that no process's own figures show: files without a name, and the file systems in memory of a sandbox."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

_MOST_DESCRIPTORS = 20_000
_NAMELESS = ("/memfd:", "/dev/zero (deleted)", "/SYSV")


def shared_of_machine() -> int:
    """Bytes of shared memory on the whole machine: one cheap look that tells whether a closer one is worth it."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123 - often asked
            line = next((line for line in file if line.startswith("Shmem:")), "")
    except OSError:
        return 0
    return int(line.split()[1]) * 1024 if line else 0


def held_by(pids: Iterable[int]) -> int:
    """Bytes that these processes hold in open files without a name and in the memory file systems of their own."""
    pids = list(pids)
    return sum(dict(_nameless(pids)).values()) + sum(dict(_mounted(pids)).values())


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
                if os.readlink(path).startswith(_NAMELESS):  # noqa: PTH115 - thousands of them
                    found = os.stat(path)  # noqa: PTH116
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
        with open(f"/proc/{pid}/mountinfo", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
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
        return os.listdir(folder)  # noqa: PTH208
    except OSError:
        return []


def _link(path: str) -> str:
    try:
        return os.readlink(path)  # noqa: PTH115
    except OSError:
        return ""
