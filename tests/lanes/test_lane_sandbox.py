"""The walls of a lane: what is seen of the person's checkout, of other lanes, and what can be written."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path, PurePath

import pytest

from ralphy.errors import EnvironmentProblem
from ralphy.git.commands import discover
from ralphy.lanes.pool import Pool
from ralphy.sandbox.bubblewrap import find
from ralphy.sandbox.mount_points import make_mount_point
from tests.lanes.conftest import LIMITS, World


@pytest.fixture(params=["moderate", "strict"])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_checkout_and_its_git_folder_are_not_seen(world: World) -> None:
    (world.root / "ignored.log").write_text("SECRET")
    world.git("config", "http.extraheader", "SECRET")
    world.git("branch", "other")
    lane = world.laid_out()
    code, said = world.inside(lane, f"cd {world.root}; cat ignored.log; cat .git/config; ls .git .git/ralphy; "
                                    f"echo x > new; git branch -D other; ls {world.lanes}")  # fmt: skip
    assert "SECRET" not in said
    assert world.pool.folder.name not in said, code
    assert not (world.root / "new").exists()
    assert "other" in world.git("branch")


def test_objects_that_are_borrowed_themselves_are_readable(world: World, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--shared", world.root, clone], check=True)
    pool = Pool(discover(clone), tmp_path / "lanes", find(os.environ), world.kind)
    lane = pool.agent()
    lane.lay_out(world.tree, world.head, "main")
    (lane.tree / "run.sh").write_text("changed\n")
    taken = lane.take_over(world.tree, LIMITS)
    assert subprocess.run(["git", "-C", clone, "cat-file", "-e", f"{taken.tree}:run.sh"], check=False).returncode == 0
    pool.close()


def test_mount_points_are_never_made_through_a_link(tmp_path: Path) -> None:
    top, outside = tmp_path / "top", tmp_path / "outside"
    top.mkdir()
    outside.mkdir()
    (top / "a").symlink_to(outside)
    with pytest.raises(EnvironmentProblem):
        make_mount_point(top, PurePath("a/b"))
    make_mount_point(top, PurePath("a/b"), may_replace=True)
    make_mount_point(top, PurePath("a/c"), is_file=True)
    assert list(outside.iterdir()) == []
    assert (top / "a/b").is_dir()
    assert (top / "a/c").is_file()


def test_a_link_left_in_the_git_folder_does_not_lead_a_mount_away(world: World, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    lane = world.laid_out()
    world.inside(lane, f"mv .git/ralphy .git/x; ln -s {outside} .git/ralphy")
    assert world.inside(lane, "git log -1 --format=%s") == (0, "more\n")
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("setting", ["", "../large"])
def test_the_files_of_git_lfs_are_readable_beside_the_borrowed_objects(world: World, setting: str) -> None:
    """There `git lfs` looks for them: beside the folders that the alternates name."""
    if setting:
        world.git("config", "lfs.storage", setting)
    stored = world.root / ".git" / (setting or "lfs") / "objects" / "ab"
    stored.mkdir(parents=True)
    (stored / "abc").write_text("large")
    lane = world.laid_out()
    beside = "$(dirname $(cat .git/objects/info/alternates))/lfs/objects/ab"
    assert world.inside(lane, f"cat {beside}/abc") == (0, "large")
    assert world.inside(lane, f"touch {beside}/x")[0] != 0
    assert os.listdir(stored) == ["abc"]


@pytest.mark.parametrize("setting", ["remote.up.promisor", "extensions.partialClone"])
def test_a_partial_clone_is_refused_with_what_to_do(world: World, setting: str) -> None:
    world.git("config", "core.repositoryformatversion", "1")
    world.git("config", setting, "true" if setting.startswith("remote") else "up")
    with pytest.raises(EnvironmentProblem, match="is a partial clone") as refused:
        world.new_pool().agent()
    assert "git fetch --refetch up" in refused.value.hint


TAKE_OVER = """
import os, sys
from pathlib import Path
from ralphy.git.commands import discover
from ralphy.lanes.pool import Pool
from ralphy.sandbox.bubblewrap import find
from tests.lanes.conftest import LIMITS
root, lanes, level, tree, head = sys.argv[1:]
lane = Pool(discover(Path(root)), Path(lanes), find(os.environ), level).agent()
print(lane.take_over(tree, LIMITS).tree)
lane.tree.chmod(0)
lane.lay_out(tree, head, "main")
"""


def without_power_over_files() -> None:
    """Root is refused from then on what an ordinary user is refused."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


@pytest.mark.attempt(100)
def test_a_lane_that_an_agent_locked_is_taken_over_and_laid_out_again(world: World) -> None:
    lane = world.laid_out()
    (lane.tree / "run.sh").write_text("changed\n")
    lane.tree.chmod(0)
    world.pool.close()
    words = ["-c", TAKE_OVER, str(world.root), str(world.lanes), world.kind, world.tree, world.head]
    done = subprocess.run([sys.executable, *words], preexec_fn=without_power_over_files, cwd=Path(__file__).parents[2],
                          capture_output=True, encoding="utf-8", check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert world.git("diff-tree", "-r", "--name-only", world.tree, done.stdout.strip()) == "run.sh"
    assert (lane.tree / "run.sh").read_text() == "echo hi\n"
