"""`python -m bench.cheats [--runner R] [--only NAME]… [--json]`: judge the cheats and the honest changes."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch

from bench.cheats.corpus import Change, Project, changes, projects
from bench.cheats.judging import Answer
from bench.cheats.pool import judged
from bench.cheats.table import tables

_WORKERS = 2
_PROGRESS_S = 15.0


def main(words: Sequence[str] | None = None) -> int:
    """0 if each change was judged as expected; 1 if one was not, 2 if there is none."""
    asked = _arguments(words)
    began = time.monotonic()
    wanted = list(_wanted(asked.runner, asked.only or ["*"]))
    if not wanted:
        _note("there is no such change")
        return 2
    answers = sorted(_counted(judged(wanted, _WORKERS), len(wanted)), key=lambda a: (a.change.runner, a.change.name))
    took_s = round(time.monotonic() - began)
    if asked.json:
        value = {"schema": "ralphy/cheats@1", "seconds": took_s, "changes": [answer.as_value() for answer in answers]}
        sys.stdout.write(json.dumps(value, indent=1) + "\n")
    else:
        sys.stdout.write(f"{tables(answers)}\n({len(answers)} changes, {took_s} s)\n")
    return 1 if any(answer.outcome != answer.change.expected for answer in answers) else 0


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.cheats", description="Judge cheats and honest changes.")
    parser.add_argument("--runner", help=f"its changes alone: {', '.join(project.runner for project in projects())}")
    parser.add_argument("--only", metavar="NAME", action="append", help="changes of this name ('old-*' names several)")
    parser.add_argument("--json", action="store_true", help="what was said of each change, as JSON")
    return parser.parse_args(words)


def _wanted(runner: str | None, only: Sequence[str]) -> Iterator[tuple[Project, Change]]:
    for project in projects():
        if runner and project.runner != runner:
            continue
        if shutil.which(project.needs):
            yield from ((project, change) for change in changes(project.runner)
                        if any(fnmatch(change.name, name) for name in only))  # fmt: skip
        else:
            _note(f"{project.runner} is skipped: {project.needs} is not installed")


def _counted(answers: Iterator[Answer], of: int) -> Iterator[Answer]:
    """The same, with a word now and then on how far it is."""
    last = time.monotonic()
    for count, answer in enumerate(answers, 1):
        if time.monotonic() - last > _PROGRESS_S:
            last = time.monotonic()
            _note(f"{count} of {of} changes, now {answer.change.runner} …")
        yield answer


def _note(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
