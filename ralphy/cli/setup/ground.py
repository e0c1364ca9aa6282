"""The ground that a night stands on: the disk, file watching, and who works here already.

A look gives a finding: ok, warn (it works, but …) or fail (nothing will work), each with what mends it. No look
raises, none asks anything, and each is bounded in time.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from ralphy.documents.feature_folder import listed
from ralphy.engine.wakeups import Wakeups
from ralphy.errors import EnvironmentProblem
from ralphy.git.commands import GitError
from ralphy.git.run_lock import holder
from ralphy.git.tree_programs import require_programs_outside
from ralphy.processes.keep_awake import KeepAwake
from ralphy.prompts.render import doubts, own_prompts
from ralphy.text.durations import span

if TYPE_CHECKING:
    from ralphy.config.values import Config
    from ralphy.git.commands import Repository

_WATCH_S = 3.0
_APART_S, _AHEAD_S = 2.0, 300.0
_MEGABYTE = 1024 * 1024
_REMOTE_FILES = re.compile(r"nfs|cifs|smb|9p|fuse\.sshfs|vboxsf|drvfs|virtiofs|fakeowner|grpcfuse")


class State(Enum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found; `fix` is the exact thing to do, "" when all is well.

    `mend` does it and says what it did, where that is safe: it replaces nothing of a person's.
    """

    name: str
    state: State
    said: str
    fix: str = ""
    mend: Callable[[], str] | None = None


@dataclass(frozen=True, slots=True)
class Ground:
    """Where to look. `config` is None when the settings cannot be read."""

    repository: Repository
    config: Config | None
    env: Mapping[str, str]


def ok(name: str, said: str) -> Finding:
    return Finding(name, State.OK, said)


def warn(name: str, said: str, fix: str) -> Finding:
    return Finding(name, State.WARN, said, fix)


def fail(name: str, said: str, fix: str) -> Finding:
    return Finding(name, State.FAIL, said, fix)


def surroundings(ground: Ground) -> Iterator[Finding]:
    """What is to be said of the place where the work is done."""
    for look in (_git_programs, _prompts, _writable, _watching, _file_system, _disk, _clock, _sleep, _lock):
        yield look(ground)


def _git_programs(g: Ground) -> Finding:
    """A run refuses to begin where git would run a program that an agent can change."""
    try:
        require_programs_outside(g.repository)
    except EnvironmentProblem as error:
        return fail("git filters", str(error), error.hint)
    return ok("git filters", "none")


def _prompts(g: Ground) -> Finding:
    """Those that are the project's own, of the repository and of each feature."""
    root = g.repository.root
    features = listed(root, g.config.project.features_dir) if g.config else ()
    folders = (root / ".ralphy" / "prompts", *(feature.private / "prompts" for feature in features))
    own = {path: step for folder in folders for path, step in own_prompts(folder).items()}
    found = [text.replace(f"{root}/", "") for path, step in own.items() for text in doubts(path, step)]
    if found:
        return warn(
            "prompts", "; ".join(found), 'edit it (`{% include "_report.md.j2" %}` is the report), or delete it'
        )
    return ok("prompts", f"{len(own)} of the project's own" if own else "the built-in ones")


def _writable(g: Ground) -> Finding:
    for folder in (g.repository.root, g.repository.common_dir):
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(b"x")
        except OSError as error:
            return fail("writing", f"{folder}: {error.strerror}", f"chown -R $(id -un) {folder}, or free some space")
    return ok("writing", f"{g.repository.root}")


def _watching(g: Ground) -> Finding:
    """Does a change of a file really arrive? A container's or a network's file system may keep it to itself."""
    try:
        with tempfile.TemporaryDirectory(prefix="ralphy-doctor-", dir=g.repository.git_dir) as folder:
            seconds = _seconds_to_notice(Path(folder))
    except OSError as error:
        return fail("file watching", f"cannot test: {error.strerror}", "see writing, above")
    if seconds is None:
        return warn("file watching", "file changes are not reported here; Ralphy polls every 5 s",
                     "export WATCHFILES_FORCE_POLLING=1, or sysctl fs.inotify.max_user_watches=524288")  # fmt: skip
    return ok("file watching", f"works ({seconds * 1000:.0f} ms)")


def _seconds_to_notice(folder: Path) -> float | None:
    """How long a new file takes to be noticed; None if it is not. The watcher begins a moment after its start."""
    end = time.monotonic() + _WATCH_S
    with Wakeups([folder]) as wakeups:
        number = 0
        while time.monotonic() < end:
            number += 1
            began = time.monotonic()
            (folder / str(number)).touch()
            if wakeups.wait(0.5)[0]:
                return time.monotonic() - began
    return None


def _file_system(g: Ground) -> Finding:
    kind = kind_of_mount(g.repository.root)
    if not _REMOTE_FILES.search(kind):
        return ok("files", f"file system {kind}, which reports changes" if kind else "unknown file system")
    said = f"{kind}: changes made on another machine or outside the container are not reported"
    return warn("files", said, "export WATCHFILES_FORCE_POLLING=1; without it, 5 s delay")


def kind_of_mount(path: Path) -> str:
    """The type of the file system that holds `path`; "" where it cannot be known."""
    import psutil

    best, kind = "", ""
    for found in psutil.disk_partitions(all=True):
        place = Path(found.mountpoint)
        if len(found.mountpoint) >= len(best) and (path == place or place in path.parents):
            best, kind = found.mountpoint, found.fstype
    return kind


def _disk(g: Ground) -> Finding:
    free = shutil.disk_usage(g.repository.common_dir).free // _MEGABYTE
    if free < 100:
        return fail("disk", f"{free} MB free", "free some space: a night needs about 1 GB")
    if free < 1024:
        return warn("disk", f"{free} MB free", "free some space: a night needs about 1 GB")
    return ok("disk", f"{free // 1024} GB free")


def _clock(g: Ground) -> Finding:
    """Is the clock right, and is it that of the files? What comes first at a gate is told by the times of files."""
    try:
        newest = float(g.repository.text("log", "-1", "--format=%ct", "HEAD"))
    except GitError:  # no commit yet
        newest = 0.0
    with suppress(OSError), tempfile.NamedTemporaryFile(dir=g.repository.git_dir) as file:
        apart = abs(time.time() - os.fstat(file.fileno()).st_mtime)
        if apart > _APART_S:
            return warn("clock", f"the file system's clock is {span(apart)} off: a fresh APPROVED may count as old",
                        "synchronise both clocks (NTP)")  # fmt: skip
    if newest > time.time() + _AHEAD_S:
        said = f"the newest commit is {span(newest - time.time())} in the future"
        return warn("clock", said, "if this machine's clock is wrong: timedatectl set-ntp true")
    return ok("clock", time.strftime("%Y-%m-%d %H:%M:%S %Z"))


def _sleep(g: Ground) -> Finding:
    """Can idle sleep be held off? A machine without a battery seldom sleeps."""
    import psutil

    awake = KeepAwake(g.env, str(g.repository.root))
    is_held = awake.hold("doctor")
    awake.close()
    if is_held:
        return ok("sleep", f"{awake.program} holds off idle sleep while there is work")
    said = f"idle sleep cannot be held off: {awake.why_not}"
    if not hasattr(psutil, "sensors_battery") or psutil.sensors_battery() is None:
        return ok("sleep", said)
    return warn("sleep", said, "turn off automatic suspend in the power settings, for the night")


def _lock(g: Ground) -> Finding:
    note = holder(g.repository.checkout_dir / "lock")
    if not note:
        return ok("lock", "no Ralphy runs in this checkout")
    what = f"pid {note.get('pid')} on {note.get('host', '?')} is running here: {note.get('purpose', '?')}"
    return warn("lock", what, "wait for it, or: ralphy abort")
