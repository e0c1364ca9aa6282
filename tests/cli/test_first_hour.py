"""The first hour of somebody new: what is typed in it, and what is said then."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from pathlib import Path

import pytest

from ralphy.errors import ExitCode
from ralphy.text.rehearsed import MARK
from tests.cli.conftest import Bell, Call, CallIn, Make
from tests.engine.building import PATIENCE_S, Project, build, held, story, works
from tests.engine.nights import played_once

STAND_IN = f"{sys.executable} -m ralphy.rehearsal"
HUMAN = {"spec": "human", "qa": "human"}
READING = ("status", "why", "logs", "report", "story", "story list", "story show US-001", "attempts", "plan", "stats")


@played_once
def three(place: Path) -> Project:
    project = build(place, gates=HUMAN)
    for name in ("csv", "tax"):
        shutil.copytree(project.folder, project.folder.with_name(name))
    for name in ("csv", "login", "tax"):
        assert Project(project.repo, f"docs/features/{name}", project.scenario, project.env).loop().code == 10
    return project


@pytest.fixture
def call_with_three(three: Project, call_in: CallIn) -> Call:
    """The command line with three features that wait for their specification to be approved."""
    return call_in(three)


def test_in_a_new_clone_doctor_and_loop_say_to_install_first(made: Make) -> None:
    checks = [{"name": "test", "run": f"{sys.executable} -c 'import not_installed'"}]
    _, call = made(story("US-001"), checks=checks)
    code, value = call.json("doctor")
    found = next(row for row in value["checks"] if row["name"] == "run test")
    assert (code, found["state"]) == (ExitCode.ENVIRONMENT, "fail")
    assert "No module named 'not_installed'" in found["said"]
    assert found["fix"].startswith("in a new clone, install the dependencies first")

    code, _, err = call("loop")
    assert code == ExitCode.CONFLICT
    assert "In a new clone, install the dependencies first." in err
    assert "ModuleNotFoundError: No module named 'not_installed'" in err


def test_a_rehearsal_says_so_wherever_a_model_or_money_is_shown(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    project, call = made(story("US-001"), story("US-002", priority=2))
    monkeypatch.setenv("RALPHY_AGENT_COMMAND", STAND_IN)
    code, out, err = call("loop", "--max-iterations", "1")
    assert code == ExitCode.BUDGET
    shown = {words: call(words)[1] for words in ("status", "report", "stats", "logs", "plan")} | {"loop": out}
    for words, said in shown.items():
        assert MARK in said, (words, said)
    assert re.search(rf"US-001: starting attempt 1 of \d+ with \w+ {MARK}", err)
    for line in shown["plan"].splitlines():
        assert MARK in line or not re.search(r"sonnet|\$", line), line
    assert call.json("status")[1]["rehearsed"] is True
    assert MARK in project.read("REPORT.md") and MARK in project.read("REPORT.html")

    assert call.json("why")[1]["forecast"]["rehearsed"] is True

    monkeypatch.delenv("RALPHY_AGENT_COMMAND")  # the next terminal
    assert f"at the current rate ({MARK})" in call("status")[1]
    err = call("loop", "--max-iterations", "1")[2]
    assert "warning: the earlier runs of login were rehearsals" in err and "costs money" in err


def test_while_a_run_waits_at_another_features_gate_no_command_is_printed_that_it_refuses(
    three: Project, call_in: CallIn
) -> None:
    call = call_in(three)
    with held(three, "feature csv"):
        said = call("approve", "login")[1]
        assert f"; then: ralphy start login (now Ralphy is running here: pid {os.getpid()}, feature csv)" in said
        assert call("start", "login")[0] == ExitCode.CONFLICT
        assert call("approve", "csv")[1] == f"csv: APPROVED written; Ralphy goes on with it (pid {os.getpid()})\n"
        said = call("status")[1]
        assert "ralphy start login" not in said
        assert f"waits for Ralphy to end (pid {os.getpid()}, feature csv), or stop it: ralphy abort" in said
        assert "waits for Ralphy to end" in call("status", "login")[1]
        assert "waits for Ralphy to end" not in call("status", "csv")[1]
    assert "ralphy start login" in call("status")[1]
    assert call("approve", "tax")[1] == "tax: APPROVED written; then: ralphy start tax\n"


def test_what_only_reads_shows_every_open_feature(call_with_three: Call) -> None:
    for words in READING:
        code, out, err = call_with_three(*words.split())
        assert code == ExitCode.DONE, (words, err)
        if words != "stats":
            assert [name for name in ("csv", "login", "tax") if name not in out] == [], words
        assert "name one of them" not in err


def test_with_several_features_json_is_a_line_for_each_and_a_story_is_named_in_either_order(
    call_with_three: Call,
) -> None:
    call = call_with_three
    assert [row["feature"] for row in call.lines("why")] == ["csv", "login", "tax"]
    assert [row["feature"] for row in call.json("status")[1]["features"]] == ["csv", "login", "tax"]
    told = {call("story", "show", *words)[:2] for words in (["US-001", "csv"], ["csv", "US-001"], ["csv/US-001"])}
    assert len(told) == 1 and next(iter(told))[0] == ExitCode.DONE
    assert call("story", "show", "US-009")[0] == call("attempts", "US-009")[0] == ExitCode.NOT_FOUND
    assert call("attempts", "US-001")[1].count("no attempts kept") == 3
    assert call("logs", "csv", "US-001")[0] == call("logs", "US-001", "csv")[0] == ExitCode.NOT_FOUND


def test_a_second_rejection_keeps_the_words_of_the_first(made: Make) -> None:
    project, call = made(gates=HUMAN)
    assert call("loop")[0] == ExitCode.WAITING
    assert call("reject", "-m", "Name the currency.")[0] == call("reject", "-m", "And the date.")[0] == ExitCode.DONE
    assert project.read("REJECTED") == "Name the currency.\n\nAnd the date."
    for words in (("approve",), ("reject", "--end")):
        code, _, err = call(*words)
        assert code == ExitCode.CONFLICT and "a rejection that is not taken up yet" in err
    assert project.read("REJECTED") == "Name the currency.\n\nAnd the date."
    assert not (project.folder / "APPROVED").exists()
    assert call("loop")[0] == ExitCode.WAITING
    assert "Name the currency." in project.prompts("spec")[-1] and "And the date." in project.prompts("spec")[-1]


def test_what_was_killed_is_shown_as_stopped_with_the_command_that_goes_on(made: Make, tmp_path: Path) -> None:
    project, call = made(story("US-001"), story("US-002", priority=2))
    bell, held = Bell(tmp_path / "bell"), tmp_path / "held"
    os.mkfifo(held)
    act = {"run": [*bell.ring, ["sh", "-c", f"cat '{held}'"]]}
    project.play(stories={"US-001": [works()], "US-002": [act, works()]})
    with project.start("loop") as process:
        bell.wait()
        assert "stopped" not in call("status")[1]
        assert "no gate of login is open now: US-002 in progress, attempt 1" in call("approve")[2]
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=PATIENCE_S)
    stopped = re.compile(r"stopped \d\d:\d\d; resume: ralphy loop login")
    for words in (("status",), ("status", "--all"), ("why",)):
        assert stopped.search(call(*words)[1]), words
    assert call.json("status")[1]["stopped_at"]
    assert call("loop")[0] == ExitCode.WAITING
    assert call("approve")[0] == ExitCode.DONE
    assert "stopped" not in call("status")[1]


def test_a_word_that_is_no_feature_may_be_meant_as_a_description(made: Make) -> None:
    _, call = made(story("US-001"))
    code, _, err = call("start", "Fix")
    assert code == ExitCode.NOT_FOUND
    assert 'a description has a space: ralphy start "Fix what should be built"' in err
    name = call.json("start", "Fix what people said of the export of accounts in March", "--dry-run")[1]["feature"]
    assert name == "fix-what-people-said-of-the-export-of"


def test_a_question_that_waits_ends_tasks_next_as_it_ends_the_loop(made: Make) -> None:
    project, call = made(story("US-001"))
    project.play(stories={"US-001": [{"question": "Which shop?"}]})
    assert call("loop")[0] == call("tasks", "next")[0] == ExitCode.WAITING
    assert call("story", "fail", "US-001")[0] == ExitCode.DONE
    assert call("loop")[0] == call("tasks", "next")[0] == ExitCode.STORIES_OPEN
