"""Between one agent's end and the next one's start: time, growth, processes and CPU, beside the bare loop."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from statistics import median

from bench.ground import FEATURES, PROJECT, CannotRun, Effort, Ground, prd, ralphy, write
from bench.report import Figure, Judged, Limit, Rounds, each, one
from bench.stand_in import Stamp

SIZES = (10, 100, 1000)
_STORIES = 10  # so many are worked on, whatever the size of prd.json
_SHORT = 2  # what a run costs in any case is the same in a short one
_HISTORY = (10_000, 10_000_000)
_GROWTH = Limit(Judged.RATIO, 1.0)
_PRD = f"{FEATURES}/tasks/prd.json"
_numbers = count()

Argv = Callable[[int], Sequence[str]]


@dataclass(frozen=True, slots=True)
class Run:
    """What the agents' stamps of one loop tell; `cpu_ms` is of the loop and all it started, without the agents."""

    stamps: Sequence[Stamp]
    cpu_ms: float

    @property
    def gaps_ms(self) -> list[float]:
        ends = [s.at_ns for s in self.stamps if not s.is_start]
        starts = [s.at_ns for s in self.stamps if s.is_start]
        return [(start - end) / 1e6 for end, start in zip(ends, starts[1:], strict=False)]


def measure(ground: Ground, effort: Effort) -> Iterator[Figure]:
    """The gap and all that the issue of speed says of a story."""
    yield from _by_size(ground, effort.pick(full=8, quick=2))
    yield from _by_history(ground, effort.pick(full=8, quick=2))
    yield _processes(ground)
    yield _cpu(ground, effort.pick(full=4, quick=1))


def _by_size(ground: Ground, rounds: int) -> Iterator[Figure]:
    ours: dict[int, list[list[float]]] = {size: [] for size in SIZES}
    bare: dict[int, list[list[float]]] = {size: [] for size in SIZES}
    for turn in range(rounds):
        for size in SIZES:
            pair = [(ours, _ralphy(_STORIES)), (bare, _bare(ground, _STORIES))]
            for table, argv in pair if turn % 2 else reversed(pair):
                table[size].append(_run(ground, _repository(ground, size), argv).gaps_ms)
    for size in SIZES:
        yield Figure(f"gap, {size} stories", "ms", ours[size], bare[size], Limit(Judged.RATIO, 4.0))
    least = SIZES[0]
    yield Figure(f"the same, in ms, {least} stories", "ms", ours[least], bare[least], Limit(Judged.MEDIAN, 120.0))
    yield Figure(f"growth of the gap, {least} to {SIZES[-1]} stories", "", _growth(ours), _growth(bare), _GROWTH,
                 f"how many times the {least}-story gap; the baseline is the bare loop's growth")  # fmt: skip


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
                table[size].append(_run(ground, root, argv).gaps_ms)
    large = _HISTORY[-1]
    first = median(samples[0] for samples in ours[large])
    yield Figure("gap, 10 MB of history", "ms", ours[large], bare[large], None,
                 "journal.jsonl of that size and progress.txt of that size in the first commit; "
                 f"the first gap, in which progress.txt is cut: {first:.0f} ms")  # fmt: skip
    yield Figure("growth of the gap, 10 KB to 10 MB of history", "", _growth(ours), _growth(bare), _GROWTH,
                 "how many times the gap with 10 KB; the baseline is the bare loop's growth")  # fmt: skip


def _processes(ground: Ground) -> Figure:
    name, limit = "programs started a story", Limit(Judged.MOST, 8.0)
    if not shutil.which("strace"):
        return Figure(name, "", (), (), limit, "skipped: there is no strace here")
    try:
        ours, bare = _slope(ground, _ralphy), _slope(ground, lambda stories: _bare(ground, stories))
    except CannotRun as error:
        return Figure(name, "", (), (), limit, f"skipped: strace cannot trace here ({error})")
    return Figure(name, "", one(ours), one(bare), limit,
                  f"successful execve calls of the whole tree, the agent itself left out (it starts none); the slope "
                  f"between runs of {_SHORT} and {_SHORT + _STORIES} stories, so start-up does not count; "
                  "checks would come on top")  # fmt: skip


def _slope(ground: Ground, argv: Argv) -> float:
    few, many = (_executed(ground, argv(stories)) for stories in (_SHORT, _SHORT + _STORIES))
    return (many - few) / _STORIES


def _executed(ground: Ground, argv: Sequence[str]) -> int:
    """How many programs a loop executes, agents left out."""
    log = ground.folder / "strace.log"
    trace = ["strace", "-f", "-qq", "-e", "trace=execve,execveat", "-e", "status=successful", "-o", str(log)]
    _run(ground, _repository(ground, 50), [*trace, *argv])
    agent = f'"{ground.stand_in.program}"'
    return sum(1 for line in log.read_text().splitlines() if "execve" in line and agent not in line.partition(",")[0])


def _cpu(ground: Ground, rounds: int) -> Figure:
    ours, bare = [], []
    for _ in range(rounds):
        ours.append(_cpu_slope(ground, _ralphy))
        bare.append(_cpu_slope(ground, lambda stories: _bare(ground, stories)))
    note = f"user and system time of the whole tree without the agents; the slope between {_SHORT} and 22 stories"
    return Figure("CPU a story", "ms", each(ours), each(bare), Limit(Judged.MEDIAN, 50.0), note)


def _cpu_slope(ground: Ground, argv: Argv) -> float:
    more = 20
    few, many = (_run(ground, _repository(ground, 50), argv(n)).cpu_ms for n in (_SHORT, _SHORT + more))
    return (many - few) / more


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


def _run(ground: Ground, root: Path, argv: Sequence[str]) -> Run:
    """Run a loop to its end and take the stamps; the repository goes away afterwards."""
    ground.stand_in.take_stamps()
    with (ground.folder / "said").open("w+b") as said:
        process = subprocess.Popen(argv, cwd=root, env=ground.env, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        words = said.read().decode("utf-8", "replace")
    stamps = ground.stand_in.take_stamps()
    shutil.rmtree(root, ignore_errors=True)
    if process.returncode not in (0, 13) or not stamps:
        raise CannotRun(f"{argv[0]} ended with {process.returncode}: {words.strip()[-600:]}")
    agents_ms = sum(stamp.cpu_us for stamp in stamps) / 1000
    return Run(stamps, (usage.ru_utime + usage.ru_stime) * 1000 - agents_ms)


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
