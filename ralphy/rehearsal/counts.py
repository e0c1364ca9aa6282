"""Which run of this step or story is it? Counted in one small file, where Ralphy does not count."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from pathlib import Path

from ralphy.files.git_places import common_of, find_root
from ralphy.rehearsal.context import Context


def number_of_run(context: Context) -> int:
    """The number from the state file, from 1; the caller's number where there is none or it cannot be written."""
    path = state_path(context.cwd)
    if path is None:
        return context.number
    try:
        return count_run(path, context.key)
    except OSError as problem:
        sys.stderr.write(f"Warning: {path} cannot be written ({problem.strerror}): the caller's count is used.\n")
        return context.number


def state_path(cwd: Path) -> Path | None:
    """RALPHY_REHEARSAL_STATE; without it, and without a number of Ralphy's, a file in the repository's Git folder."""
    if named := os.environ.get("RALPHY_REHEARSAL_STATE"):
        return cwd / named
    found = None if "RALPHY_RUN_NUMBER" in os.environ else find_root(str(cwd))
    return Path(common_of(found[1])) / "rehearsal.json" if found else None


def count_run(path: Path, key: str) -> int:
    """Count one more run of `key`. A file that is damaged counts from zero."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        runs = _counted(file.read())
        runs[key] = number = runs.get(key, 0) + 1
        file.truncate(0)
        file.write(json.dumps({"runs": runs}, indent=1) + "\n")
    return number


def _counted(text: str) -> dict[str, int]:
    try:
        return dict(json.loads(text)["runs"])
    except (ValueError, KeyError, TypeError):
        return {}
