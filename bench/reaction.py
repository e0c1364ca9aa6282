"""From `touch APPROVED` to the next agent's process, with one feature folder and with a thousand."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from bench.ground import CannotRun, Effort, Ground
from bench.report import Figure, Judged, Limit, each
from bench.watch import AT_GATE, Heard, heard, plant, repository, watching

_READING_S = 0.4  # a person reads before approving; what is made ready meanwhile is the design
_names = (f"sample-{n:04}" for n in count())


def measure(ground: Ground, effort: Effort) -> Iterator[Figure]:
    """One folder, then many, the others waiting too: untracked, and committed on main."""
    many, samples = effort.pick(full=1000, quick=50), effort.pick(full=5, quick=3)
    yield from _figures(ground, "1 folder", 0, effort.pick(full=30, quick=6), committed=False)
    yield from _figures(ground, f"{many} folders, untracked", many - 1, samples, committed=False)
    yield from _figures(ground, f"{many} folders, committed", many - 1, samples, committed=True)


def _figures(ground: Ground, name: str, others: int, samples: int, *, committed: bool) -> Iterator[Figure]:
    label = f"reaction-{others}-{'committed' if committed else 'untracked'}"
    ours_in = repository(ground, label, others, committed=committed)
    bare_in = repository(ground, f"{label}-bare", others, committed=committed)
    bare_argv = [sys.executable, "-m", "bench.floor_gate", *ground.stand_in.command]
    ours, bare = [], []
    with watching(ground, ours_in, others) as watch, heard(ground, bare_in, bare_argv) as reactor:
        for _ in range(samples):
            ours.append(_reaction(ground, ours_in, watch))
            bare.append(_bare_reaction(ground, bare_in, reactor))
    yield Figure(f"touch to agent, {name}", "ms", each(ours), each(bare), Limit(Judged.P99, 1200.0),
                 f"{samples} samples, a feature each, of which the greatest is judged; the baseline looks every ms, "
                 "rewrites prd.json, switches to a new branch, commits and starts the agent")  # fmt: skip


def _reaction(ground: Ground, root: Path, watch: Heard) -> float:
    """A new feature comes to its gate and is approved; back on main, its folder is gone again."""
    name = next(_names)
    folder = plant(ground, root, name)
    watch.until(f"{name}: {AT_GATE}")
    took = _touched(ground, folder, watch, f"{name}: max_iterations")
    watch.process.send_signal(signal.SIGSTOP)  # a look in the middle of the switch would see half of it
    ground.git(root, "switch", "-q", "main")
    watch.process.send_signal(signal.SIGCONT)
    return took


def _bare_reaction(ground: Ground, root: Path, reactor: Heard) -> float:
    folder = plant(ground, root, next(_names))
    assert reactor.process.stdin
    reactor.process.stdin.write(f"{folder}\n".encode())
    reactor.process.stdin.flush()
    reactor.until("ready")
    took = _touched(ground, folder, reactor, "done")
    for made in root.glob("work_*.py"):
        made.unlink()
    ground.git(root, "switch", "-q", "main")
    return took


def _touched(ground: Ground, folder: Path, child: Heard, end: str) -> float:
    """Milliseconds from the touch to the agent's first instruction."""
    time.sleep(_READING_S)
    ground.stand_in.take_stamps()
    began = time.monotonic_ns()
    os.close(os.open(folder / "APPROVED", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))
    child.until(end)
    starts = [stamp.at_ns for stamp in ground.stand_in.take_stamps() if stamp.is_start]
    if len(starts) != 1:
        raise CannotRun(f"{len(starts)} agents were started: {child.lines[-5:]}")
    return (starts[0] - began) / 1e6
