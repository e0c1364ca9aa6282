"""Agents that say what nobody knows, or plan the work anew: their lines are passed over, their plans are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ralphy.errors import ExitCode
from tests.engine.building import assert_clean, breaks, build, drive, story, works
from tests.engine.driver import KILLED
from tests.faults.scenes import UNKNOWN_LINES

PLAN = "docs/features/login/prd.json"
REORDERED = [story("US-009", passes=True, status="completed"), story("US-002"), story("US-001", priority=7)]


@pytest.mark.fault("P18")
def test_lines_of_a_newer_claude_are_passed_over_and_the_run_counts(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    project.play(stories={"US-001": [works(raw=UNKNOWN_LINES)]})

    ended = project.loop()

    assert ended.code == ExitCode.WAITING
    assert project.outcomes()[0] == ("US-001", "succeeded")
    assert ended.text.count("telepathy") <= 1


@pytest.mark.parametrize("commits", [pytest.param(False, marks=pytest.mark.soak), True])
@pytest.mark.fault("A5")
def test_stories_that_an_agent_adds_reorders_or_completes_are_not_the_plan(tmp_path: Path, commits: bool) -> None:
    project = build(tmp_path, story("US-001"), story("US-002", priority=2))
    plan = json.dumps({"userStories": REORDERED})
    act = works(write={PLAN: plan, "src/{{slug}}.py": "WORKS = 1\n"}, **({"commit": "wip: plan"} if commits else {}))
    project.play(stories={"US-001": [act], "US-002": [works()]})

    ended = project.loop()

    assert ended.runs == ["US-001", "US-002", "qa"]
    assert [found["id"] for found in project.prd()["userStories"]] == ["US-001", "US-002"]
    assert project.landed() == ["login/US-001", "login/US-002"]
    assert_clean(project)


@pytest.mark.parametrize("milestone", ["agent_ended", pytest.param("judged", marks=pytest.mark.soak)])
@pytest.mark.fault("P1", "G16")
def test_a_branch_that_a_dead_run_has_deleted_comes_back(tmp_path: Path, milestone: str) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 5})
    project.play(stories={"US-001": [works(run=[["git", "update-ref", "-d", "HEAD"]]), works()]})
    assert drive(project, "die", milestone, "1") == KILLED

    ended = project.loop()

    assert ended.code == ExitCode.WAITING
    assert project.landed() == ["login/US-001"]
    assert_clean(project)


FORGE = "git commit-tree -p HEAD -m 'feat: by plumbing' $(git add src; git write-tree)"


@pytest.mark.parametrize("branch", [pytest.param("main", marks=pytest.mark.soak), "ralph/login"])
@pytest.mark.fault("G16")
def test_a_branch_that_an_agent_moves_by_plumbing_is_not_taken_for_a_persons(tmp_path: Path, branch: str) -> None:
    """Plumbing leaves no word in git's log of a ref, and a person's commit would stand as it is."""
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 2})
    main = project.git("rev-parse", "main")
    command = f"git update-ref refs/heads/{branch} $({FORGE})"
    project.play(stories={"US-001": [breaks(run=[["sh", "-c", command]]), works()]})

    ended = project.loop()

    assert ended.code == ExitCode.WAITING
    assert project.git("rev-parse", "main") == main
    assert "feat: by plumbing" not in project.subjects()
    assert project.landed() == ["login/US-001"]
    assert_clean(project)
