"""Two checkouts of one repository share a journal: what runs in one is never taken for the other's own."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ralphy.engine.feature.features import features_of
from ralphy.engine.view.status import decided
from ralphy.errors import Conflict, ExitCode
from ralphy.git.run_lock import Lock
from tests.engine.building import Project, assert_clean, beside, build, drive, held, open_feature, story
from tests.engine.driver import KILLED
from tests.engine.nights import played_once


@played_once
def killed(tmp_path: Path) -> Project:
    """A project whose Ralphy died while its agent worked."""
    project = build(tmp_path, story("US-001"), story("US-002"))
    assert drive(project, "die", "agent_ended", "1") == KILLED
    return project


def test_a_live_run_of_another_checkout_is_not_recovered(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    with held(project, "loop"):
        half_done(project)
        other = beside(project, tmp_path / "beside")
        with pytest.raises(Conflict, match="feature login is being worked on in main"):
            other.loop()
    assert project.journal("end") == []


def test_a_live_run_of_a_worktree_is_shown_from_main(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_iterations": 1})
    project.git("branch", project.branch)
    other = Project(tmp_path / "beside", project.path, project.scenario, project.env)
    project.git("worktree", "add", "--quiet", str(other.repo), project.branch)
    other.plan(story("US-001"))
    other.commit("chore(login): start", ".")
    with Lock(project.repo / ".git" / "ralphy" / "checkouts" / "worktree-beside" / "lock", "loop"):
        with open_feature(other.repo, other.path, other.env) as w:
            w.record("run", step="story", story="US-001", attempt=1, run="r-1", green=other.git("rev-parse", "HEAD"),
                     branch=other.branch, checkout="worktree-beside")  # fmt: skip
        with open_feature(project.repo, project.path, project.env) as w:
            (found,) = features_of(w.checkout, w.config)
            assert decided(w, found)[2] == "login is being worked on in worktree-beside"


def half_done(project: Project) -> None:
    """Leave an open run of this checkout behind, as a loop has it while its agent works."""
    with open_feature(project.repo, project.path, project.env) as w:
        w.record("run", step="story", story="US-001", attempt=1, run="r-1", mode="fresh",
                 green=project.git("rev-parse", "HEAD"), branch="main", checkout="main")  # fmt: skip


def test_a_dead_run_of_another_checkout_is_left_to_that_checkout(killed: Project, tmp_path: Path) -> None:
    assert [run["checkout"] for run in killed.journal("run")] == ["main"]
    other = beside(killed, tmp_path / "beside")
    shutil.copy(killed.folder / "prd.json", other.folder / "prd.json")

    with open_feature(other.repo, other.path, other.env) as w:
        assert w.history.open_runs == ()
        assert w.history.iterations == 1
        assert w.worked_on_in == ""

    assert killed.loop().code == ExitCode.WAITING
    assert killed.landed() == ["login/US-001", "login/US-002"]
    assert_clean(killed)
