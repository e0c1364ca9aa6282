"""`ralphy watch` with nothing to do over a thousand features, beside a bare watchfiles over the same folders."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

from bench.ground import FEATURES, CannotRun, Effort, Ground
from bench.report import Figure, Judged, Limit, one
from bench.watch import heard, repository, watching

_SETTLED_S = 3.0  # the first waits are short on purpose
_WATCHFILES = "import sys, watchfiles\nprint('on', flush=True)\nfor _ in watchfiles.watch(sys.argv[1]): pass\n"


@dataclass(frozen=True, slots=True)
class Load:
    """What a process and its children have used and hold."""

    cpu_s: float
    own_mb: float
    children_mb: float


def measure(ground: Ground, effort: Effort) -> Iterator[Figure]:
    """CPU over some seconds in which nothing happens, and memory; features committed on main, or untracked."""
    many, seconds = effort.pick(full=1000, quick=50), effort.pick(full=10, quick=3)
    for committed in (False, True):
        yield from _figures(ground, many, seconds, committed=committed)


def _figures(ground: Ground, many: int, seconds: int, *, committed: bool) -> Iterator[Figure]:
    how = "committed" if committed else "untracked"
    root = repository(ground, f"idle-{how}", many, committed=committed)
    bare_argv = [sys.executable, "-c", _WATCHFILES, str(root / FEATURES)]
    with watching(ground, root, many) as watch, heard(ground, root, bare_argv) as bare:
        bare.until("on")
        time.sleep(_SETTLED_S)
        pids = (watch.process.pid, bare.process.pid)
        before = [_load(pid) for pid in pids]
        time.sleep(seconds)
        ours, theirs = (_load(pid) for pid in pids)
    share = [(now.cpu_s - then.cpu_s) / seconds * 100 for now, then in zip((ours, theirs), before, strict=True)]
    name = f"{many} folders, {how}"
    yield Figure(f"idle CPU, {name}", "%", one(share[0]), one(share[1]), Limit(Judged.MOST, 1.0),
                 f"of a core, children included, over {seconds} s; the baseline is watchfiles alone")  # fmt: skip
    yield Figure(f"idle memory, {name}", "MB", one(ours.own_mb), one(theirs.own_mb), Limit(Judged.MOST, 45.0),
                 f"resident, of the reactor; its warm children hold {ours.children_mb:.0f} MB more")  # fmt: skip


def _load(pid: int) -> Load:
    import psutil

    try:
        process = psutil.Process(pid)
        children = process.children(recursive=True)
        times = [each.cpu_times() for each in (process, *children)]
        held = sum(child.memory_info().rss for child in children)
        return Load(sum(t.user + t.system for t in times), process.memory_info().rss / 1e6, held / 1e6)
    except psutil.Error as error:
        raise CannotRun(f"a watcher has gone: {error}") from error
