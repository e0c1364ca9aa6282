"""What a run of the tests leaves behind: the next run clears it away.

Where it was killed with all its session, a test's file system stays mounted, and pytest cannot remove the folder below
it; a `ralphy watch` that a test had started in a session of its own goes on. pytest notes in `.lock` whose a folder of
temporary files is: what belongs to a run that goes on is left alone.

pytest itself would remove the folders of older runs as a part of its own run, for minutes, and fails over those that
are too deep for it.
"""

from __future__ import annotations

import getpass
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil

MOUNTS = Path("/proc/self/mounts")
KEPT = 1  # for a person who looks for what a test had left


def usual_root() -> Path:
    """Where pytest keeps the temporary files of this user's runs."""
    return Path(
        os.environ.get("PYTEST_DEBUG_TEMPROOT") or tempfile.gettempdir(), f"pytest-of-{getpass.getuser()}"
    ).resolve()


def clear(root: Path) -> None:
    """End the processes that work below the folders of dead runs, then unmount what is mounted there."""
    dead = _dead(root)
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):  # OSError: a folder whose name is too long to be read
            if process.pid != os.getpid() and _is_below(process.cwd(), dead):
                process.kill()
    for place in [at for at in _mounted() if _is_below(at, dead)]:
        subprocess.run(["umount", "--lazy", place], check=False, capture_output=True)


def remove_old(root: Path) -> None:
    """Begin to remove the folders of dead runs but the newest one: that goes on beside the run that begins.

    What another run removes is left to it: each removal writes to the disk, and several would only wait for each other.
    """
    at_work = {word for process in psutil.process_iter(["name", "cmdline"]) if process.info["name"] == "rm"
               for word in process.info["cmdline"] or ()}  # fmt: skip
    old = [str(folder) for folder in _dead(root)[:-KEPT] if str(folder) not in at_work]
    if old:
        subprocess.run(["sh", "-c", 'nice -n 19 rm -rf -- "$@" >/dev/null 2>&1 &', "sh", *old], check=True)


def _dead(root: Path) -> list[Path]:
    """The folders of runs that have ended, the newest last."""
    folders = [one for one in root.glob("*-*") if one.is_dir() and not one.is_symlink() and not _lives(one)]
    return sorted(folders, key=lambda folder: folder.stat().st_mtime_ns)


def _lives(folder: Path) -> bool:
    """Is the run still there whose folder it is?"""
    try:
        return psutil.pid_exists(int((folder / ".lock").read_text()))
    except (OSError, ValueError):
        return False


def _is_below(place: str, folders: list[Path]) -> bool:
    return any(Path(place).is_relative_to(folder) for folder in folders)


def _mounted() -> Iterator[str]:
    """Where something is mounted, the deepest first: later mounts can lie in earlier ones."""
    lines = MOUNTS.read_text().splitlines() if MOUNTS.exists() else []
    for line in reversed(lines):
        yield line.split(" ")[1].encode().decode("unicode_escape")
