"""Budgets over real runs: what a run may cost, what is left when one is reached, and what nobody knows the cost of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from ralphy.errors import ExitCode
from tests.cli.conftest import Bell, Call
from tests.engine.building import Project, breaks, build, drive, story, works
from tests.engine.driver import KILLED


def three(tmp_path: Path, **settings: Any) -> Project:
    return build(tmp_path, *[story(f"US-00{n}", priority=n) for n in (1, 2, 3)], **settings)


def test_a_reached_budget_is_a_clean_end_that_says_what_is_left(tmp_path: Path) -> None:
    project = three(tmp_path, limits={"max_cost_usd": 1.0})
    project.play(stories={"*": [works(cost_usd=0.5)]})

    ended = project.loop()

    assert (ended.code, ended.runs) == (ExitCode.BUDGET, ["US-001", "US-002"])
    assert "the budget of $1.0 is used up ($1.00): 1 of 3 stories is left (US-003), about " in ended.text
    assert " and $0.50 at the current rate; run it again" in ended.text
    assert project.git("status", "--porcelain") == ""


def test_what_a_story_took_over_all_its_attempts_is_the_pace(tmp_path: Path) -> None:
    project = three(tmp_path, limits={"max_iterations": 2})
    project.play(stories={"US-001": [breaks(cost_usd=0.25), works(cost_usd=0.5)]})

    ended = project.loop()

    (landed,) = [end for end in project.journal("end") if end.get("landed")]
    assert landed["story_cost"] == 0.75
    assert landed["story_seconds"] > sum(end["seconds"] for end in project.journal("end")) * 0.99
    assert re.search(r"2 of 3 stories are left \(US-002, US-003\), about \d+ s and \$1.50 at the", ended.text)


def test_a_single_run_may_cost_no_more_than_its_own_budget(tmp_path: Path) -> None:
    project = three(tmp_path, limits={"max_cost_per_run_usd": 0.5, "max_cost_usd": 3, "max_iterations": 1})
    project.play(stories={"US-001": [works(cost_usd=0.75)]})

    project.loop()

    assert project.outcomes() == [("US-001", "crashed")]
    assert "maximum budget ($0.5" in project.story("US-001")["execution"]["last_error"]


def test_the_forecast_is_said_by_status_why_a_dry_run_and_the_next_loop(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    project = three(tmp_path, limits={"max_iterations": 1})
    project.play(stories={"*": [works(cost_usd=0.5)]})
    call = Call(project.repo, capfd)
    assert call.json("status")[1]["forecast"] is None and call.json("why")[1]["forecast"] is None
    assert "stories are left" not in project.call("loop")[1].split("US-001: starting")[0]

    value = call.json("status")[1]

    assert set(value["forecast"]) == {"stories_left", "seconds", "cost_usd", "ends_at", "rehearsed"}
    assert (value["forecast"]["stories_left"], value["forecast"]["cost_usd"]) == (2, 1.0)
    assert value["forecast"]["ends_at"].endswith("Z")
    assert re.search(r"ahead:   2 stories left, about \d+ s and \$1.00 at the current rate", call("status")[1])
    assert call.json("why")[1]["forecast"]["cost_usd"] == 1.0
    assert re.search(r"\n  2 of 3 stories are left .* and \$1.00 at the current rate", call("loop", "--dry-run")[1])
    begun = project.call("loop")[1].split("US-002: starting")[0]
    assert re.search(r"2 of 3 stories are left \(US-002, US-003\), about \d+ s and \$1.00 at the current rate", begun)


def test_a_budget_that_runs_out_in_a_run_costs_no_attempt_and_the_next_goes_on_from_its_work(tmp_path: Path) -> None:
    project = three(tmp_path, limits={"max_cost_usd": 0.4, "max_attempts": 1})
    half = works(write={"src/us_001.py": "BROKEN = 1\n", "src/more.py": "MORE = 1\n"}, cost_usd=0.75)
    project.play(stories={"US-001": [half, works(cost_usd=0.1)], "*": [works(cost_usd=0.1)]})

    ended = project.loop()

    assert (ended.code, ended.runs, project.outcomes()) == (ExitCode.BUDGET, ["US-001"], [("US-001", "stopped")])
    assert "the budget of $0.4 ran out during the run: it costs no attempt" in ended.text
    assert project.statuses()["US-001"] == "pending"
    assert project.story("US-001").get("execution", {}).get("attempts", 0) == 0
    assert not (project.repo / "src" / "more.py").exists()

    assert project.loop().code == ExitCode.BUDGET
    assert project.landed()[0] == "login/US-001"
    assert "src/more.py" in project.files_of(project.commit_of("US-001"))
    assert project.trailer("Ralphy-Attempt", project.commit_of("US-001")) == "1"


def test_a_story_is_not_begun_with_less_money_than_it_will_take(tmp_path: Path) -> None:
    project = three(tmp_path, limits={"max_cost_usd": 0.75})
    project.play(stories={"*": [works(cost_usd=0.5)]})

    ended = project.loop()

    assert (ended.code, ended.runs) == (ExitCode.BUDGET, ["US-001"])
    assert "$0.25 of the budget of $0.75 are left, and US-002 will take about $0.50" in ended.rest.reason
    assert "run it again with a higher --max-cost" in ended.rest.reason
    assert project.call("loop", "--max-cost", "0.3")[0] == ExitCode.BUDGET
    assert len(project.journal("run")) == 1
    assert project.call("loop", "--max-cost", "0.6")[0] == ExitCode.BUDGET
    assert project.landed() == ["login/US-001", "login/US-002"]


def test_a_run_whose_cost_nobody_knows_is_counted_as_such(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    project = three(tmp_path)
    bell = Bell(tmp_path / "bell")
    project.play(stories={"*": [{"say": "I begin.", "run": bell.ring, "hang": True, "ignore_sigint": True}]})
    with project.start("loop") as process:
        bell.wait()
        process.kill()
        process.wait()
    project.play(stories={"*": [works()]})
    project.loop(runs=49)

    first = project.journal("end")[0]
    assert (first["outcome"], first["cost"], first["cost_unknown"]) == ("died", 0.0, True)
    call = Call(project.repo, capfd)
    assert call.json("status")[1]["unknown_cost_runs"] == 1
    assert "(runs of unknown cost: 1)" in call("status")[1]


def test_a_cost_that_the_dead_runs_stream_tells_is_booked(tmp_path: Path) -> None:
    project = three(tmp_path, limits={"max_iterations": 1})
    project.play(stories={"*": [works(cost_usd=0.25)]})
    assert drive(project, "die", "agent_ended", "1") == KILLED

    project.loop(runs=0)

    first = project.journal("end")[0]
    assert (first["outcome"], first["cost"]) == ("died", 0.25)
    assert "cost_unknown" not in first
    assert first["tokens"]["output"] > 0
