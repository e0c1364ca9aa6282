"""Drives one feature as `ralphy loop` does, in a process that notes every milestone, dies at one of them, or stands
still at the first of each name while a person's script runs.

    python -m tests.engine.driver ROOT FEATURE note FILE
    python -m tests.engine.driver ROOT FEATURE die NAME NTH
    python -m tests.engine.driver ROOT FEATURE meet SCRIPT BRANCH FILE

It dies as by `kill -9`: nothing is unwound, and whoever depends on it has to notice.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from ralphy.cli.run.sentences import in_words
from ralphy.engine.reactor import Patience, run_feature
from ralphy.errors import RalphyError
from ralphy.git.run_lock import Lock
from tests.engine.building import open_feature

KILLED = 137
FIRST = 2  # a person meets so many milestones of a name


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


class KilledError(BaseException):
    """As by kill -9, but in this process: nothing is unwound that lasts."""


def dies_at(name: str) -> Callable[[str], None]:
    """End the run in this process at the milestone of that name."""

    def milestone(now: str) -> None:
        if now == name:
            raise KilledError

    return milestone


def met(script: str, branch: str, path: str) -> Callable[[str], None]:
    """Run the person's script, from the moment on when the feature has a branch and the person stands where they want
    to; what each call was and said is a line of the file."""
    seen: Counter[str] = Counter()
    file = Path(path)

    def milestone(name: str) -> None:
        seen[name] += 1
        if name == "branch_made":
            subprocess.run(["git", "switch", "--quiet", branch], check=True)
        if not seen["branch_made"] or seen[name] > FIRST:
            return
        number = 10 + sum(min(times, FIRST) for times in seen.values())
        env = {**os.environ, "N": str(number), "MILESTONE": name}
        done = subprocess.run(["sh", "-e", script], env=env, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8", check=False)  # fmt: skip
        note = {"milestone": name, "nth": seen[name], "number": number, "code": done.returncode, "said": done.stdout}
        with file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(note) + "\n")

    return milestone


def say(text: str, _: str = "") -> None:
    sys.stdout.write(f"{text}\n")


def main(root: str, feature: str, what: str, *more: str) -> int:
    os.chdir(root)
    with open_feature(Path(root), feature, dict(os.environ)) as workspace:
        workspace.listener = in_words(say)
        workspace.milestone = WHAT[what](*more)
        with Lock(workspace.repository.checkout_dir / "lock", "driver"):
            rest = run_feature(workspace, Patience(gates=False))
    say(rest.reason)
    return rest.exit_code


WHAT: dict[str, Callable[..., Callable[[str], None]]] = {"note": noted, "die": deadly, "meet": met}


def run(*words: str) -> int:
    """The exit code, also of an error that the command line would word."""
    try:
        return main(*words)
    except RalphyError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code


if __name__ == "__main__":
    sys.exit(run(*sys.argv[1:]))
