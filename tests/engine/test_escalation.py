"""Escalation: what becomes of a story that cannot be done as it is: climbed, split, asked about, taken up again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ralphy.errors import ExitCode
from tests.engine.building import Act, Project, assert_clean, breaks, build, drive, reports, story, works
from tests.engine.driver import KILLED
from tests.engine.nights import played_once

LADDER = {"implementation": ["sonnet", "opus"]}


def pieces(*names: str, **fields: Any) -> dict[str, Any]:
    """The act of an agent that cuts these pieces off a story."""
    draft = [{"id": name, "title": f"Piece {name}", "acceptanceCriteria": ["it is there"], **fields} for name in names]
    return {"outbox": {"stories.json": {"userStories": draft}}}


OTHERS = (story("US-002", dependsOn=["US-001"], priority=2), story("US-003", priority=3))


def hard(tmp_path: Path, *others: Act, attempts: int = 1, **limits: Any) -> Project:
    """US-001 fails as often as it may and works when its pieces are there."""
    limits = {"max_attempts": attempts, "max_splits": 1, **limits}
    project = build(tmp_path, story("US-001"), *others, limits=limits, models=LADDER)
    acts = [*[breaks()] * attempts, works()]
    project.play(stories={"US-001": acts, "*": [works()]}, split=[pieces("A", "B")], qa=[reports()])
    return project


@played_once
def split(tmp_path: Path) -> Project:
    """The hard feature at its end; the agent that split US-001 wrote code besides."""
    project = hard(tmp_path, *OTHERS, attempts=2)
    project.play(stories={"US-001": [breaks(), breaks(), works()], "*": [works()]}, qa=[reports()],
                 split=[{**pieces("A", "B"), "write": {"src/base.py": "BROKEN = 1\n"}}])  # fmt: skip
    ended = project.loop()
    assert ended.runs == ["US-001", "US-001", "US-001", "US-001-1", "US-001-2", "US-001", "US-002", "US-003", "qa"]
    reasons = [decision.reason for decision in ended.decisions if decision.reason.startswith("US-001: ")]
    assert reasons[1].endswith("attempt 2 of 2 with opus: fixing the last attempt")
    return project


def test_attempts_climb_to_a_stronger_model_then_to_a_split_whose_story_lands_behind_its_pieces(split: Project) -> None:
    assert [(run["step"], run["mode"], run["model"]) for run in split.journal("run")[:4]] == [
        ("story", "fresh", "sonnet"),
        ("story", "heal", "opus"),
        ("split", "fresh", "opus"),
        ("story", "fresh", "sonnet"),
    ]

    assert split.landed() == [f"login/{name}" for name in ("US-001-1", "US-001-2", "US-001", "US-002", "US-003")]
    assert set(split.statuses().values()) == {"completed"}
    assert split.trailer("Ralphy-Attempt", split.commit_of("US-001")) == "1"
    assert "chore(login): US-001 is split: US-001-1, US-001-2 first, then what is left of it" in split.subjects()
    assert split.code("src/base.py") == "BASE = 1\n", "code that the splitting agent wrote"
    assert_clean(split)

    (prompt,) = split.prompts("split-US-001")
    assert "US-001: Story US-001" in prompt
    assert "src/us_001.py::works" in prompt
    assert "US-003 [pending]" in prompt
    assert len(prompt.encode()) < 12_000


def test_a_draft_that_is_not_valid_goes_back_once_then_a_person_is_asked(tmp_path: Path) -> None:
    project = hard(tmp_path, *OTHERS)
    project.play(stories={"US-001": [breaks()], "*": [works()]},
                 split=[pieces("A", dependsOn=["US-001"]), pieces(*"ABCDE")])  # fmt: skip

    ended = project.loop()

    assert ended.runs == ["US-001", "US-001", "US-001", "US-003"]
    assert [run["step"] for run in project.journal("run")][1:3] == ["split", "split"]
    assert "dependsOn" in project.prompts("split-US-001")[1]
    assert ended.code == ExitCode.STORIES_OPEN
    assert "5 pieces were handed in" in project.read("QUESTIONS.md")
    assert project.story("US-001")["status"] == "failed"


def test_when_a_piece_fails_as_well_a_person_is_asked_about_the_piece(tmp_path: Path) -> None:
    project = hard(tmp_path, *OTHERS)
    project.play(stories={"US-001": [breaks()], "US-001-2": [breaks()], "*": [works()]}, split=[pieces("A", "B")])

    ended = project.loop()

    assert project.landed() == ["login/US-001-1", "login/US-003"]
    assert project.statuses() == {"US-001": "pending", "US-002": "pending", "US-003": "completed",
                                  "US-001-1": "completed", "US-001-2": "failed"}  # fmt: skip
    assert (ended.code, [run["step"] for run in project.journal("run")].count("split")) == (ExitCode.STORIES_OPEN, 1)
    assert "## US-001-2: Piece B" in project.read("QUESTIONS.md")
    assert_clean(project)


def test_a_revert_of_the_split_takes_the_pieces_back(tmp_path: Path) -> None:
    project = hard(tmp_path, max_iterations=2)
    project.loop()
    assert "US-001-1" in project.statuses()

    project.switch()
    project.git("revert", "--no-edit", "HEAD")

    assert list(project.statuses()) == ["US-001"]
    assert project.loop(waits=False).runs[0] == "US-001"


def test_a_kill_while_the_split_is_landed_loses_and_doubles_nothing(tmp_path: Path) -> None:
    project = hard(tmp_path)
    # The second landing is the split's: a failed attempt comes before it.
    assert drive(project, "die", "refs_moved", "2") == KILLED

    project.loop(agents=3)

    assert list(project.statuses()) == ["US-001", "US-001-1", "US-001-2"]
    assert set(project.statuses().values()) == {"completed"}
    assert len(project.landed()) == len(set(project.landed())) == 3
    assert_clean(project)


@played_once
def asked(tmp_path: Path) -> Project:
    """US-001 has used its two attempts, and is not split; US-002 waits for it, US-003 is done."""
    project = hard(tmp_path, *OTHERS, attempts=2, max_splits=0)
    assert project.loop().code == ExitCode.STORIES_OPEN
    return project


def test_a_story_that_is_given_up_is_asked_about_and_the_others_are_done(asked: Project) -> None:
    text = asked.read("QUESTIONS.md")

    assert asked.statuses() == {"US-001": "failed", "US-002": "pending", "US-003": "completed"}
    assert "## US-001: Story US-001" in text
    assert "has used its 2 attempts" in text
    assert "src/us_001.py::works" in text
    assert "ralphy story done login/US-001" in text
    assert text.rstrip().endswith("Answer:")
    assert_clean(asked)


def test_an_answer_reopens_the_story_and_is_told_to_its_next_attempt(asked: Project) -> None:
    asked.write("QUESTIONS.md", asked.read("QUESTIONS.md").rstrip() + " again, and leave the word BROKEN out\n")

    ended = asked.loop(agents=2)

    assert ended.runs == ["US-001", "US-002"]
    assert "leave the word BROKEN out" in asked.prompts("story-US-001")[-1]
    assert asked.trailer("Ralphy-Attempt", asked.commit_of("US-001")) == "1"
    assert "US-001" not in asked.read("QUESTIONS.md")
    assert_clean(asked)


def test_a_reset_takes_the_question_back(asked: Project) -> None:
    assert asked.call("reset", "login")[0] == ExitCode.DONE

    assert asked.statuses()["US-001"] == "pending"
    assert "US-001" not in asked.read("QUESTIONS.md")
    assert_clean(asked)


def test_a_story_that_has_used_its_dollars_is_asked_about_and_not_split(tmp_path: Path) -> None:
    project = hard(tmp_path, attempts=5, max_cost_per_story_usd=1.0)
    project.play(stories={"US-001": [breaks(cost_usd=1.1)]})

    ended = project.loop()

    assert "split" not in {run["step"] for run in project.journal("run")}
    assert ended.code == ExitCode.STORIES_OPEN
    assert "has used its $1.0" in project.read("QUESTIONS.md")


@pytest.mark.fault("N5")
def test_a_prompt_that_is_too_long_is_followed_by_a_smaller_one_then_by_a_split(tmp_path: Path) -> None:
    long = "\n".join(f"- detail {n} of what is wanted" for n in range(3000))
    project = build(tmp_path, story("US-001", description=long), limits={"max_splits": 1})
    project.play(stories={"US-001": [{"error": "prompt_too_long"}, {"error": "prompt_too_long"}, works()],
                          "*": [works()]}, split=[pieces("A")])  # fmt: skip

    ended = project.loop(agents=5)

    assert project.outcomes()[:4] == [
        ("US-001", "too_large"), ("US-001", "too_large"), ("US-001", "succeeded"), ("US-001-1", "succeeded"),
    ]  # fmt: skip
    first, second = project.prompts("story-US-001")[:2]
    assert len(second.encode()) < 0.6 * len(first.encode())
    assert "context overflowed" in second
    reasons = [decision.reason for decision in ended.decisions]
    assert any("attempt 2 of 5 with sonnet: starting over, a smaller prompt" in reason for reason in reasons)
    assert any("too large for one run, with a smaller prompt as well" in reason for reason in reasons)
    assert project.landed() == ["login/US-001-1", "login/US-001"]


@pytest.mark.fault("N5")
def test_a_story_that_is_too_large_and_may_not_be_split_is_failed_and_asked_about(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"))
    project.play(stories={"US-001": [{"error": "prompt_too_long"}], "US-002": [works()]})

    ended = project.loop()

    assert ended.runs == ["US-001", "US-001", "US-002"]
    assert (project.story("US-001")["status"], ended.code) == ("failed", ExitCode.STORIES_OPEN)
    assert "too large for one run" in project.read("QUESTIONS.md")
    assert json.loads(project.git("show", f"{project.branch}:docs/features/login/prd.json")) == project.prd()
