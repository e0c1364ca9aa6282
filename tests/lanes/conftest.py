"""A repository with lanes, and programs that run in them, in each kind of sandbox and without one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ralphy.files.tree_walk import remove
from ralphy.git.commands import discover
from ralphy.lanes.changes_in_lane import TakeLimits
from ralphy.lanes.environment import rewritten
from ralphy.lanes.lane import Lane
from ralphy.lanes.lane_sandbox import Bind, LaneSandbox
from ralphy.lanes.pool import Pool
from ralphy.sandbox.bubblewrap import View, find, run_inside
from tests.conftest import RunGit
from tests.sampling import sampled

LIMITS = TakeLimits(1, 50, ("docs/features", ".ralphy"))


class World:
    """A repository, its pool of one kind, and what is needed to use a lane of it."""

    def __init__(self, root: Path, git: RunGit, lanes: Path, kind: str) -> None:
        self.root, self.git, self.kind, self.lanes = root, git, kind, lanes
        self.pool = self.new_pool()

    def new_pool(self) -> Pool:
        bwrap = None if self.kind == "none" else find(os.environ)
        return Pool(discover(self.root), self.lanes, bwrap, self.kind, control=("docs/features",))

    @property
    def head(self) -> str:
        return self.git("rev-parse", "HEAD").strip()

    @property
    def tree(self) -> str:
        return self.git("rev-parse", "HEAD^{tree}").strip()

    def commit(self, files: dict[str, str]) -> str:
        """The tree of a commit with these files."""
        for name, text in files.items():
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (self.root / name).write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", "more")
        return self.tree

    def laid_out(self, lane: Lane | None = None) -> Lane:
        """A lane with what is committed."""
        lane = lane or self.pool.agent()
        lane.lay_out(self.tree, self.head, "main")
        return lane

    def sandbox(self) -> LaneSandbox | None:
        readable = (Path(sys.base_prefix),)
        return self.pool.sandbox(View(readable, (), ()) if self.kind == "strict" else None)

    def inside(self, lane: Lane, script: str, binds: Sequence[Bind] = ()) -> tuple[int, str]:
        """(exit code, what was printed) of a shell script in the lane."""
        sandbox, words = self.sandbox(), ["/bin/sh", "-c", script]
        if sandbox:
            box = sandbox.around(lane.home, binds=binds)
            done = run_inside(box, words, os.environ, timeout_s=60, cwd=str(self.root))
        else:
            env = rewritten(os.environ, self.root, lane.tree)
            done = subprocess.run(words, cwd=lane.tree, env=env, capture_output=True, check=False, timeout=60)
        return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")


@pytest.fixture(params=sampled(["none", "moderate", "strict"], "moderate"))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def world(kind: str, git_repo: Path, git: RunGit, tmp_path: Path, sandbox: None) -> Iterator[World]:
    world = World(git_repo, git, tmp_path / "lanes", kind)
    world.commit({"src/a.py": "a = 1\n", "src/deep/b.py": "b = 2\n", "run.sh": "echo hi\n", ".gitignore": "*.log\n"})
    yield world
    world.pool.close()
    remove(tmp_path)  # pytest itself fails over folders that are too deep for it
