"""doctor: the machine: disk, file watching, clock, sleep, and a Ralphy that is running."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import psutil

from ralphy.cli.setup.findings import DoctorCheck, DoctorFinding, Place, fail, warn
from ralphy.documents.feature_folder import listed
from ralphy.engine.wakeups import Wakeups
from ralphy.git.commands import GitError
from ralphy.git.run_lock import holder
from ralphy.git.tree_programs import require_programs_outside
from ralphy.processes.keep_awake import KeepAwake
from ralphy.prompts.render import doubts, own_prompts
from ralphy.text.durations import span

_WATCH_S = 3.0
_APART_S, _AHEAD_S = 2.0, 300.0
_MEGABYTE = 1024 * 1024


def _git_programs(place: Place) -> DoctorFinding:
    """A run does not begin where Git would run a program that an agent can change."""
    require_programs_outside(place.repository)
    return DoctorFinding("none")


def _prompts(place: Place) -> DoctorFinding:
    """The project's own prompts, of the repository and of each feature."""
    root = place.repository.root
    features = listed(root, place.config.project.features_dir)
    folders = (root / ".ralphy" / "prompts", *(feature.private / "prompts" for feature in features))
    own = {path: step for folder in folders for path, step in own_prompts(folder).items()}
    problems = [text.replace(f"{root}/", "") for path, step in own.items() for text in doubts(path, step)]
    if problems:
        return warn("; ".join(problems), 'edit it (`{% include "_report.md.j2" %}` is the report), or delete it')
    return DoctorFinding(f"{len(own)} of the project's own" if own else "the built-in ones")


def _writable(place: Place) -> DoctorFinding:
    for folder in (place.repository.root, place.repository.common_dir):
        try:
            with tempfile.TemporaryFile(dir=folder) as file:
                file.write(b"x")
        except OSError as error:
            return fail(f"{folder}: {error.strerror}", f"chown -R $(id -un) {folder}, or free some space")
    return DoctorFinding(str(place.repository.root))


def _watching(place: Place) -> DoctorFinding:
    """Are changes of files reported? File systems of containers and networks may not do so."""
    with tempfile.TemporaryDirectory(prefix="ralphy-doctor-", dir=place.repository.git_dir) as folder:
        seconds = _seconds_to_notice(Path(folder))
    if seconds is None:
        return warn("file changes are not reported here; Ralphy polls every 5 s",
                    "export WATCHFILES_FORCE_POLLING=1, or sysctl fs.inotify.max_user_watches=524288")  # fmt: skip
    return DoctorFinding(f"works ({seconds * 1000:.0f} ms)")


def _seconds_to_notice(folder: Path) -> float | None:
    """Seconds until a new file is reported; None if it is not. The watcher may miss files right after its start."""
    end = time.monotonic() + _WATCH_S
    with Wakeups([folder]) as wakeups:
        number = 0
        while time.monotonic() < end:
            number += 1
            began = time.monotonic()
            (folder / str(number)).touch()
            if wakeups.wait(0.5):
                return time.monotonic() - began
    return None


def _disk(place: Place) -> DoctorFinding:
    free = shutil.disk_usage(place.repository.common_dir).free // _MEGABYTE
    if free >= 1024:
        return DoctorFinding(f"{free // 1024} GB free")
    return (fail if free < 100 else warn)(f"{free} MB free", "free some space: a night needs about 1 GB")


def _clock(place: Place) -> DoctorFinding:
    """Is the clock right, and does the file system use it? The times of files decide what comes first at a gate."""
    try:
        newest = float(place.repository.text("log", "-1", "--format=%ct", "HEAD"))
    except GitError:  # no commit yet
        newest = 0.0
    with suppress(OSError), tempfile.NamedTemporaryFile(dir=place.repository.git_dir) as file:
        apart = abs(time.time() - os.fstat(file.fileno()).st_mtime)
        if apart > _APART_S:
            return warn(f"the file system's clock is {span(apart)} off: a fresh APPROVED may count as old",
                        "synchronise both clocks (NTP)")  # fmt: skip
    if newest > time.time() + _AHEAD_S:
        return warn(f"the newest commit is {span(newest - time.time())} in the future",
                    "if this machine's clock is wrong: timedatectl set-ntp true")  # fmt: skip
    return DoctorFinding(time.strftime("%Y-%m-%d %H:%M:%S %Z"))


def _sleep(place: Place) -> DoctorFinding:
    """Can Ralphy prevent idle sleep? A machine without a battery rarely sleeps."""
    awake = KeepAwake(place.env, str(place.repository.root))
    is_held = awake.hold("doctor")
    awake.close()
    if is_held:
        return DoctorFinding(f"{awake.program} holds off idle sleep while there is work")
    if not hasattr(psutil, "sensors_battery") or psutil.sensors_battery() is None:
        return DoctorFinding(f"no battery: idle sleep is unlikely, and not held off ({awake.why_not})")
    return warn(f"idle sleep cannot be held off: {awake.why_not}",
                "turn off automatic suspend in the power settings, for the night")  # fmt: skip


def _lock(place: Place) -> DoctorFinding:
    note = holder(place.repository.checkout_dir / "lock")
    if not note:
        return DoctorFinding("no Ralphy runs in this checkout")
    return warn(f"pid {note.get('pid')} on {note.get('host', '?')} is running here: {note.get('purpose', '?')}",
                "wait for it, or: ralphy abort")  # fmt: skip


CHECKS = (
    DoctorCheck("git filters", _git_programs),
    DoctorCheck("prompts", _prompts),
    DoctorCheck("writing", _writable),
    DoctorCheck("file watching", _watching, fix="see writing, above"),
    DoctorCheck("disk", _disk),
    DoctorCheck("clock", _clock),
    DoctorCheck("sleep", _sleep),
    DoctorCheck("lock", _lock),
)
