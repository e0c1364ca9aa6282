"""1,000 lean stories: read, checked and made into values, in a fresh process and again, beside a bare json.load.

Run as a script, it is the fresh process: `python -m bench.store WHAT PRD` prints its milliseconds as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.ground import CannotRun, Effort, Ground, prd, write
from bench.report import Figure, Judged, Limit, each

_LIMIT = Limit(Judged.MEDIAN, 500.0)


def measure(ground: Ground, effort: Effort) -> Iterator[Figure]:
    """Cold and warm loads."""
    path = ground.folder / "store" / "prd.json"
    write(path, prd(1_000))
    rounds = range(effort.pick(full=9, quick=3))
    taken = [(_fresh(ground, "store", path), _fresh(ground, "bare", path)) for _ in rounds]
    bare = each(theirs[0] for _, theirs in taken)
    size = path.stat().st_size / 1e6
    yield Figure("1,000 stories, cold", "ms", each(ours[0] for ours, _ in taken), bare, _LIMIT,
                 f"{size:.1f} MB; the first load of a fresh process; "
                 "the baseline is json.load of the same file")  # fmt: skip
    yield Figure("1,000 stories, again after a change", "ms", each(ours[1] for ours, _ in taken), bare, _LIMIT)
    yield Figure("1,000 stories, unchanged", "ms", each(ours[2] for ours, _ in taken), bare, _LIMIT)


def _fresh(ground: Ground, what: str, path: Path) -> list[float]:
    argv = [sys.executable, "-m", "bench.store", what, str(path)]
    ended = subprocess.run(argv, env=ground.env, capture_output=True, check=False)
    if ended.returncode:
        raise CannotRun(ended.stderr.decode()[-600:])
    taken: list[float] = json.loads(ended.stdout)
    return taken


def _store(path: Path) -> list[float]:
    from ralphy.documents.prd_store import PrdStore

    store = PrdStore(path, "prd.json", ("main",))
    cold = _ms(store.load)
    changed = path.read_bytes().replace(b'"passes": false', b'"passes":  false', 1)
    fresh = path.with_name(f"changed-{os.getpid()}.json")
    fresh.write_bytes(changed)
    store.path = fresh
    again, unchanged = _ms(store.load), _ms(store.load)
    fresh.unlink()
    return [cold, again, unchanged]


def _bare(path: Path) -> list[float]:
    return [_ms(lambda: json.loads(path.read_bytes()))]


def _ms(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    sys.stdout.write(json.dumps({"store": _store, "bare": _bare}[sys.argv[1]](Path(sys.argv[2]))))
