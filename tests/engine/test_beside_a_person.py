"""A person who works in the checkout during a run: what is said today, and what lanes will make right."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.engine.building import Act, Project, breaks, build, drive, story, works
from tests.engine.driver import KILLED


def person(tmp_path: Path, script: str) -> list[list[str]]:
    """What a person does in the middle of a run, as commands of a scenario: nothing of it names the agent or a file."""
    path = tmp_path / "person.sh"
    path.write_text(f"unset GIT_REFLOG_ACTION\n{script}\n", encoding="utf-8")
    return [["sh", str(path)]]


def saves(tmp_path: Path) -> list[list[str]]:
    return person(tmp_path, "echo 'MINE = 1' > src/mine.py")


@pytest.mark.parametrize("act", [works, breaks])
def test_a_file_that_the_agent_did_not_edit_is_named(tmp_path: Path, act: Callable[..., Act]) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 1})
    project.play(stories={"US-001": [act(run=saves(tmp_path))]})
    said = project.loop().text
    assert "changed without an edit by the agent: src/mine.py; by a command that it ran, or by you" in said


def test_what_the_agent_edits_itself_is_not_asked_about(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    assert "changed without an edit" not in project.loop().text


def test_nor_is_what_an_earlier_attempt_left(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    left = {"src/us_001.py": "BROKEN = 1\n", "kept.py": "KEPT = 1\n"}
    project.play(stories={"US-001": [breaks(write=left), works()]})
    ended = project.loop()
    assert (project.repo / "kept.py").exists()
    assert "changed without an edit" not in ended.text


@pytest.fixture
def switched(tmp_path: Path) -> Project:
    """Ralphy died when the agent had ended; the person began a branch, which takes along what is in the checkout."""
    project = build(tmp_path, story("US-001"))
    assert drive(project, "die", "agent_ended", "1") == KILLED
    project.git("switch", "--quiet", "-c", "mine")
    assert project.loop().code == 4
    return project


def test_what_an_agent_left_behind_is_not_called_the_persons_changes(switched: Project) -> None:
    switched.git("switch", "--quiet", switched.branch)
    ended = switched.loop()
    assert ended.code == 4
    assert ended.rest.reason.startswith(
        "the branch was switched during a run; the agent's work is left in the checkout"
    )
    assert "src/us_001.py" in ended.rest.reason
    (switched.repo / "src" / "us_001.py").unlink()
    assert switched.loop().runs == ["US-001", "qa"]


@pytest.mark.xfail(strict=True, reason="lanes: agents work in the person's checkout")
@pytest.mark.parametrize("act", [works, breaks])
def test_what_a_person_saves_during_a_run_stays_and_stays_theirs(tmp_path: Path, act: Callable[..., Act]) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 1})
    project.play(stories={"US-001": [act(run=saves(tmp_path))]})
    project.loop()
    assert (project.repo / "src" / "mine.py").exists()
    assert "src/mine.py" not in project.git("ls-tree", "-r", "--name-only", project.branch)


@pytest.mark.xfail(strict=True, reason="lanes: agents work in the person's checkout")
def test_a_switch_of_branches_during_a_run_leaves_nothing_behind(switched: Project) -> None:
    assert switched.git("status", "--porcelain", "src") == ""
