"""The rehearsal agent for scenarios in JSON that are known to be right: it starts in a third of the time.

Tests start it some thousand times. With -I and -S Python looks for no packages, and needs none. It counts its runs in
the file that RALPHY_REHEARSAL_STATE names: a turn is played once, also where Ralphy counts from 1 again.
"""

from __future__ import annotations

import fcntl
import json
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any


def load_scenario(cwd: Path) -> dict[str, Any]:
    """The scenario that RALPHY_REHEARSAL names, or the repository's own; not checked."""
    path = Path(os.environ.get("RALPHY_REHEARSAL") or cwd / ".ralphy" / "rehearsal.json")
    return dict(json.loads(path.read_bytes())) if path.exists() else {}


def count_run(state: Path) -> int:
    """Count one more run of this step or story, and give its number."""
    key = "/".join(os.environ.get(f"RALPHY_{name}", "") for name in ("STEP", "FEATURE", "STORY"))
    with state.open("r+", encoding="utf-8") as file:  # inside walls that do not show it, no other one is begun
        fcntl.flock(file, fcntl.LOCK_EX)
        runs = json.loads(file.read() or "{}")
        runs[key] = number = runs.get(key, 0) + 1
        file.seek(0)
        file.truncate()
        file.write(json.dumps(runs))
    return int(number)


def main() -> None:
    from ralphy.rehearsal.run import play

    if state := os.environ.get("RALPHY_REHEARSAL_STATE"):
        with suppress(OSError):  # inside walls it is not there, or not to be written: Ralphy's count is used
            os.environ["RALPHY_RUN_NUMBER"] = str(count_run(Path(state)))
    sys.exit(play(sys.argv[1:], load_scenario))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main()
