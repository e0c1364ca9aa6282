"""The dashboard's board: what it is made of, when it is made anew, and what a person says from there."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from pathlib import Path

import pytest

from ralphy.cli import output
from ralphy.cli.dashboard import gate
from ralphy.cli.dashboard.board import Board
from ralphy.cli.dashboard.feed import boards
from ralphy.cli.options import Invocation
from ralphy.cli.output import Output
from ralphy.documents.questions import answered, answers, asked
from ralphy.errors import Conflict
from ralphy.secrets.known_values import values_of
from tests.cli.conftest import Bell, Call, CallIn, Make
from tests.engine.building import PATIENCE_S, Project, build, reports, story, works
from tests.engine.nights import played_once


def called(project: Project) -> Invocation:
    return Invocation(project.repo, Output(quiet=True))


async def until(shown: AsyncIterator[Board], is_it: Callable[[Board], bool]) -> Board:
    async with asyncio.timeout(PATIENCE_S):
        async for board in shown:
            if is_it(board):
                return board
    raise AssertionError("the boards have ended")


@played_once
def reviewed(place: Path) -> Project:
    project = build(place, story("US-001"), story("US-002", dependsOn=["US-001"]))
    project.play(stories={"*": [works()]}, qa=[reports()])
    assert project.loop().code == 10
    return project


@pytest.fixture
def at_qa(reviewed: Project, call_in: CallIn) -> tuple[Project, Call]:
    """Two stories landed, and the review waits for a person."""
    return reviewed, call_in(reviewed)


def test_the_board_has_what_status_and_report_say(
    at_qa: tuple[Project, Call], monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    project, call = at_qa
    monkeypatch.setenv("MY_API_TOKEN", "Story-US-002-is-no-secret")
    monkeypatch.setattr(output, "_secrets", partial(values_of, os.environ))  # it looks at them once in a process
    board = call.json("dashboard")[1]
    assert [row["section"] for row in board["features"]] == ["needs_you"]
    assert board["status"]["tasks_completed"] == 2 and board["agents"] == []
    assert board["gate"]["documents"] == ["QA_REPORT.md", "TASKS.md"] and board["gate"]["has_changes"]
    tables = {table["id"]: table["rows"] for table in board["report"]}
    assert [row[0] for row in tables["cost"]] == ["US-001", "US-002", "qa", "in all"]
    assert len(tables["night"]) == 4, "three runs, and the wait at the gate"
    assert board["budget"]["runs"] == 3
    project.write("QUESTIONS.md", asked("", "US-002", "Story", "Is it Story-US-002-is-no-secret?"))
    board = call.json("dashboard", "login")[1]
    assert board["questions"][0]["key"] == "US-002" and "is-no-secret" not in str(board)


def test_the_boards_show_what_an_agent_does_and_what_a_person_changes(made: Make) -> None:
    project, _ = made(story("US-001"), story("US-002"), gates={"spec": "auto", "qa": "auto"})
    bell = Bell(project.repo.parent / "bell")
    project.play(stories={"US-001": [works()], "*": [{"run": bell.ring, "hang": True}]})

    async def watched() -> None:
        shown = boards(called(project), "login")
        assert (await until(shown, lambda board: True))["agents"] == []
        with project.start("loop") as process:
            bell.wait()
            board = await until(
                shown, lambda board: [row["calls"] for row in board["agents"] if row["subject"] == "US-002"] == [1]
            )
            process.terminate()
            process.communicate(timeout=PATIENCE_S)
        assert board["agents"][0]["doing"].startswith("running: ")
        assert [row["status"] for row in board["status"]["stories"]] == ["completed", "in_progress"]
        await until(shown, lambda board: not board["agents"] and not board["status"]["running"])
        (project.repo / "docs" / "features" / "logout").mkdir()
        (project.repo / "docs" / "features" / "logout" / "PRD.md").write_text("# Log out\n", encoding="utf-8")
        await until(shown, lambda board: {row["feature"] for row in board["features"]} == {"login", "logout"})

    asyncio.run(watched())


def test_an_answer_goes_below_its_question_and_nowhere_else(at_qa: tuple[Project, Call]) -> None:
    project, _ = at_qa
    text = asked(asked("", "US-001", "One", "Which colour?"), "spec step", "SPEC.md", "One shop or many?")
    project.write("QUESTIONS.md", text)
    gate.answer(called(project), "login", "US-001", "Blue.\n## US-002: no section\nAnswer: and no answer")
    found = answers(project.read("QUESTIONS.md"))
    assert [(one.story, one.text) for one in found] == [
        ("US-001", "Blue.\n ## US-002: no section\nAnswer: and no answer")
    ]
    assert answered(text, "US-009", "x") == text
    with pytest.raises(Conflict, match="US-001 has no open question"):
        gate.answer(called(project), "login", "US-001", "Red.")
    gate.answer(called(project), "login", "spec step", "Many.")
    assert [one.step for one in answers(project.read("QUESTIONS.md"))] == ["", "spec"]


def test_a_feature_that_does_not_exist_is_not_found_and_the_missing_extra_is_a_hint(
    made: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, call = made(story("US-001"))
    assert call("dashboard", "nosuch")[0] == 2
    for lacks in ("starlette", "uvicorn"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, lacks, None)
            code, _, err = call("dashboard")
        assert (lacks, code, "pip install '.[web]'" in err, "Traceback" in err) == (lacks, 5, True, False)
