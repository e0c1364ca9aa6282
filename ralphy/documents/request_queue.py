"""Queued changes of stories: a file each in `<git common dir>/ralphy/requests/<feature>/`, in the order of their names.

The folder is Ralphy's own state: in the sandbox agents can read it only.
"""

from __future__ import annotations

import os
import re
import stat
import time
from contextlib import suppress
from pathlib import Path

import orjson

from ralphy.files.atomic import names_in, read_regular, replace_file, sync_folder
from ralphy.pipeline.requests import Change, Request

_NAME = re.compile(r"(\d{20}-\d+)\.json")
MOST_BYTES = 256 * 1024


def folder_of(state_dir: Path, feature: str = "") -> Path:
    """Where a feature's requests lie; without a feature, the folder above."""
    return state_dir / "requests" / feature


def made_folder(state_dir: Path, feature: str = "") -> Path:
    """The same folder, made if possible: where it is not, the writing of a request says why."""
    folder = folder_of(state_dir, feature)
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def queue(state_dir: Path, feature: str, change: Change) -> str:
    """Put a change behind those that wait, on the disk when this returns; gives the id of the request."""
    folder = made_folder(state_dir, feature)
    request = f"{time.time_ns():020d}-{os.getpid()}"
    replace_file(folder / f"{request}.json", orjson.dumps(change.document))
    sync_folder(folder)
    return request


def queued(state_dir: Path, feature: str) -> list[Request]:
    """What waits for a feature, the oldest first."""
    folder = folder_of(state_dir, feature)
    names = sorted(match[1] for name in names_in(folder) if (match := _NAME.fullmatch(name)))
    return [_read(folder, name) for name in names]


def path_of(state_dir: Path, feature: str, request: str) -> Path:
    return folder_of(state_dir, feature) / f"{request}.json"


def forget(state_dir: Path, feature: str, request: str) -> None:
    """The change is made, and on the disk: its request goes."""
    path_of(state_dir, feature, request).unlink(missing_ok=True)


def _read(folder: Path, name: str) -> Request:
    path = folder / f"{name}.json"
    try:
        found = path.lstat()
    except OSError:
        return Request(name, None, "cannot be read")
    if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or found.st_uid != os.getuid():
        return Request(name, None, "is not a regular file that you own, with one link")
    data = read_regular(path, MOST_BYTES)
    try:
        change = Change.of(orjson.loads(data)) if data is not None else None
    except orjson.JSONDecodeError:
        change = None
    return Request(name, change, "" if change else "is not a change of stories that Ralphy knows")
