"""What a person does while Ralphy works: STOP counts, and a command that would change the stories is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Bell, Heard, Make
from tests.engine.building import PATIENCE_S, ROOT, Act, assert_clean, story, works


class Slow:
    """An agent that says that it has begun, and goes on only when it is told."""

    def __init__(self, folder: Path) -> None:
        self.begun = Bell(folder / "begun")
        os.mkfifo(folder / "go")
        self._go = os.open(folder / "go", os.O_RDWR)
        self.act: Act = works(run=[*self.begun.ring, ["sh", "-c", f"read word < '{folder / 'go'}'"]])

    def go_on(self) -> None:
        os.write(self._go, b"go\n")


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    _, said = process.communicate(timeout=PATIENCE_S)
    return process.returncode, said


def test_a_command_that_would_change_stories_is_refused_and_names_what_can_be_done(made: Make) -> None:
    project, call = made(story("US-001"))
    agent = Slow(project.repo.parent)
    project.play(stories={"US-001": [agent.act]})
    with project.start("loop") as process:
        agent.begun.wait()
        before = project.read("prd.json")
        for words in (
            ("story", "add", "Sign out"),
            ("story", "start", "US-001"),
            ("story", "reset", "US-001"),
            ("reset",),
        ):
            code, _, err = call(*words)
            assert (code, "edit prd.json" in err, "ralphy abort" in err) == (4, True, True), err
        assert project.read("prd.json") == before
        agent.go_on()
        code, said = ended(process)
    assert code == 10, said
    assert_clean(project)


def test_an_agent_cannot_change_the_stories_of_its_own_night(made: Make) -> None:
    project, _ = made(story("US-001"))
    said = "src/said.py"
    asks = f"env -u RALPHY_REPO PYTHONPATH='{ROOT}' '{sys.executable}' -P -m ralphy story add"
    walks = f"(cd '{project.repo}' && {asks} Mine 2>&1)"
    acts = [["sh", "-c", f"echo \"WHY = '''${walks}'''\" > '{said}'"], ["sh", "-c", f"{asks} Lane || true"]]
    project.play(stories={"US-001": [works(run=acts)]})
    code, err = project.call("loop")
    assert code == 10, err
    assert "Ralphy is already running here" in project.code(said)
    assert project.statuses() == {"US-001": "completed"}
    assert "Lane" not in project.code(f"{project.path}/prd.json")


def test_stop_is_said_to_be_seen_while_the_agent_works(made: Make) -> None:
    project, _ = made(story("US-001"))
    agent = Slow(project.repo.parent)
    project.play(stories={"US-001": [agent.act]})
    with project.start("loop") as process:
        agent.begun.wait()
        (project.folder / "STOP").touch()
        assert process.stderr
        Heard(process.stderr.fileno()).until("STOP found: finishing this run, then stopping")
        agent.go_on()
        assert ended(process)[0] == 130
    assert project.statuses() == {"US-001": "completed"}
