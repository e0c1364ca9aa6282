"""Questions of the spec, qa, pr and split agents: asked in QUESTIONS.md, paid for once, answered into the next run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ralphy.errors import ExitCode
from tests.engine.building import Project, assert_clean, breaks, build, drive, reports, story, works

ASKS = {"question": "One shop or many?"}
SPEC = {"outbox": {"SPEC.md": "# Login\n", "stories.json": {"userStories": [{"id": "US-001", "title": "Sign in"}]}}}
PR = {"outbox": {"PR.md": "# Add sign-in\n"}}
AUTO = {"spec": "auto", "qa": "auto"}


def answer(project: Project, text: str) -> None:
    asked = project.read("QUESTIONS.md")
    project.write("QUESTIONS.md", asked.replace("\nAnswer:", f"\nAnswer: {text}", 1))


def for_spec(tmp_path: Path) -> Project:
    project = build(tmp_path, gates=AUTO)
    project.play(spec=[ASKS, SPEC])
    return project


def for_review(tmp_path: Path) -> Project:
    project = build(tmp_path, story("US-001"), gates=AUTO)
    project.play(stories={"*": [works()]}, qa=[ASKS, reports()])
    return project


def for_pull_request(tmp_path: Path) -> Project:
    project = build(tmp_path, story("US-001"), gates=AUTO)
    project.play(stories={"*": [works()]}, pr=[ASKS, PR])
    return project


@pytest.mark.parametrize(
    ("make", "step"),
    [
        pytest.param(for_spec, "spec", id="spec"),
        pytest.param(for_review, "qa", id="qa", marks=pytest.mark.soak),
        pytest.param(for_pull_request, "pr", id="pr", marks=pytest.mark.soak),
    ],
)
def test_a_steps_question_is_paid_once_waits_and_its_answer_reaches_the_next_run(
    tmp_path: Path, make: Callable[[Path], Project], step: str
) -> None:
    project = make(tmp_path)

    ended = project.loop()

    assert (ended.code, ended.runs[-1], ended.runs.count(step)) == (ExitCode.WAITING, step, 1)
    assert f"the {step} agent asks" in ended.rest.reason and "QUESTIONS.md" in ended.rest.reason
    assert f"## {step} step:" in project.read("QUESTIONS.md") and "> One shop or many?" in project.read("QUESTIONS.md")
    assert project.loop().runs == []  # nothing is paid while it is open
    answer(project, "many")
    assert project.loop(agents=1).runs == [step]
    told = project.prompts(step)[-1]
    assert "You asked: One shop or many?" in told and "The answer: many" in told
    assert "One shop" not in project.read("QUESTIONS.md")
    assert_clean(project)


@pytest.fixture
def unsplit(tmp_path: Path) -> Project:
    """A story that is too much for one attempt, and whose split asks first; another story is ready."""
    project = build(tmp_path, story("A"), story("B", priority=2), limits={"max_attempts": 1, "max_splits": 1})
    pieces: dict[str, Any] = {"outbox": {"stories.json": {"userStories": [{"id": "x", "title": "A part of it"}]}}}
    project.play(stories={"A": [breaks(), works()], "*": [works()]}, split=[ASKS, pieces])
    return project


def test_what_a_split_asks_holds_up_its_story_alone_and_the_answer_reaches_the_split(unsplit: Project) -> None:
    ended = unsplit.loop()

    assert [run["step"] for run in unsplit.journal("run")] == ["story", "split", "story"]
    assert unsplit.statuses() == {"A": "blocked", "B": "completed"}
    assert "waiting for an answer in QUESTIONS.md: A" in ended.rest.reason
    answer(unsplit, "by layer")
    assert unsplit.loop(agents=3).runs == ["A", "A-1", "A"]
    assert "The answer: by layer" in unsplit.prompts("split-A")[-1]
    assert_clean(unsplit)


def test_a_kill_right_after_the_question_was_written_does_not_ask_again_and_redo_does(tmp_path: Path) -> None:
    project = for_spec(tmp_path)

    assert drive(project, "die", "artifact_written", "1") == 137

    ended = project.loop()
    assert (ended.code, ended.runs) == (ExitCode.WAITING, [])
    assert project.call("redo", "spec", "login")[0] == 0
    assert project.loop(agents=1).runs == ["spec"]
