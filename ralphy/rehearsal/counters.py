"""Which run of this step or story is it? Counted in one small file that all worktrees share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ralphy.errors import InvalidInput
from ralphy.files.git_places import common_of, find_root
from ralphy.rehearsal import files

SESSIONS_KEPT = 500


def state_path(environ: Mapping[str, str], cwd: str) -> str:
    """Where the counts are kept: RALPHY_REHEARSAL_STATE, else the repository's git folder, else "" (nowhere).

    Ralphy throws the git folder of a lane away after each run: it is nowhere, too.
    """
    if named := environ.get("RALPHY_REHEARSAL_STATE"):
        return files.join(cwd, named)
    if "RALPHY_REPO" in environ:
        return ""
    found = find_root(cwd)
    return files.join(common_of(found[1]), "rehearsal.json") if found else ""


def count_run(path: str, key: str, session: str = "") -> int:
    """Count one more run of `key` and return which one it is, from 1.

    `session` is remembered when it is given; InvalidInput when it was used before. OSError when the
    file cannot be written (a sandbox). A file that is not valid JSON counts from zero.
    """
    with files.locked(f"{path}.lock"):
        state = _load(path)
        if session in state["sessions"]:
            raise InvalidInput(f"Session ID {session} is already in use.")
        state["runs"][key] = number = int(state["runs"].get(key, 0)) + 1
        if session:
            state["sessions"] = [*state["sessions"], session][-SESSIONS_KEPT:]
        files.replace(path, json.dumps(state, indent=1) + "\n")
    return number


def _load(path: str) -> dict[str, Any]:
    try:
        state = json.loads(files.read(path))
        return {"runs": dict(state["runs"]), "sessions": list(state["sessions"])}
    except (OSError, ValueError, KeyError, TypeError):
        return {"runs": {}, "sessions": []}
