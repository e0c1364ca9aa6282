"""What a finished feature leaves is let go; what somebody may still need stays."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from ralphy.engine.housekeeping import without_lanes
from tests.engine.building import Project, breaks, build, drive, open_feature, reports, story, works
from tests.engine.driver import KILLED
from tests.engine.nights import played_once
from tests.faults.test_lanes import lanes_of


@played_once
def done(tmp_path: Path) -> Project:
    """A feature whose only story landed at the second attempt."""
    project = build(tmp_path, story("US-001"))
    project.play(stories={"US-001": [breaks(), works()]}, qa=[reports()])
    project.loop()
    assert project.refs() != []
    return project


def merge(project: Project) -> None:
    project.git("merge", "--quiet", "--no-edit", project.branch)


def excluded(project: Project) -> bool:
    return "/docs/features/login/" in (project.repo / ".git" / "info" / "exclude").read_text()


def lanes(project: Project) -> list[str]:
    return sorted(path.name for path in lanes_of(project).iterdir() if path.is_dir())


@pytest.mark.parametrize("does", [lambda project: project.loop(), lambda project: project.call("gc")])
def test_a_merged_feature_leaves_no_attempts_no_lanes_and_no_line(
    done: Project, does: Callable[[Project], object]
) -> None:
    assert excluded(done)
    merge(done)

    does(done)

    assert done.refs() == []
    assert list(lanes_of(done).iterdir()) == []
    assert not excluded(done)
    assert done.git("status", "--porcelain") == ""


def test_where_the_branch_that_is_checked_out_has_no_merge_the_line_stays(done: Project) -> None:
    done.git("switch", "--quiet", "-c", "mine")
    done.git("switch", "--quiet", "main")
    merge(done)
    done.git("switch", "--quiet", "mine")

    done.loop()

    assert excluded(done)
    assert done.git("status", "--porcelain") == ""


def test_lanes_stay_while_a_feature_is_open(done: Project) -> None:
    merge(done)
    assert done.call("gc", "--dry-run")[0] == 0
    assert (lanes(done), done.refs() != []) == (["1", "clean-1"], True)
    (done.repo / "docs" / "features" / "next").mkdir()
    (done.repo / "docs" / "features" / "next" / "PRD.md").write_text("# Next\n")

    assert done.call("gc")[0] == 0

    assert done.refs() == []
    assert lanes(done) == ["1", "clean-1"]


def test_a_lane_of_more_than_the_quota_goes_and_it_is_said(done: Project) -> None:
    with (lanes_of(done) / "1" / "tree" / "heap").open("wb") as file:
        file.truncate(2 << 30)
    done.configure(lanes={"max_gb": 1})

    ended = done.loop()

    assert "lane 1 held 2.0 GB, more than lanes.max_gb (1): it was removed, and is made again when needed" in ended.said
    assert lanes(done) == ["clean-1"]


def test_neither_gc_nor_another_feature_that_runs_first_takes_the_work_of_a_dead_run(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    other = replace(project, path="docs/features/other")
    other.plan(story("US-002"))
    project.play(stories={"US-001": [works()], "US-002": [works()]})

    assert drive(project, "die", "agent_ended", "1") == KILLED
    assert project.call("gc")[0] == 0
    assert "1" in lanes(project)
    other.loop(agents=1)
    project.play(stories={"US-001": [{"say": "Nothing is left to do."}], "*": [works()]})

    assert project.loop(agents=1).runs == ["US-001"]
    assert other.landed() == ["other/US-002"]
    assert project.landed() == ["login/US-001"]
    assert project.code("src/us_001.py").strip() == "WORKS = 1"


def test_starting_over_begins_with_new_lanes(done: Project) -> None:
    (lanes_of(done) / "1" / "lane.json").write_text(json.dumps({"feature": "login", "kept": "", "since": 0.0}))
    with open_feature(done.repo, done.path, done.env) as workspace:
        without_lanes(workspace)

    assert lanes(done) == ["clean-1"]
    done.loop()
    assert done.landed() == ["login/US-001"]


def test_a_lane_that_is_removed_while_it_is_used_has_one_user_still(done: Project) -> None:
    from ralphy.git.commands import discover
    from ralphy.git.run_lock import LockBusy
    from ralphy.lanes.pool import Pool

    first, other = (Pool(discover(done.repo), lanes_of(done).parent, None, "moderate") for _ in range(2))
    first.agent()
    shutil.rmtree(lanes_of(done))
    with pytest.raises(LockBusy):
        other.agent()
    first.close()
    assert other.agent().name == "1"
    other.close()
