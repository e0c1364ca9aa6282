"""What a person or an agent does while Ralphy works: STOP counts, and no agent changes the stories."""

from __future__ import annotations

import os
import sys

from tests.cli.conftest import Bell, Heard, Make
from tests.engine.building import PATIENCE_S, ROOT, story, works


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
    bell, go_on = Bell(project.repo.parent / "begun"), project.repo.parent / "go-on"
    os.mkfifo(go_on)
    project.play(stories={"US-001": [works(run=[*bell.ring, ["sh", "-c", f"read word < '{go_on}'"]])]})
    with project.start("loop") as process:
        bell.wait()
        (project.folder / "STOP").touch()
        assert process.stderr
        Heard(process.stderr.fileno()).until("STOP found: finishing this run, then stopping")
        go_on.write_text("go\n")
        process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert project.statuses() == {"US-001": "completed"}
