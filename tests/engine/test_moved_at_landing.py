"""A person moves the feature's branch while an attempt is judged or landed: the landing goes on from there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.building import Act, Project, assert_clean, breaks, build, person, story, works

FIRST_LANDING = ":/^feat.login.: US-001"


def commits(project: Project) -> None:
    """A person's commit on the feature's branch, made in another checkout of it."""
    commit = project.git("commit-tree", "-p", project.branch, "-m", "mine", f"{project.branch}^{{tree}}")
    project.git("update-ref", f"refs/heads/{project.branch}", commit)


@pytest.mark.fault("M6")
def test_a_commit_in_the_moment_of_a_landing_ends_no_other_agent(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002", priority=2), lanes={"jobs": 2})
    look = f"git rev-parse --verify --quiet '{FIRST_LANDING}'"
    waits = works(run=person(project, f"n=0; until {look}; do n=$((n+1)); [ $n -lt 400 ]; sleep 0.05; done"))
    project.play(stories={"US-001": [works()], "US-002": [waits]})

    ended = project.loop(agents=2, at={"intent_recorded": lambda: commits(project)})

    assert project.landed() == ["login/US-001", "login/US-002"]
    assert project.outcomes()[:2] == [("US-001", "succeeded"), ("US-002", "succeeded")]
    assert "mine" in project.subjects()
    assert "ralph/login has moved to" in ended.text
    assert "but expected" not in ended.text
    assert_clean(project)


@pytest.mark.fault("M6")
def test_a_commit_while_a_failed_attempt_is_noted_costs_no_second_one(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    project.play(stories={"US-001": [breaks(), works()]})

    ended = project.loop(agents=2, at={"intent_recorded": lambda: commits(project)})

    assert project.outcomes()[:2] == [("US-001", "rejected"), ("US-001", "succeeded")]
    assert project.trailer("Ralphy-Attempt", project.commit_of("US-001")) == "2"
    assert len(project.journal("kept")) == 1
    assert "mine" in project.subjects()
    assert "but expected" not in ended.text
    assert_clean(project)


@pytest.mark.parametrize(
    ("to", "said"),
    [
        ("$(git rev-parse ralph/login^)", "was reset to an older commit"),
        ("$(git commit-tree -p ralph/login^ -m other ralph/login^{tree})", "was amended or rebased"),
    ],
    ids=["reset", "amend"],
)
@pytest.mark.fault("M6")
def test_a_branch_that_is_rewritten_during_a_run_is_said_and_gone_on_from(tmp_path: Path, to: str, said: str) -> None:
    project = build(tmp_path, story("US-001"), story("US-002", priority=2))
    once = f"[ -e ../done ] || {{ touch ../done; git update-ref refs/heads/{project.branch} {to}; }}"
    rewrites: Act = works(run=person(project, once))
    project.play(stories={"US-001": [works()], "US-002": [rewrites]})

    ended = project.loop(agents=2)

    assert f"ralph/login {said}; continuing from" in ended.text
    if "reset" in said:  # what the person took back does not come along with the next story
        assert "src/us_001.py" not in project.code_files(project.commit_of("US-002"))
    assert set(project.landed()) >= {"login/US-002"}
    assert_clean(project)
