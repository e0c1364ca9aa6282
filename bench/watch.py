"""`ralphy watch` as a child, heard line by line, and features that come to its gate one after the other."""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.ground import FEATURES, CannotRun, Ground, prd, ralphy, write

PATIENCE_S = 120.0
AT_GATE = "SPEC.md is ready for review"
_SPEC = "# Specification\n\n### US-00001 The only one\n\nIt works.\n"


class Heard:
    """A child's lines as they come; `process` is the child."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout
        self.process = process
        self._descriptor = process.stdout.fileno()
        self._rest = b""
        self.lines: list[str] = []

    def until(self, *wanted: str, times: int = 1) -> None:
        """Read on until so many lines have come that hold all these words; raises CannotRun if they do not come."""
        deadline = time.monotonic() + PATIENCE_S
        while times:
            if not select.select([self._descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise CannotRun(f"no {' '.join(wanted)!r} within {PATIENCE_S:.0f} s, but {self.lines[-5:]}")
            data = os.read(self._descriptor, 1 << 16)
            if not data:
                raise CannotRun(f"it ended without {' '.join(wanted)!r}: {self.lines[-5:]}")
            *lines, self._rest = (self._rest + data).split(b"\n")
            new = [line.decode("utf-8", "replace") for line in lines]
            self.lines = [*self.lines, *new][-50:]
            times = max(0, times - sum(1 for line in new if all(word in line for word in wanted)))


@contextmanager
def heard(ground: Ground, root: Path, argv: Sequence[str]) -> Iterator[Heard]:
    """Start a child in a repository, and end it."""
    process = subprocess.Popen(argv, cwd=root, env=ground.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT)  # fmt: skip
    with process:
        try:
            yield Heard(process)
        finally:
            process.terminate()
            if process.stdout:
                process.stdout.close()


@contextmanager
def watching(ground: Ground, root: Path, waiting: int) -> Iterator[Heard]:
    """`ralphy watch`, one agent run a feature, when so many features have come to their gate."""
    with heard(ground, root, ralphy("watch", "--max-iterations", "1")) as watch:
        watch.until("watching")
        if waiting:
            watch.until(AT_GATE, times=waiting)
        yield watch


def repository(ground: Ground, name: str, features: int, *, committed: bool) -> Path:
    """A repository with so many features before their gate, on main or lying there untracked."""
    those = {f"f{n:04}": _files(f"f{n:04}") for n in range(features)}
    root = ground.repository(name, those if committed else {})
    if not committed:
        for feature in those:
            plant(ground, root, feature)
    return root


def plant(ground: Ground, root: Path, name: str) -> Path:
    """A new feature folder, there all at once; gives its path."""
    made, folder = ground.folder / "planted", root / FEATURES / name
    for file, text in _files(name).items():
        write(made / file, text)
    folder.parent.mkdir(parents=True, exist_ok=True)  # git takes an empty one away
    made.rename(folder)
    return folder


def _files(name: str) -> dict[str, str]:
    return {"SPEC.md": _SPEC, "prd.json": prd(2, f"ralph/{name}")}
