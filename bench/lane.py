"""A lane of 5,000 files: how long until it is ready for the first story, and what the next one costs."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from bench.ground import Effort, Ground, write
from bench.report import Figure, Judged, Limit, each

if TYPE_CHECKING:
    from ralphy.lanes.lane import Lane

_FILES = 5000
_FIRST, _NEXT = Limit(Judged.MEDIAN, 5000.0), Limit(Judged.MEDIAN, 1500.0)


def measure(ground: Ground, effort: Effort) -> Iterator[Figure]:
    """A new lane beside `git worktree add`, and the same lane with the next tree."""
    root = _repository(ground)
    taken = [(_lane(ground, root, turn), _worktree(ground, root, turn)) for turn in range(effort.pick(full=5, quick=2))]
    bare = each(worktree_ms for _, worktree_ms in taken)
    yield Figure(f"a lane of {_FILES} files is ready", "ms", each(first for (first, _, _), _ in taken), bare,
                 _FIRST, "the baseline is git worktree add")  # fmt: skip
    yield Figure(f"the next story in it, of {_FILES} files", "ms", each(then for (_, then, _), _ in taken), bare,
                 _NEXT)  # fmt: skip
    yield Figure("files written for the next story", "", each(written for (_, _, written), _ in taken), (),
                 Limit(Judged.MOST, 1.0), "one file differs; more would be a checkout of the tree")  # fmt: skip


def _repository(ground: Ground) -> Path:
    root = ground.repository("lane", {})
    for number in range(_FILES):
        write(root / f"src/part_{number // 100:02}" / f"file_{number:04}.py", f"NUMBER = {number}\n" * 20)
    ground.git(root, "add", "-A")
    ground.git(root, "commit", "-q", "-m", "many files")
    return root


def _lane(ground: Ground, root: Path, turn: int) -> tuple[float, float, float]:
    """(milliseconds for a new lane, for the next tree in it, files written for that)."""
    from ralphy.git.commands import discover
    from ralphy.lanes.pool import Pool
    from ralphy.sandbox.bubblewrap import find

    pool = Pool(discover(root, ground.env), ground.folder / "lanes", find(os.environ), "moderate")
    try:
        lane = pool.agent()
        first_ms, _ = _laid_out(ground, root, lane)
        write(root / "src/part_00/file_0000.py", f"TURN = {turn}\n")
        ground.git(root, "commit", "-qam", "a story")
        then_ms, written = _laid_out(ground, root, lane)
        pool.let_go([lane.name])
    finally:
        pool.close()
    return first_ms, then_ms, written


def _laid_out(ground: Ground, root: Path, lane: Lane) -> tuple[float, int]:
    """(milliseconds, files written) to lay out what is committed."""
    ask = ("git", "rev-parse", "HEAD", "HEAD^{tree}")
    commit, tree = subprocess.check_output(ask, cwd=root, env=ground.env, text=True).split()
    before = _written(lane.tree)
    began = time.perf_counter()
    lane.lay_out(tree, commit, "main")
    return (time.perf_counter() - began) * 1000, len(_written(lane.tree) - before)


def _written(folder: Path) -> set[tuple[int, int]]:
    """What tells the files of a folder from others that are written in their place."""
    return {(stat.st_ino, stat.st_ctime_ns) for path in folder.rglob("*.py") for stat in (path.stat(),)}


def _worktree(ground: Ground, root: Path, turn: int) -> float:
    at = ground.folder / f"worktree-{turn}"
    began = time.perf_counter()
    ground.git(root, "worktree", "add", "-q", "--detach", str(at))
    took = (time.perf_counter() - began) * 1000
    shutil.rmtree(at)
    ground.git(root, "worktree", "prune")
    return took
