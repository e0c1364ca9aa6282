"""The circuit breaker over real runs: what opens it, what does not, and how people and time close it again."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from ralphy.errors import ExitCode
from tests.cli.conftest import Call
from tests.engine.building import Act, Project, assert_clean, breaks, build, drive, story, works
from tests.engine.driver import KILLED
from tests.engine.nights import played_once

LAZY: dict[str, Any] = {"say": "All done."}
ONE_WARNS = {"no_progress": 1}  # the second run that changes nothing opens the breaker


@played_once
def stuck(tmp_path: Path) -> Project:
    """One story whose agent never changes anything, after the runs that open the breaker."""
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 9}, breaker=ONE_WARNS)
    project.play(stories={"US-001": [LAZY]})
    ended = project.loop()
    assert (ended.code, ended.runs) == (ExitCode.BREAKER_OPEN, ["US-001"] * 2), ended.text
    return project


def test_an_agent_that_changes_nothing_ends_the_loop_before_its_attempts_are_used(
    stuck: Project, capfd: pytest.CaptureFixture[str]
) -> None:
    found = stuck.story("US-001")
    assert (found["status"], found["execution"]["attempts"]) == ("pending", 2)
    assert_clean(stuck)
    ended = stuck.loop()
    assert (ended.code, ended.runs) == (ExitCode.BREAKER_OPEN, [])
    assert "no_progress" in ended.rest.reason and "nothing changed" in ended.rest.reason
    value = Call(stuck.repo, capfd).json("status")[1]
    assert value["circuit_breaker"] == {"state": "OPEN", "attempts": 2, "last_trigger": "no_progress"}
    assert (value["status"], value["next"]) == ("stopped", ended.rest.reason)
    assert value["waiting_until"]


def test_a_person_resets_it_and_the_story_lands(stuck: Project, capfd: pytest.CaptureFixture[str]) -> None:
    assert stuck.call("reset-circuit")[0] == 0
    stuck.play(stories={"US-001": [works()]})

    ended = stuck.loop()

    assert (ended.code, stuck.landed()) == (ExitCode.WAITING, ["login/US-001"])
    assert stuck.trailer("Ralphy-Attempt", stuck.commit_of("US-001")) == "3"
    assert Call(stuck.repo, capfd).json("status")[1]["circuit_breaker"]["state"] == "CLOSED"


def test_a_loop_can_reset_it_first_and_choose_its_safety_level(stuck: Project) -> None:
    stuck.play(stories={"US-001": [works()]})

    code, said = stuck.call("loop", "--continue", "--reset-circuit", "--safety-level", "minimal")

    assert (code, stuck.landed()) == (ExitCode.WAITING, ["login/US-001"]), said
    assert stuck.call("loop", "--safety-level", "none")[0] == ExitCode.INVALID


def test_after_the_cool_down_one_run_is_let_through(stuck: Project) -> None:
    now = [time.time() + 1801]
    first = stuck.loop(clock=lambda: now[0])
    now[0] += 1799
    second = stuck.loop(clock=lambda: now[0])

    assert [len(ended.runs) for ended in (first, second)] == [1, 0]
    assert [ended.code for ended in (first, second)] == [ExitCode.BREAKER_OPEN] * 2


def test_one_bad_story_does_not_end_the_night(tmp_path: Path) -> None:
    stories = [story("US-001"), story("US-002", priority=2), story("US-003", priority=3)]
    project = build(tmp_path, *stories, breaker=ONE_WARNS)
    project.play(stories={"US-001": [LAZY], "*": [works()]})

    ended = project.loop()

    assert ended.code == ExitCode.STORIES_OPEN
    assert ended.runs == ["US-001"] * 2 + ["US-002", "US-003"]
    assert project.statuses() == {"US-001": "failed", "US-002": "completed", "US-003": "completed"}
    assert any("no_progress" in decision.reason for decision in ended.decisions)
    assert_clean(project)


def test_when_the_next_story_shows_the_same_the_loop_ends(tmp_path: Path) -> None:
    stories = [story("US-001"), story("US-002", priority=2), story("US-003", priority=3)]
    project = build(tmp_path, *stories, breaker=ONE_WARNS)
    project.play(stories={"*": [LAZY]})

    ended = project.loop()

    assert (ended.code, ended.runs) == (ExitCode.BREAKER_OPEN, ["US-001"] * 2 + ["US-002"])
    assert project.statuses() == {"US-001": "failed", "US-002": "pending", "US-003": "pending"}


TESTS_ALONE = [{"write": {f"tests/test_{n}.py": f"N = {n}\n"}, "exit_signal": False} for n in range(5)]


@pytest.mark.fault("A7")
@pytest.mark.parametrize(
    ("acts", "rule", "why"),
    [([breaks()], "same_error", "same_error: src/us_001.py::works"), (TESTS_ALONE, "test_only", "test_saturation")],
    ids=["the same error although the code changes", "tests alone"],
)
def test_what_else_opens_it(tmp_path: Path, acts: list[Act], rule: str, why: str) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 9}, breaker={rule: 2})
    project.play(stories={"US-001": acts})

    ended = project.loop()

    assert (ended.code, len(ended.runs)) == (ExitCode.BREAKER_OPEN, 2)
    assert all(words in ended.rest.reason for words in why.split(": "))


def test_new_files_that_git_does_not_know_are_progress(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 9}, breaker={**ONE_WARNS, "same_error": 9})
    project.play(
        stories={"US-001": [*[breaks(write={f"src/new_{n}.py": f"BROKEN = {n}\n"}) for n in range(2)], works()]}
    )

    project.loop(agents=3)

    assert project.landed() == ["login/US-001"]


def test_runs_that_ralphy_did_not_live_to_judge_do_not_open_it(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 9}, breaker={"no_progress": 2})
    project.play(stories={"US-001": [LAZY]})
    assert drive(project, "die", "agent_ended", "1") == KILLED

    ended = project.loop(runs=49)

    assert [outcome for _, outcome in project.outcomes()] == ["died", "rejected"]
    assert ended.code == ExitCode.BUDGET
    breaker = Call(project.repo, capfd).json("status")[1]["circuit_breaker"]
    assert breaker == {"state": "CLOSED", "attempts": 1, "last_trigger": None}
