"""Chaotic nights: whole features under random kills, faults and misbehaving agents, and what must hold afterwards.

    python -m tests.faults.chaos N [--seed S] [--jobs 1] [--at-once 2] [--json] [-v]

Each feature has a seed of its own, S and the numbers after it, so that a night can be had again:
`python -m tests.faults.chaos 1 --seed S`. `--jobs` is how many agents work on a feature's stories side by side,
`--at-once` how many features there are at a time.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

from tests.faults.night import Told, spend

_EACH = 10  # features between two lines of progress


def say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def one(seed: int, root: str, jobs: int = 1) -> Told:
    """One feature's night in a folder below `root`, which is kept if something did not hold."""
    folder = Path(root) / f"night-{seed}"
    folder.mkdir()
    told = spend(seed, folder, jobs)
    if not told.violations:
        shutil.rmtree(folder, ignore_errors=True)
    return told


def nights(count: int, seed: int, jobs: int, at_once: int, told: Callable[[Told], None]) -> list[Told]:
    """All features, some at a time; each is told when it has ended."""
    root = tempfile.mkdtemp(prefix="ralphy-chaos-")
    found = []
    with ProcessPoolExecutor(at_once) as pool:
        for done in [pool.submit(one, seed + number, root, jobs) for number in range(count)]:
            found.append(done.result())
            told(found[-1])
    if not any(night.violations for night in found):
        shutil.rmtree(root, ignore_errors=True)
    else:
        say(f"kept: {root}")
    return found


def summary(found: Sequence[Told], seed: int, seconds: float) -> dict[str, object]:
    """The figures of all nights."""

    def added(counters: Sequence[Counter[str]]) -> dict[str, int]:
        return dict(sorted(sum(counters, Counter[str]()).items()))

    return {
        "seed": seed,
        "features": len(found),
        "seconds": round(seconds, 1),
        "calls": sum(night.calls for night in found),
        "ends": added([Counter([night.end or "violation"]) for night in found]),
        "stories_landed": sum(night.landed for night in found),
        "reads_of_prd_json": sum(night.reads for night in found),
        "strikes": added([night.strikes for night in found]),
        "agents": added([night.scenes for night in found]),
        "people": added([night.deeds for night in found]),
        "violations": sum(len(night.violations) for night in found),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 1 if anything did not hold."""
    options = _options(arguments)
    seed = options.seed if options.seed is not None else random.SystemRandom().randrange(1, 10**6)
    say(f"seed {seed}: {options.count} features")
    began, done = time.monotonic(), itertools.count(1)

    def tell(night: Told) -> None:
        if (number := next(done)) % _EACH == 0:
            say(f"{number} of {options.count} features, {(time.monotonic() - began) / 60:.0f} min")
        if options.verbose or night.violations:
            say(f"{night.seed}: {night.end or 'VIOLATION'} in {night.calls} calls, {night.seconds:.1f} s; "
                f"{', '.join([*night.scenes, *night.log])}")  # fmt: skip
        for violation in night.violations:
            say(f"  VIOLATION: {violation}\n  again: make chaos N=1 SEED={night.seed} JOBS={options.jobs}")

    found = nights(options.count, seed, options.jobs, options.at_once, tell)
    figures = summary(found, seed, time.monotonic() - began)
    if options.json:
        text = json.dumps({**figures, "nights": [asdict(night) for night in found if night.violations]}, indent=2)
        sys.stdout.write(f"{text}\n")
    else:
        for name, value in figures.items():
            sys.stdout.write(f"{name:18} {_shown(value)}\n")
    return 1 if figures["violations"] else 0


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make chaos")
    parser.add_argument("count", type=int, nargs="?", default=20)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    return parser.parse_args(arguments)


def _shown(value: object) -> str:
    return ", ".join(f"{name} {number}" for name, number in value.items()) if isinstance(value, dict) else str(value)


if __name__ == "__main__":
    sys.exit(main())
