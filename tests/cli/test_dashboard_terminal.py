"""The dashboard in a terminal, driven by keys as a person presses them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import DataTable, Log, Static, TabbedContent

from ralphy.cli.dashboard.feed import Feed
from ralphy.cli.dashboard.terminal import Ask, Read, Terminal
from ralphy.cli.options import Invocation
from ralphy.cli.output import Output
from ralphy.documents.questions import answers, asked
from tests.cli.a_board import NOW, FixedFeed, a_board
from tests.cli.conftest import Make
from tests.engine.building import PATIENCE_S, Project, reports, story, works


def called(project: Project) -> Invocation:
    return Invocation(str(project.repo), Output(quiet=True))


async def until(pilot: Pilot[None], is_so: Callable[[], object]) -> None:
    for _ in range(int(PATIENCE_S * 20)):
        if is_so():
            return
        await pilot.pause(0.05)
    raise AssertionError("it never came to that")


def played(app: Terminal, play: Callable[[Pilot[None]], Awaitable[None]], size: tuple[int, int] = (80, 24)) -> None:
    async def run() -> None:
        async with app.run_test(size=size) as pilot:
            await play(pilot)

    asyncio.run(run())


def shown(app: Terminal, name: str) -> str:
    return str(app.query_one(f"#{name}", Static).content)


def test_a_person_reads_sends_back_answers_and_approves_with_keys(made: Make) -> None:
    project, _ = made(story("US-001"), gates={"spec": "auto", "qa": "human"})
    project.play(stories={"*": [works()]}, qa=[reports()])
    assert project.loop().code == 10
    call = called(project)

    async def play(pilot: Pilot[None]) -> None:
        await until(pilot, lambda: app.board.get("gate"))
        assert "QA_REPORT.md is ready for review" in shown(app, "needs")
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, Read))
        await pilot.press("escape", "r")
        await until(pilot, lambda: isinstance(app.screen, Ask))
        await pilot.press(*"Why?", "ctrl+s")
        await until(pilot, lambda: (project.folder / "REJECTED").exists())
        assert project.read("REJECTED") == "Why?"
        (project.folder / "REJECTED").unlink()
        await pilot.press("a")
        await until(pilot, lambda: isinstance(app.screen, Ask))
        await pilot.press("n")
        assert not (project.folder / "APPROVED").exists()
        await pilot.press("l")
        await until(pilot, lambda: "US-001" in "".join(app.query_one("#log-lines", Log).lines))
        assert app.query_one(TabbedContent).active == "log"
        await pilot.press("a", "y")
        await until(pilot, lambda: (project.folder / "APPROVED").exists())
        (project.folder / "APPROVED").unlink()
        project.write("QUESTIONS.md", asked("", "US-001", "Story", "Which colour?"))
        await until(pilot, lambda: app.board["questions"])
        await pilot.press("n", *"Blue.", "ctrl+s")
        await until(pilot, lambda: answers(project.read("QUESTIONS.md")))
        assert answers(project.read("QUESTIONS.md"))[0].text == "Blue."

    with Feed(call) as feed:
        app = Terminal(call, feed)
        played(app, play)


@pytest.mark.parametrize("size", [(80, 24), (200, 50), (40, 12)])
def test_a_night_fits_terminals_of_all_sizes_and_its_text_is_only_text(size: tuple[int, int]) -> None:
    board = a_board()
    board["status"]["stories"][0]["title"] = "[bold]Red[/] \x1b[31m [link=file:///x]"
    board["agents"][0]["doing"] = "running: [red]x[/red]"
    app = Terminal(Invocation(".", Output(quiet=True)), FixedFeed(board), clock=lambda: NOW)

    async def play(pilot: Pilot[None]) -> None:
        await pilot.pause()
        table: DataTable[Any] = app.query_one("#stories-table", DataTable)
        assert table.row_count == 12
        assert str(table.get_cell_at(table.cursor_coordinate._replace(column=2))) == (
            "[bold]Red[/] \\x1b[31m [link=file:///x]"
        )
        assert "[red]x[/red]" in shown(app, "agents")
        assert app.query_one("#inbox").display is (size[0] >= 120)
        for key, name in (("2", "features"), ("3", "graph"), ("4", "cost"), ("5", "proof"), ("1", "stories")):
            await pilot.press(key)
            assert app.query_one(TabbedContent).active == name
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, Ask))
        await pilot.press("escape", "q")

    played(app, play, size)
