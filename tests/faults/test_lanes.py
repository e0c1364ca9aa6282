"""What happens to a lane: it is removed, damaged, full, out of reach, or elsewhere; and it costs the person nothing."""

from __future__ import annotations

import os
import shlex
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from ralphy.engine.lane_use.lane_layout import lay_out_clean
from ralphy.engine.lane_use.open_lanes import clean_lane
from ralphy.errors import EnvironmentProblem, ExitCode
from ralphy.git.commands import discover
from ralphy.lanes.changes_in_lane import TakeLimits
from ralphy.lanes.pool import Pool
from tests.conftest import RunGit, why_no_sandbox
from tests.engine.building import ONE_RUN, Project, assert_clean, build, drive, open_feature, story
from tests.engine.driver import KILLED
from tests.faults.conftest import Ralphy
from tests.faults.strikes import fill
from tests.faults.sweep import Point, fake_git
from tests.faults.test_disk import disk, needs_root
from tests.sampling import sampled

__all__ = ["disk"]


def lanes_of(project: Project) -> Path:
    """The folder of the repository's lanes."""
    (found,) = (Path(project.env["HOME"]) / ".cache" / "ralphy" / "lanes").glob("repo-*")
    return found


@pytest.mark.fault("L1")
@pytest.mark.parametrize(
    "milestone", sampled(["run_recorded", "laid_out", "agent_ended", "candidate_written", "judged"], "agent_ended")
)
def test_lanes_that_are_removed_after_a_kill_cost_no_attempt(tmp_path: Path, milestone: str) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 1})
    assert drive(project, "die", milestone, "1") == KILLED
    shutil.rmtree(lanes_of(project))

    ended = project.loop(agents=1)

    assert project.landed() == ["login/US-001"], ended.text
    assert_clean(project)


@pytest.mark.fault("L1")
def test_a_lane_that_a_person_removes_while_the_agent_works_costs_no_attempt(tmp_path: Path, sandbox: None) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 1})

    ended = project.loop(agents=2, at={"agent_ended": lambda: shutil.rmtree(lanes_of(project) / "1")})

    assert project.landed() == ["login/US-001"], ended.text
    assert ended.runs.count("US-001") == 2
    assert "lane 1 was removed during the run: it costs no attempt" in ended.text
    assert_clean(project)


@pytest.mark.fault("L1")
@pytest.mark.parametrize(
    ("milestone", "walls"), sampled([("laid_out", "none"), ("run_recorded", "auto")], ("laid_out", "none"))
)
def test_a_lane_that_a_person_removes_before_the_agent_begins_is_laid_out_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, milestone: str, walls: str
) -> None:
    if walls == "auto" and why_no_sandbox():
        pytest.skip(why_no_sandbox())
    monkeypatch.setenv("RALPHY_SAFETY_SANDBOX", walls)
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 1})
    times = iter((1,))

    def remove() -> None:
        if next(times, 0):
            shutil.rmtree(lanes_of(project))

    ended = project.loop(agents=2, at={milestone: remove})

    assert project.landed() == ["login/US-001"], ended.text
    assert ended.runs.count("US-001") == 2
    assert "lane 1 was removed before its agent began" in ended.text
    assert_clean(project)


@pytest.mark.fault("L1")
@pytest.mark.parametrize("code", [0, 1])
def test_a_lane_that_is_removed_during_setup_is_laid_out_and_set_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    monkeypatch.setenv("RALPHY_SAFETY_SANDBOX", "none")
    mark = tmp_path / "removed"
    script = f'test -e {mark} && touch made && exit; touch {mark}; rm -rf "$(dirname "$PWD")"; exit {code}'
    project = build(tmp_path, story("US-001"), setup=shlex.join(["sh", "-c", script]))

    with open_feature(project.repo, project.path, project.env) as w:
        lay_out_clean(w, w.objects.tree_of("HEAD"))
        lane = clean_lane(w)

    assert mark.exists()
    assert (lane.tree / "made").exists()
    assert (lane.tree / "src" / "base.py").exists()


def begun(tmp_path: Path, **lanes: object) -> Project:
    """Two stories, of which the first has landed: the lanes are there."""
    project = build(tmp_path, *(story(f"US-00{number}", priority=number) for number in range(1, 5)))
    if lanes:
        project.configure(lanes=lanes)
    project.loop(**ONE_RUN)
    assert project.landed() == ["login/US-001"]
    return project


def garbage(lane: Path) -> None:
    """What an agent, or a disk, could make of a lane's Git folder."""
    for name in ("HEAD", "config", "index", "packed-refs", "objects/info/alternates"):
        (lane / "git" / name).write_bytes(b"\xff\0garbage\n" * 100)


def shut(lane: Path) -> None:
    for path in (lane / "tree" / "src" / "base.py", lane / "tree" / "src", lane / "tree", lane / "git"):
        path.chmod(0o000)


def links(lane: Path) -> None:
    """Links out of the lane in the place of its folders."""
    for name in ("tree", "git"):
        shutil.rmtree(lane / name)
        (lane / name).symlink_to(lane.parents[3])


@pytest.mark.fault("L2")
def test_a_lane_that_is_corrupt_is_made_again_and_the_work_goes_on(tmp_path: Path) -> None:
    project = begun(tmp_path)
    for number, does in enumerate((garbage, shut, links), start=2):
        for lane in filter(Path.is_dir, list(lanes_of(project).iterdir())):
            does(lane)

        ended = project.loop(only=(f"US-00{number}",))

        assert project.landed() == [f"login/US-00{done}" for done in range(1, number + 1)], ended.text
        assert_clean(project)


@pytest.mark.fault("L3")
@needs_root
def test_a_disk_of_the_lanes_that_is_full_is_said_before_any_money_is_spent(
    tmp_path: Path, disk: Path, ralphy: Ralphy
) -> None:
    project = build(tmp_path, story("US-001"), limits={"min_free_mb": 0})
    project.configure(lanes={"dir": str(disk / "lanes")}, limits={"min_free_mb": 0})
    fill(disk / "heap")

    code, said = ralphy(project, "loop", "login", "--no-wait")

    assert (code, project.journal("run")) == (ExitCode.ENVIRONMENT, [])
    assert "disk is full" in said
    (disk / "heap").unlink()
    assert project.loop(agents=1).runs == ["US-001"]
    assert project.landed() == ["login/US-001"]


@pytest.mark.fault("L4")
def test_lanes_on_another_file_system_work(tmp_path: Path) -> None:
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("there is one file system alone")
    with TemporaryDirectory(dir=shared) as folder:
        project = begun(tmp_path, dir=f"{folder}/lanes")
        (project.repo / ".env").write_text("A=1\n")
        (project.repo / ".git" / "info" / "exclude").write_text(".env\n")

        project.loop(only=("US-002",))

        assert project.landed() == ["login/US-001", "login/US-002"]
        assert any(Path(folder).rglob("clean-1/tree/.env"))
        assert_clean(project)


@pytest.mark.fault("L5")
def test_a_place_for_lanes_that_cannot_be_written_is_said_before_any_money_is_spent(
    tmp_path: Path, ralphy: Ralphy
) -> None:
    (tmp_path / "a file").write_text("x")
    project = build(tmp_path, story("US-001"))
    for place in ("a file", "/proc/lanes"):
        project.configure(lanes={"dir": str(tmp_path / place)})

        code, said = ralphy(project, "loop", "login", "--no-wait")

        assert (code, project.journal("run")) == (ExitCode.ENVIRONMENT, [])
        assert str(tmp_path / place) in said
        assert "lanes.dir" in said


@pytest.mark.fault("P3")
@pytest.mark.parametrize("fault", sampled(["dies", "fails"], "dies"))
def test_a_git_of_a_lane_that_is_killed_or_fails_costs_nothing(
    git_repo: Path, git: RunGit, tmp_path: Path, fault: str
) -> None:
    tree, head = git("rev-parse", "HEAD^{tree}", "HEAD").split()
    for nth in range(1, 30):
        (tmp_path / "git-calls").write_text("")
        path = f"{fake_git(tmp_path, Point('git', fault, nth))}:{os.environ['PATH']}"
        pool = Pool(discover(git_repo), tmp_path / "lanes", None, "minimal")
        lane = pool.agent()
        lane._repository = replace(discover(git_repo), env={**os.environ, "PATH": path})
        for _ in range(2):
            with suppress(EnvironmentProblem):
                lane.lay_out(tree, head, "main")
                (lane.tree / "calc.py").write_text("CHANGED = 1\n")
                break
        taken = None
        for _ in range(2):
            with suppress(EnvironmentProblem):
                taken = lane.take_over(tree, TakeLimits(1, 50))
                break
        pool.close()
        assert taken, nth
        assert git("diff", "--stat", "--name-only", tree, taken.tree).split() == ["calc.py"]
        assert git("cat-file", "-p", f"{taken.tree}:calc.py") == "CHANGED = 1"
        if (tmp_path / "git-calls").stat().st_size // 2 < nth:
            assert nth > 10
            break
    else:
        raise AssertionError("there are more calls than that")
