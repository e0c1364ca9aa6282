"""report: what a night came to, printed, as data, as a page, and left in the feature's folder when work rests."""

from __future__ import annotations

import os
import select

import psutil
import pytest

from tests.cli.conftest import Make
from tests.conftest import program
from tests.engine.building import PATIENCE_S, breaks, drive, reports, story, works
from tests.engine.driver import KILLED


def test_a_night_leaves_its_report_where_git_and_nobody_else_minds_it(made: Make) -> None:
    project, call = made(story("US-001"), story("US-002", title="Stay <b>out</b>", priority=2),
                         limits={"max_attempts": 1})  # fmt: skip
    project.play(stories={"US-001": [works()], "US-002": [breaks()]})
    assert call("loop")[0] == 11

    text, page = project.read("REPORT.md"), project.read("REPORT.html")
    assert text.startswith("<!-- Written by Ralphy")
    assert "# login: 1 of 2 stories landed" in text
    assert (
        "- US-002 Stay \\<b>out\\</b> failed: say what to do\n  - write after `Answer:` in docs/features/login/" in text
    )
    lines = project.story("US-001")["evidence"]["lines"]
    written = [line for line in project.git("show", "--format=", project.commit_of("US-001"), "--", "src").splitlines()
            if line.startswith("+") and not line.startswith("+++")]  # fmt: skip
    assert lines == {"added": len(written), "removed": 0} and written
    assert f"| 1 | +{len(written)} -0 | 1 |" in text
    assert "(ralphy attempts diff login/US-002 1)" in text
    assert "Stay &lt;b&gt;out&lt;/b&gt;" in page
    assert "<b>" not in page
    assert project.git("status", "--porcelain", "--untracked-files=all") == ""
    project.git("switch", "--quiet", project.branch)
    assert project.git("status", "--porcelain", "--untracked-files=all") == ""
    project.git("switch", "--quiet", "main")

    assert call("report")[1] == text.split("\n", 1)[1]
    code, data = call.json("report")
    assert (code, [row["id"] for row in data["done"]], data["waits"][-1]["do"][-17:]) == (
        0, ["US-001"], "ralphy loop login")  # fmt: skip
    assert [(turn["of"], turn["model"]) for turn in data["costs"]] == [("US-001", "sonnet"), ("US-002", "sonnet")]

    project.write("REPORT.md", "mine")
    before = (project.folder / "REPORT.html").stat()
    assert call("loop")[0] == 11
    assert (project.folder / "REPORT.html").stat() == before, "nothing was done: there is nothing to report"
    assert project.read("REPORT.md") == "mine"
    project.play(stories={"*": [works()]})
    assert call("reset")[0] == 0
    assert call("loop")[0] == 10
    assert "2 of 2 stories landed" in project.read("REPORT.html")
    assert project.read("REPORT.md") == "mine"


def test_a_feature_that_only_waits_has_no_report(made: Make) -> None:
    project, call = made(story("US-001"), gates={"spec": "human", "qa": "auto"})
    project.write("SPEC.md", "# Specification\n\n### US-001\n\nIt works.\n")
    assert call("loop")[0] == 10
    assert not (project.folder / "REPORT.md").exists()
    project.approve()
    project.play(stories={"*": [works()]}, qa=[reports()])
    assert call("loop")[0] == 0
    assert "# login: 1 of 1 stories landed" in project.read("REPORT.md")
    assert (project.folder / "REPORT.html").exists()


def test_a_run_that_ralphy_died_in_is_not_at_work(made: Make) -> None:
    project, call = made(story("US-001"))
    assert drive(project, "die", "agent_ended", "1") == KILLED
    assert "| died |" in call("report")[1]
    project.loop()
    ended = next(line for line in call("logs", "login/US-001")[1].splitlines() if "ended     died" in line)
    assert "after" not in ended, "nobody knows how long it took"


def test_the_page_is_printed_or_opened(made: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    project, call = made(story("US-001"))
    tools, told = project.repo.parent / "bin", project.repo.parent / "opened"
    os.mkfifo(told)
    reader = os.open(told, os.O_RDONLY | os.O_NONBLOCK)
    for name in ("xdg-open", "open"):
        program(tools / name, f'echo "$1" > {told}')
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    assert call("report", "--open")[:2] == (0, f"{project.folder / 'REPORT.html'}\n")
    assert select.select([reader], [], [], PATIENCE_S)[0]
    assert os.read(reader, 4096).decode() == f"{project.folder / 'REPORT.html'}\n"
    os.close(reader)
    psutil.wait_procs([child for child in psutil.Process().children() if child.name() in ("xdg-open", "sh")])

    assert call("report", "--html")[1].startswith("<!doctype html>")
    assert call("report", "--json", "--html")[0] == 3
    elsewhere = project.repo.parent / "mine.html"
    elsewhere.write_text("mine")
    (project.folder / "REPORT.html").unlink()
    (project.folder / "REPORT.html").symlink_to(elsewhere)
    assert call("report", "--open")[0] == 3
    assert elsewhere.read_text() == "mine"


def test_statistics_are_of_all_nights_or_of_those_since_a_day(made: Make) -> None:
    project, call = made(story("US-001"), story("US-002", priority=2), limits={"max_attempts": 1})
    assert call("stats")[:2] == (0, "no agent has worked here yet\n")
    project.play(stories={"US-001": [works()], "US-002": [breaks()]})
    call("loop")
    code, out, _ = call("stats")
    assert (code, out.splitlines()[0]) == (
        0, "Stories   1 of 2 landed, 50% (goal missed: over 80%); 1 on the first attempt")  # fmt: skip
    assert "\nstory  sonnet  2     1          1  " in out
    assert call.json("stats", "--since", "1d")[1]["success_rate"] == 0.5
    assert call.json("stats", "--since", "2999-01-01")[1]["tried"] == 0
    assert call("stats", "--since", "yesterday")[0] == 3
