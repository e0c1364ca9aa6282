"""Drives one feature as `ralphy loop` does, in a process that notes every milestone, or dies at one of them.

    python -m tests.engine.driver ROOT FEATURE note FILE
    python -m tests.engine.driver ROOT FEATURE die NAME NTH

It dies as by `kill -9`: nothing is unwound, and whoever depends on it has to notice.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ralphy.engine.reactor import Patience, run_feature
from ralphy.errors import RalphyError
from ralphy.git.run_lock import Lock
from tests.engine.building import open_feature

KILLED = 137


def noted(path: str) -> Callable[[str], None]:
    """Write every milestone on a line of the file."""
    file = Path(path)

    def milestone(name: str) -> None:
        with file.open("a", encoding="utf-8") as out:
            out.write(f"{name}\n")

    return milestone


def deadly(name: str, nth: str) -> Callable[[str], None]:
    """End the process at the nth milestone of that name."""
    seen: Counter[str] = Counter()

    def milestone(now: str) -> None:
        seen[now] += 1
        if now == name and seen[now] == int(nth):
            os._exit(KILLED)

    return milestone


def main(root: str, feature: str, what: str, *more: str) -> int:
    with open_feature(Path(root), feature, dict(os.environ)) as workspace:
        workspace.milestone = noted(*more) if what == "note" else deadly(*more)
        with Lock(workspace.repository.checkout_dir / "lock", "driver"):
            rest = run_feature(workspace, lambda *_: None, Patience(gates=False), None)
    return rest.exit_code


def run(*words: str) -> int:
    """The exit code, also of an error that the command line would word."""
    try:
        return main(*words)
    except RalphyError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:]))
