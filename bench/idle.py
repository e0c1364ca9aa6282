"""`ralphy watch` with nothing to do over a thousand features, beside a bare watchfiles over the same folders."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace

from bench.ground import FEATURES, CannotRun, Effort, Ground
from bench.report import Figure, Judged, Limit, one
from bench.watch import heard, repository, watching

_KINDS = ("untracked", "committed")
_SETTLED_S = 6.0  # the first waits are short on purpose; later there is one look in 30 s
_WATCHFILES = "import sys, watchfiles\nprint('on', flush=True)\nfor _ in watchfiles.watch(sys.argv[1]): pass\n"


@dataclass(frozen=True, slots=True)
class Load:
    """What a process and its children have used and hold."""

    cpu_s: float
    own_mb: float
    children_mb: float


def measure(ground: Ground, effort: Effort) -> Iterator[Figure]:
    """CPU over some seconds in which nothing happens, and memory: features untracked, and committed on main."""
    many, seconds = effort.pick(full=1000, quick=50), effort.pick(full=30, quick=3)
    roots = {how: repository(ground, f"idle-{how}", many, committed=how == "committed") for how in _KINDS}
    bare_argv = [sys.executable, "-c", _WATCHFILES, str(roots["committed"] / FEATURES)]
    with ExitStack() as stack:
        watchers = {how: stack.enter_context(watching(ground, root, many)) for how, root in roots.items()}
        bare = stack.enter_context(heard(ground, roots["committed"], bare_argv))
        bare.until("on")
        time.sleep(_SETTLED_S)
        loads = _over(seconds, [child.process.pid for child in (*watchers.values(), bare)])
    theirs = loads.pop()
    for how, ours in zip(_KINDS, loads, strict=True):
        yield from _figures(f"{many} folders, {how}", ours, theirs, seconds)


def _over(seconds: int, pids: Sequence[int]) -> list[Load]:
    """What each of the processes used in so many seconds, and held at their end."""
    before = [_load(pid) for pid in pids]
    time.sleep(seconds)
    after = [_load(pid) for pid in pids]
    return [replace(now, cpu_s=now.cpu_s - then.cpu_s) for now, then in zip(after, before, strict=True)]


def _figures(name: str, ours: Load, theirs: Load, seconds: int) -> Iterator[Figure]:
    share, bare_share = (load.cpu_s / seconds * 100 for load in (ours, theirs))
    yield Figure(f"idle CPU, {name}", "%", one(share), one(bare_share), Limit(Judged.MOST, 1.0),
                 f"of a core, children included, over {seconds} s; the baseline is watchfiles alone")  # fmt: skip
    yield Figure(f"idle memory, {name}", "MB", one(ours.own_mb), one(theirs.own_mb), Limit(Judged.MOST, 80.0),
                 f"resident, of the reactor; its child processes hold {ours.children_mb:.0f} MB more")  # fmt: skip


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
