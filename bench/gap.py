"""Between one agent's end and the next one's start: the time, and how it grows, beside the bare loop."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from statistics import median

from bench.ground import FEATURES, PROJECT, CannotRun, Effort, Ground, prd, ralphy, write
from bench.report import Figure, Judged, Limit, Rounds, each

SIZES = (10, 100, 1000)
_STORIES = 10  # so many are worked on, whatever the size of prd.json
_HISTORY = (10_000, 10_000_000)
_GAP = Limit(Judged.MEDIAN, 250.0)
_OF_SIZE, _OF_HISTORY = Limit(Judged.MEDIAN, 2.0), Limit(Judged.MEDIAN, 1.3)
_PRD = f"{FEATURES}/tasks/prd.json"
_numbers = count()

Argv = Callable[[int], Sequence[str]]


def measure(ground: Ground, effort: Effort) -> Iterator[Figure]:
    """The gap between two agents; checks would come on top."""
    yield from _by_size(ground, effort.pick(full=8, quick=2))
    yield from _by_history(ground, effort.pick(full=8, quick=2))


def _by_size(ground: Ground, rounds: int) -> Iterator[Figure]:
    ours: dict[int, list[list[float]]] = {size: [] for size in SIZES}
    bare: dict[int, list[list[float]]] = {size: [] for size in SIZES}
    for turn in range(rounds):
        for size in SIZES:
            pair = [(ours, _ralphy(_STORIES)), (bare, _bare(ground, _STORIES))]
            for table, argv in pair if turn % 2 else reversed(pair):
                table[size].append(_gaps_ms(ground, _repository(ground, size), argv))
    for size in SIZES:
        yield Figure(f"gap, {size} stories", "ms", ours[size], bare[size], _GAP if size == SIZES[0] else None)
    yield Figure(f"growth of the gap, {SIZES[0]} to {SIZES[-1]} stories", "", _growth(ours), _growth(bare), _OF_SIZE,
                 f"how many times the {SIZES[0]}-story gap; the baseline is the bare loop's growth")  # fmt: skip


def _growth(gaps: dict[int, list[list[float]]]) -> Rounds:
    small, *_, large = gaps.values()
    return each(median(more) / median(less) for less, more in zip(small, large, strict=True))


def _by_history(ground: Ground, rounds: int) -> Iterator[Figure]:
    ours: dict[int, list[list[float]]] = {size: [] for size in _HISTORY}
    bare: dict[int, list[list[float]]] = {size: [] for size in _HISTORY}
    for turn in range(rounds):
        for size in _HISTORY if turn % 2 else reversed(_HISTORY):
            pair = [(ours, _ralphy(_STORIES)), (bare, _bare(ground, _STORIES))]
            for table, argv in pair if turn % 2 else reversed(pair):
                root = _repository(ground, _STORIES, size)
                table[size].append(_gaps_ms(ground, root, argv))
    large = _HISTORY[-1]
    first = median(samples[0] for samples in ours[large])
    yield Figure("gap, 10 MB of history", "ms", ours[large], bare[large], None,
                 "journal.jsonl of that size and progress.txt of that size in the first commit; "
                 f"the first gap, in which progress.txt is cut: {first:.0f} ms")  # fmt: skip
    yield Figure("growth of the gap, 10 KB to 10 MB of history", "", _growth(ours), _growth(bare), _OF_HISTORY,
                 "how many times the gap with 10 KB; the baseline is the bare loop's growth")  # fmt: skip


def _ralphy(stories: int) -> list[str]:
    return ralphy("loop", "tasks", "--max-iterations", str(stories), "-q")


def _bare(ground: Ground, stories: int) -> list[str]:
    return [sys.executable, str(PROJECT / "bench" / "floor.py"), _PRD, str(stories), *ground.stand_in.command]


def _repository(ground: Ground, stories: int, history: int = 0) -> Path:
    """A fresh repository with a feature `tasks`, and as many bytes of history as asked for."""
    files = {"prd.json": prd(stories)}
    if history:
        files["progress.txt"] = _progress(history)
    root = ground.repository(f"gap-{next(_numbers)}", {"tasks": files})
    if history:
        write(root / ".git" / "ralphy" / "journal.jsonl", _journal(history))
    return root


def _gaps_ms(ground: Ground, root: Path, argv: Sequence[str]) -> list[float]:
    """Run a loop to its end and take the agents' stamps; the repository goes away afterwards."""
    ground.stand_in.take_stamps()
    done = subprocess.run(argv, cwd=root, env=ground.env, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    stamps = ground.stand_in.take_stamps()
    shutil.rmtree(root, ignore_errors=True)
    if done.returncode not in (0, 13) or not stamps:
        words = (done.stdout + done.stderr).decode("utf-8", "replace").strip()
        raise CannotRun(f"{argv[0]} ended with {done.returncode}: {words[-600:]}")
    ends = [stamp.at_ns for stamp in stamps if not stamp.is_start]
    starts = [stamp.at_ns for stamp in stamps if stamp.is_start]
    return [(start - end) / 1e6 for end, start in zip(ends, starts[1:], strict=False)]


def _progress(size: int) -> str:
    """A progress.txt of so many bytes, as months of work would leave it."""
    entry = (
        "## [2024-03-{day:02}T10:00:00Z] - OLD-{n:05} (attempt 1/5) - completed\nIteration: {n}\n"
        "Story: OLD-{n:05} Something that was done long ago\nRun: 20240301T100000-{n:08x}\nDuration: 61.0 s\n"
        "Files: src/old_{n}.py\nChecks: test passed in 1.0 s\n\n**Learnings for future iterations:**\n"
        "- The fixture of number {n} has to be loaded before the client is made\n---\n"
    )
    texts = ["# Ralphy Progress Log\nStarted: 2024-03-01T10:00:00Z\n\n## Codebase Patterns\n\n---\n"]
    room, n = size, 0
    while room > 0:
        texts.append(entry.format(day=n % 28 + 1, n=n))
        room, n = room - len(texts[-1]), n + 1
    return "".join(texts)


def _journal(size: int) -> str:
    """A journal of so many bytes: runs of long ago, every other one of another feature."""
    lines: list[str] = []
    room, n = size, 0
    while room > 0:
        feature, run = ("tasks", "other")[n % 2], f"20240301T100000-{n:08x}"
        begin = {"ev": "run", "feature": feature, "at": 1709287200.0 + n, "step": "story", "story": f"OLD-{n:05}",
                 "attempt": 1, "run": run, "mode": "fresh", "model": "sonnet", "green": "0" * 40,
                 "branch": f"ralph/{feature}"}  # fmt: skip
        end = {"ev": "end", "feature": feature, "at": 1709287200.5 + n, "run": run, "outcome": "succeeded",
               "cost": 0.0001, "seconds": 0.01, "detail": "", "landed": True, "code": "0" * 40,
               "tokens": {"input": 10, "output": 5, "cache_read": 0, "cache_creation": 0}}  # fmt: skip
        pair = f"{json.dumps(begin)}\n{json.dumps(end)}\n"
        lines.append(pair)
        room, n = room - len(pair), n + 1
    return "".join(lines)
