"""Which run of this step or story is it? Counted in one small file, where Ralphy does not count."""

from __future__ import annotations

import fcntl
import json
import os
import sys
from pathlib import Path

from ralphy.errors import InvalidInput
from ralphy.files.git_places import common_of, find_root
from ralphy.rehearsal.context import Context

SESSIONS_KEPT = 500


def number_of_run(context: Context, session: str) -> int:
    """The number from the state file, from 1; the caller's number where there is none or it cannot be written."""
    path = state_path(context.cwd)
    if path is None:
        return context.number
    try:
        return count_run(path, context.key, session)
    except OSError as problem:
        sys.stderr.write(f"Warning: {path} cannot be written ({problem.strerror}): the caller's count is used.\n")
        return context.number


def state_path(cwd: Path) -> Path | None:
    """RALPHY_REHEARSAL_STATE; without it, and without a number of Ralphy's, a file in the repository's Git folder."""
    if named := os.environ.get("RALPHY_REHEARSAL_STATE"):
        return cwd / named
    found = None if "RALPHY_RUN_NUMBER" in os.environ else find_root(str(cwd))
    return Path(common_of(found[1])) / "rehearsal.json" if found else None


def count_run(path: Path, key: str, session: str = "") -> int:
    """Count one more run of `key`. A file that is damaged counts from zero.

    `session` is remembered when it is given; InvalidInput when it was used before.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        runs, sessions = _counted(file.read())
        if session in sessions:
            raise InvalidInput(f"Session ID {session} is already in use.")
        runs[key] = number = runs.get(key, 0) + 1
        kept = [*sessions, session][-SESSIONS_KEPT:] if session else sessions
        file.truncate(0)
        file.write(json.dumps({"runs": runs, "sessions": kept}, indent=1) + "\n")
    return number


def _counted(text: str) -> tuple[dict[str, int], list[str]]:
    try:
        state = json.loads(text)
        return dict(state["runs"]), list(state["sessions"])
    except (ValueError, KeyError, TypeError):
        return {}, []
