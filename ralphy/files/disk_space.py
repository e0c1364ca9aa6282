"""The disk: what the system's refusal to write means, and how much room there is."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ralphy.errors import DiskFull, EnvironmentProblem

_FULL = (errno.ENOSPC, errno.EDQUOT)
# errno -> what it means, and what to do
_MEANINGS = {
    errno.ENOSPC: ("the disk is full", "free some space (or inodes: df -i)"),
    errno.EDQUOT: ("the disk quota is used up", "free some space"),
    errno.EROFS: ("the disk is read-only", "mount it writable, then rerun; nothing is lost"),
    errno.EIO: ("the disk reports an error", "check the system's log, fix the disk, then rerun"),
    errno.EFBIG: ("a file would exceed the size limit", "ulimit -f"),
    errno.EMFILE: ("too many files are open", "ulimit -n"),
    errno.ENFILE: ("too many files are open in the whole system", "stop programs that hold them"),
    errno.EACCES: ("permission is denied", "fix the permissions, then rerun"),
    errno.EPERM: ("permission is denied", "fix the permissions, then rerun"),
    errno.ENOTDIR: ("a file is in place of a folder", "move it out of the way"),
    errno.ESTALE: ("the file system lost the file", "mount it again, then rerun"),
}
_GIT_FULL = "Out of diskspace"  # git's words for a write that was cut short
_GIT_CANNOT_WRITE = "error: unable to write file "  # git does not say why
_NO_ROOM_BYTES = 64 * 1024


def refusal(error: OSError, what: str, where: str) -> EnvironmentProblem:
    """The error for people when something could not be written or read: its kind says whether waiting may help."""
    _, hint = _MEANINGS.get(error.errno or 0, ("", ""))
    return _kind(error.errno)(f"{what}: {error.strerror}", where=where, hint=hint)


def as_problem(error: OSError) -> EnvironmentProblem | None:
    """An error of the system as trouble with the disk; None if it is something else."""
    meaning = _MEANINGS.get(error.errno or 0)
    if meaning is None:
        return None
    what, hint = meaning
    return _kind(error.errno)(what, where=str(error.filename or ""), hint=hint)


def disk_problem_in(text: str, where: str) -> EnvironmentProblem | None:
    """The trouble with the disk that a message of another program (git) names; None if it names none."""
    is_full = _GIT_FULL in text or (_GIT_CANNOT_WRITE in text and is_disk_full([Path(where)]))
    for number, (what, hint) in _MEANINGS.items():
        if f": {os.strerror(number)}" in text or (number == errno.ENOSPC and is_full):
            return _kind(number)(f"{what}: {text.splitlines()[0]}", where=where, hint=hint)
    return None


def _kind(number: int | None) -> type[EnvironmentProblem]:
    """The class of error for an errno: DiskFull where waiting may help."""
    return DiskFull if number in _FULL else EnvironmentProblem


@contextmanager
def named_trouble() -> Iterator[None]:
    """Turn an OSError of the body into an EnvironmentProblem, where it is trouble with the disk."""
    try:
        yield
    except OSError as error:
        problem = as_problem(error)
        if problem is None:
            raise
        raise problem from error


def free_mb(places: Iterable[Path]) -> float:
    """Megabytes that are free at the fullest of these places."""
    return free_bytes(places)[0] / (1 << 20)


def is_disk_full(places: Iterable[Path]) -> bool:
    """Is one of the places so full, of bytes or of inodes, that nothing can be written there?"""
    return free_bytes(places)[0] < _NO_ROOM_BYTES


def free_bytes(places: Iterable[Path]) -> tuple[float, Path]:
    """What is free at the fullest of these places, and which it is; a place that cannot be asked does not count.

    Where no inodes are left, nothing is free.
    """
    rooms = []
    for place in places:
        try:
            state = os.statvfs(place)
        except OSError:
            continue
        if not state.f_blocks:  # no disk: /proc
            continue
        is_out_of_inodes = state.f_files and not state.f_favail
        rooms.append((0.0 if is_out_of_inodes else float(state.f_bavail * state.f_frsize), place))
    return min(rooms, default=(float("inf"), Path()))
