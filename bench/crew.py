"""Agents side by side: how much of their time the lanes are in use, and what Ralphy takes beside the agents."""

from __future__ import annotations

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil

from bench.ground import CannotRun, Effort, Ground, prd, ralphy, write
from bench.report import Figure, Judged, Limit, one

_WAVES = 2
_PEOPLE = ("python", "git", "ralphy")  # what belongs to Ralphy, by the beginning of a program's name
# agents at the same time -> seconds that each of them sleeps, the least share of the lanes' time that must be used, and
# the most megabytes
_SIZES = {8: (10.0, 0.9, 200.0), 64: (30.0, 0.7, 600.0)}


def measure(ground: Ground, effort: Effort) -> Iterator[Figure]:
    """The share of time in which a lane's agent works, and the memory of Ralphy's own processes."""
    for jobs, (sleep_s, least, most) in _SIZES.items():
        if effort is Effort.QUICK and jobs > 8:
            continue
        used, most_mb = _night(ground, jobs, sleep_s)
        note = f"{_WAVES * jobs} stories of agents that sleep {sleep_s:g} s; no checks"
        yield Figure(f"{jobs} jobs, time in use", "", one(used), (), Limit(Judged.LEAST, least), note)
        note = "the most that Ralphy and its supervisors had; a page that several use is shared out among them"
        yield Figure(f"{jobs} jobs, memory beside the agents", "MB", one(most_mb), (), Limit(Judged.MOST, most), note)


def _night(ground: Ground, jobs: int, sleep_s: float) -> tuple[float, float]:
    """(the share of the lanes' time in which an agent worked, the most megabytes of Ralphy's own processes)."""
    root = _repository(ground, jobs, sleep_s)
    ground.stand_in.take_stamps()
    words = ralphy("loop", "tasks", "--jobs", str(jobs), "--max-iterations", str(_WAVES * jobs), "-q")
    with (ground.folder / "said").open("w+b") as said:
        process = subprocess.Popen(words, cwd=root, env=ground.env, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        over, seen = threading.Event(), [0.0]
        watcher = threading.Thread(target=_watch, args=(process.pid, over, seen))
        watcher.start()
        process.wait()
        over.set()
        watcher.join()
        said.seek(0)
        told = said.read().decode("utf-8", "replace")
    stamps = ground.stand_in.take_stamps()
    shutil.rmtree(root, ignore_errors=True)
    if process.returncode not in (0, 13) or len(stamps) < 2 * _WAVES * jobs:
        raise CannotRun(f"ralphy ended with {process.returncode} after {len(stamps) // 2} runs: {told.strip()[-600:]}")
    first, last = min(stamp.at_ns for stamp in stamps), max(stamp.at_ns for stamp in stamps)
    return _WAVES * sleep_s / ((last - first) / 1e9 + sleep_s), seen[0]


def _repository(ground: Ground, jobs: int, sleep_s: float) -> Path:
    """A feature with so many stories, and the stand-in behind a sleep."""
    root = ground.repository(f"crew-{jobs}", {"tasks": {"prd.json": prd(_WAVES * jobs)}})
    command = ["sh", "-c", f'sleep {sleep_s:g}; exec "$0" "$@"', *ground.stand_in.command]
    settings = {"checks": [], "agent": {"command": command}, "safety": ground.safety,
                "limits": {"max_iterations": 1000, "calls_per_hour": 1000}}  # fmt: skip
    write(root / ".ralphy" / "config.yaml", json.dumps(settings))
    ground.git(root, "commit", "-qam", "agents that sleep")
    return root


def _watch(pid: int, over: threading.Event, seen: list[float]) -> None:
    """Look once a second at what Ralphy and its supervisors have in memory."""
    while not over.wait(1.0):
        seen[0] = max(seen[0], sum(map(_megabytes, _own(pid))))


def _own(pid: int) -> list[int]:
    """Ralphy's process and what is below it, down to the first program that is not Ralphy's: an agent."""
    try:
        children = psutil.Process(pid).children()
        own = [child.pid for child in children if child.name().startswith(_PEOPLE)]
    except psutil.Error:
        return []
    return [pid, *(below for child in own for below in _own(child))]


def _megabytes(pid: int) -> float:
    try:
        rows = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0.0
    return next((int(row.split()[1]) / 1024 for row in rows if row.startswith("Pss:")), 0.0)
