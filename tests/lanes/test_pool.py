"""The pool: one user of a lane at a time, lanes that stay, and what is known and let go of them."""

from __future__ import annotations

import stat
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from ralphy.config.fields import nodes
from ralphy.git.commands import discover
from ralphy.git.run_lock import LockBusy
from ralphy.lanes.pool import Pool


@pytest.fixture
def pool(git_repo: Path, tmp_path: Path) -> Pool:
    return Pool(discover(git_repo), tmp_path / "lanes", None, "moderate")


def test_a_lane_has_one_user_at_a_time(pool: Pool, git_repo: Path, tmp_path: Path) -> None:
    lane = pool.agent()
    assert pool.agent() is lane
    other = Pool(discover(git_repo), tmp_path / "lanes", None, "moderate")
    with pytest.raises(LockBusy):
        other.agent()
    assert other.agent(2).name == "2"
    assert other.clean().name == "clean-1"
    assert other.let_go(["1"]) == 0
    assert lane.home.is_dir()
    pool.close()
    assert other.agent().home == lane.home
    other.close()


def test_all_lanes_have_ports_of_their_own_below_the_highest(pool: Pool) -> None:
    most = nodes()["lanes.port_base"]["maximum"]
    variables = [lane.environment({}, most) for lane in (pool.clean(), *map(pool.agent, (1, 2, 64, 65, 80)))]
    assert len({one["RALPHY_LANE"] for one in variables}) == 6
    bases = sorted(int(one["RALPHY_PORT_BASE"]) for one in variables)
    assert all(after - before >= 100 for before, after in pairwise(bases))
    assert bases[0] == most
    assert bases[-1] + 100 <= 65536
    pool.close()


def test_lanes_lie_where_nobody_else_may_look(pool: Pool) -> None:
    lane = pool.agent()
    for folder in (pool.folder.parent, pool.folder, lane.home):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    pool.close()


def test_repositories_of_one_name_have_lanes_of_their_own(tmp_path: Path) -> None:
    folders = set()
    for name in ("one", "two"):
        subprocess.run(["git", "init", "-q", tmp_path / name / "repo"], check=True)
        folders.add(Pool(discover(tmp_path / name / "repo"), tmp_path / "lanes", None, "moderate").folder.name)
    assert len(folders) == 2
    assert all(name.startswith("repo-") for name in folders)
