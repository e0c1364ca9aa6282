"""Attempts: what a red check, a limit or a crash means for the story, its tree and the next attempt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ralphy.agents.protocol import AgentResult, Outcome
from ralphy.engine.workspace.waiting import next_try
from ralphy.errors import ExitCode
from tests.engine.building import Project, assert_clean, breaks, build, open_feature, story, works
from tests.engine.nights import played_once

NOON = 1_900_000_000.0


def leaping(step_s: float, start: float = NOON) -> Callable[[], float]:
    """A clock that goes on by so many seconds whenever somebody looks at it."""
    now = [start]

    def clock() -> float:
        now[0] += step_s
        return now[0]

    return clock


@played_once
def healed(tmp_path: Path) -> Project:
    """One story whose first attempt leaves the check red and whose second one heals it."""
    project = build(tmp_path, story("US-001"))
    left = {"notes.md": "half\n", "deep/er/file.py": "D = 1\n"}
    draft = breaks(append=left, delete=["src/base.py"], cost_usd=0.25, learnings="the word BROKEN is not liked")
    heal = works(cost_usd=0.5, read=["notes.md"])
    project.play(stories={"US-001": [draft, heal]})
    project.loop(agents=2)
    return project


@pytest.mark.fault("A2")
def test_a_red_check_is_digested_and_healed_from_the_tree_of_the_attempt(healed: Project) -> None:
    first, second = healed.prompts("story-US-001")

    assert "src/us_001.py::works" not in first
    assert "src/us_001.py::works" in second

    assert [run["mode"] for run in healed.journal("run")[:2]] == ["fresh", "heal"]
    assert healed.code("notes.md") == "half\n"
    assert "notes.md" in healed.files_of(healed.commit_of("US-001"))
    changed = healed.git("show", "--format=", "--name-status", healed.commit_of("US-001"), "--", "src", "deep")
    assert changed.split("\n") == ["A\tdeep/er/file.py", "D\tsrc/base.py", "A\tsrc/us_001.py"]
    assert healed.trailer("Ralphy-Cost-USD", healed.commit_of("US-001")) == "0.7500"  # of all attempts
    assert healed.trailer("Ralphy-Attempt", healed.commit_of("US-001")) == "2"

    for name in ("progress.txt", "stories/US-001.md"):
        text = healed.read(name)
        assert text.count("## [") == 2, name
        assert "(attempt 1/5) - failed" in text
        assert "(attempt 2/5) - completed" in text
        assert "the word BROKEN is not liked" in text

    (bookkeeping,) = healed.git("log", "--format=%H", "--grep=attempt 1 rejected", healed.branch).split()

    assert healed.trailer("Ralphy-Event", bookkeeping) == "attempt-failed login/US-001"
    assert all(name.startswith("docs/features/login/") for name in healed.files_of(bookkeeping))

    kept = "refs/ralphy/login/US-001/attempt-1"

    assert healed.git("show", f"{kept}:src/us_001.py") == "BROKEN = 1"
    healed.git("restore", f"--source={kept}", "--", "src/us_001.py")
    assert (healed.repo / "src" / "us_001.py").read_text() == "BROKEN = 1\n"


def test_after_a_heal_that_failed_too_an_attempt_begins_afresh(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    acts = [breaks(append={"notes.md": "one\n"}), breaks(append={"notes.md": "two\n"}), works()]
    project.play(stories={"US-001": acts})

    project.loop(agents=3)

    assert [run["mode"] for run in project.journal("run")[:3]] == ["fresh", "heal", "fresh"]
    assert "notes.md" not in project.code_files()
    assert project.git("show", "refs/ralphy/login/US-001/attempt-2:notes.md") == "one\ntwo"


@played_once
def failed(tmp_path: Path) -> Project:
    """Three stories: the first one never works, the second depends on it, the third goes its own way."""
    stories = [story("US-001"), story("US-002", dependsOn=["US-001"]), story("US-003")]
    project = build(tmp_path, *stories, limits={"max_attempts": 2})
    project.play(stories={"US-001": [breaks()], "*": [works()]})
    assert project.loop().code == ExitCode.STORIES_OPEN
    return project


def test_a_story_that_used_its_attempts_has_failed_says_why_and_blocks_its_dependents_alone(failed: Project) -> None:
    found = failed.story("US-001")

    assert (found["status"], found["passes"], found["execution"]["attempts"]) == ("failed", False, 2)
    assert "src/us_001.py::works" in found["execution"]["last_error"]
    assert "failed US-001" in failed.git("log", "--format=%(trailers:key=Ralphy-Event,valueonly)", failed.branch)

    assert failed.landed() == ["login/US-003"]
    assert failed.statuses()["US-002"] == "pending"
    assert "- [-] US-002" in failed.read("TASKS.md")

    assert failed.code_files() == [".gitignore", ".ralphy/config.yaml", "check.py", "src/base.py", "src/us_003.py"]
    kept = [f"refs/ralphy/login/US-001/attempt-{n}" for n in (1, 2)]
    assert failed.refs("refs/ralphy/login/US-001") == kept
    assert_clean(failed)

    ended = failed.loop()

    assert (ended.code, ended.runs) == (ExitCode.STORIES_OPEN, [])
    assert "failed: US-001" in ended.rest.reason
    assert "an answer in QUESTIONS.md reopens what failed" in ended.rest.reason


@pytest.mark.fault("N1", "N2")
def test_neither_a_usage_limit_nor_a_passing_trouble_uses_an_attempt_and_each_is_waited_for(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    limited = works(limit={"resets_at": int(NOON) + 3600})
    project.play(stories={"US-001": [limited, {**breaks(), "error": "overloaded"}, {"error": "server"}, works()]})
    assert project.loop(clock=lambda: NOON, waits=False).code == ExitCode.LIMITED
    (kept,) = project.refs("refs/ralphy/login/US-001")
    assert project.git("show", f"{kept}:src/us_001.py") == "WORKS = 1"
    assert project.loop(clock=lambda: NOON, waits=False).runs == []

    ended = project.loop(clock=leaping(step_s=2000.0), agents=3)

    outcomes = ["limited", "transient", "transient", "succeeded"]
    assert [outcome for _, outcome in project.outcomes()][:4] == outcomes
    assert project.trailer("Ralphy-Attempt", project.commit_of("US-001")) == "1"
    assert ended.runs == ["US-001"] * 3
    assert project.journal("run")[1]["at"] >= NOON + 3600
    assert project.read("progress.txt").count("## [") == 1
    assert_clean(project)


def test_the_pause_after_trouble_is_as_long_as_the_settings_say(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"retry_delay_s": 3000})
    result = AgentResult(Outcome.TRANSIENT)
    with open_feature(project.repo, project.path, project.env) as w:
        wait = next_try(w, "", Outcome.TRANSIENT, result)["retry_at"] - w.clock()
    assert 2600 < wait < 3400


@pytest.mark.fault("N3")
def test_an_agent_that_cannot_work_at_all_ends_the_loop_and_fails_no_story(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"))
    project.play(stories={"*": [{"error": "not_logged_in"}]})

    ended = project.loop()

    assert (ended.code, ended.runs) == (ExitCode.ENVIRONMENT, ["US-001"])
    assert set(project.statuses().values()) == {"pending"}
    assert_clean(project)


def test_attempts_are_counted_on_though_the_journal_is_wiped(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 2, "max_iterations": 1})
    project.play(stories={"US-001": [breaks()]})
    for number in (1, 2, 3):
        ended = project.loop()
        assert [run["attempt"] for run in project.journal("run")] == [number][: 3 - number]  # it is counted on
        (project.repo / ".git" / "ralphy" / "journal.jsonl").unlink(missing_ok=True)

    assert ended.code == ExitCode.STORIES_OPEN
    assert project.story("US-001")["status"] == "failed"
    assert len(project.refs("refs/ralphy/login/US-001")) == 2
