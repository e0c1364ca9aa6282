"""Whole processes from start to end: `ralphy --help` and `ralphy status`, beside a Python that does nothing."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.ground import CannotRun, Effort, Ground, prd, ralphy
from bench.report import Figure, Judged, Limit, each

_HELP, _STATUS = Limit(Judged.RATIO, 5.0), Limit(Judged.RATIO, 15.0)
_PASS = (sys.executable, "-c", "pass")


def measure(ground: Ground, effort: Effort) -> Iterator[Figure]:
    """The two commands that people wait for, on 200 stories."""
    root = ground.repository("startup", {"tasks": {"prd.json": prd(200)}})
    rows = (("ralphy --help", ralphy("--help"), _HELP), ("ralphy status, 200 stories", ralphy("status"), _STATUS))
    rounds: list[list[float]] = []
    for _ in range(effort.pick(full=25, quick=6)):
        rounds.append([_timed(ground, root, argv) for argv in (_PASS, *(argv for _, argv, _ in rows))])
    nothing, *others = zip(*rounds, strict=True)
    for (name, _, limit), samples in zip(rows, others, strict=True):
        yield Figure(name, "ms", each(samples), each(nothing), limit, "the baseline is python -c pass")


def _timed(ground: Ground, root: Path, argv: Sequence[str]) -> float:
    """Milliseconds from the call to the end."""
    began = time.perf_counter()
    ended = subprocess.run(argv, cwd=root, env=ground.env, capture_output=True, check=False)
    took = (time.perf_counter() - began) * 1000
    if ended.returncode:
        raise CannotRun(f"{' '.join(argv)} ended with {ended.returncode}: {ended.stderr.decode()[-300:]}")
    return took
