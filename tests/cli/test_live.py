"""The live view: events folded into a night, the night as rows, the rows below the log of a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import struct
import sys
import termios
import time
from dataclasses import replace
from functools import reduce
from io import StringIO

import pytest

from ralphy.cli.drawing import Terminal
from ralphy.cli.output import Output
from ralphy.cli.run.live import Live, heartbeat
from ralphy.cli.run.night import Night, after
from ralphy.cli.run.panel import panel
from ralphy.pipeline import events as e
from tests.cli.a_night import NOW, begun, decided, does, ended, the_night
from tests.cli.conftest import Bell, Heard, Make
from tests.cli.pictures import pictures
from tests.cli.screen import Screen
from tests.engine.building import PATIENCE_S, ROOT, story, works
from tests.engine.forked import Started


def shown(night: Night, width: int, most: int = 12) -> list[str]:
    console = Terminal(StringIO(), is_coloured=False)
    console.width = width
    if view := panel(night, NOW, width, most):
        console.print(view)
    return [row.rstrip() for row in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def test_a_night_of_three_lanes_on_a_terminal_of_80_columns() -> None:
    assert shown(the_night(), 79) == [
        "─" * 79,
        "login ██████xx▒▒▒▒▒░░░░░░ 4 of 12, 1 failed   1 h 12 min   ETA 27 min to 1 h 3…",
        "  US-006 attempt 1   12:42   41 tool calls   running: uv run pytest -q tests/t…",
        "  US-007 attempt 2    3:11     1 tool call   ! no output for 60 s; the run end…",
        "  US-008 attempt 1    0:09    0 tool calls   thinking: Where is the session ke…",
        "  $3.12 of $20.00",
        "  tokens: 1.2k in, 45.7k out, 2.1M cache read, 301k cache write   37 runs left",
        "  81% of five_hour (reset in 2 h)   circuit breaker: HALF_OPEN",
    ]


def test_a_night_of_three_lanes_on_a_terminal_of_200_columns_and_on_few_lines() -> None:
    assert shown(the_night(), 199, 25) == [
        "─" * 199,
        "login █████████████xxxx▒▒▒▒▒▒▒▒▒▒░░░░░░░░░░░░░ 4 of 12, 1 failed   1 h 12 min   ETA 27 min to 1 h 3 min",
        "  lane 1   US-006 attempt 1   sonnet   12:42   41 tool calls   running: uv run pytest -q "
        "tests/test_export.py::test_the_header_has_all_columns_in_their_order",
        "  lane 2   US-007 attempt 2   opus      3:11     1 tool call   ! no output for 60 s; the run ends at 180 s",
        "  lane 3   US-008 attempt 1   sonnet    0:09    0 tool calls   thinking: Where is the session kept?",
        "  $3.12 of $20.00   tokens: 1.2k in, 45.7k out, 2.1M cache read, 301k cache write   37 runs left   "
        "81% of five_hour (reset in 2 h)   circuit breaker: HALF_OPEN",
    ]
    assert len(shown(the_night(), 79, 6)) == 6
    assert shown(the_night(), 79, 7)[2:4] == [  # what has no room is counted
        "  US-006 attempt 1   12:42   41 tool calls   running: uv run pytest -q tests/t…",
        "  and 2 more agents",
    ]


@pytest.mark.parametrize("name", pictures())
def test_the_pictures_of_the_documents_are_drawn_from_the_code(name: str) -> None:
    committed = (ROOT / "docs" / "pictures" / name).read_text(encoding="utf-8")
    assert committed == pictures()[name], f"docs/pictures/{name} is out of date: run `make pictures`"


def test_what_is_waited_for_is_told() -> None:
    night = after(
        decided(4, decision="Wait", rests=True, reason="the usage limit is reached", until=NOW + 60), Night(0)
    )
    night = after(
        e.Waiting(feature="login", reason="the usage limit is reached", until=NOW + 60, seconds_left=60), night
    )
    until = time.strftime("%H:%M:%S", time.localtime(NOW + 60))
    assert f"  until {until}, 1 min left: the usage limit is reached" in shown(night, 79)
    assert not any("ETA" in row for row in shown(replace(the_night(), until=NOW + 60), 199))
    night = after(decided(12, decision="Wait", rests=True, gate="qa", reason="QA_REPORT.md is ready"), night)
    assert shown(night, 79)[1:] == ["  waits for you: login (qa)   ralphy approve login"]
    assert shown(Night(0), 79) == []


def test_an_agent_that_ended_and_a_story_that_failed_are_no_longer_worked_on() -> None:
    night = reduce(lambda night, event: after(event, night), (does(6, "result", ""), ended(7, 0.5)), the_night())
    assert [agent.subject for agent in night.agents.values()] == ["US-006", "US-008"]
    assert night.agents["r6"].doing == "has ended; Ralphy verifies its work" and night.agents["r6"].calls == 41
    assert round(night.cost_usd, 2) == 3.62
    again = after(begun(5, "2", 0), night)
    assert (set(night.failed), set(again.failed)) == ({"US-005"}, set())


def test_in_a_log_a_line_says_after_minutes_of_silence_who_works(capfd: pytest.CaptureFixture[str]) -> None:
    live = Live(Output())
    for event in (decided(4), begun(6, "1", 762), *(does(6, "reading", "x.py") for _ in range(41))):
        live.hear(event)
    steady = time.monotonic()
    for passed_s in (10, 299, 301, 400, 602):
        live.tick(NOW, steady + passed_s)
    lines = capfd.readouterr().err.splitlines()
    assert [line[11:] for line in lines] == ["US-006 attempt 1: 12 min 42 s, 41 tool calls"] * 2
    assert heartbeat(Night(0), NOW) == ""


def test_on_a_terminal_the_night_stands_below_the_log_until_it_ends(made: Make) -> None:
    stories = [story(f"US-{n:03}", title=f"Part {n}") for n in range(1, 4)]
    project, _ = made(*stories, lanes={"jobs": 2}, gates={"spec": "auto", "qa": "auto"})
    bell = Bell(project.repo.parent / "bell")
    project.play(stories={"US-001": [works()], "*": [{"run": bell.ring, "hang": True}]})
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    argv = [sys.executable, "-P", "-m", "ralphy", "loop", "login"]
    env = {**project.env, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color"}
    with Started(argv, cwd=project.repo, env=env, stdin=slave, stdout=slave, stderr=slave,
                 start_new_session=True) as process:  # fmt: skip
        os.close(slave)
        heard = Heard(master)
        heard.until("verified and committed US-001")
        heard.until("1 of 3")
        heard.until(" 1 tool call ")  # of the agent that hangs from now on
        heard.until("runs left")  # the last row: what was read is no half of a view
        now = Screen(80).feed(heard.text).rows
        process.send_signal(signal.SIGINT)
        heard.rest()
        process.wait(timeout=PATIENCE_S)
    os.close(master)
    assert process.returncode == 130
    assert any("1 of 3" in row for row in now)
    left = [row for row in Screen(80).feed(heard.text).rows if row]
    assert "interrupted: nothing is lost" in left[-1]
    assert not any("─" in row or "attempt 1  " in row for row in left)
