"""A laptop that sleeps ends the night: idle sleep is held off while there is work, and no longer."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.cli.conftest import Make
from tests.conftest import program
from tests.engine.building import PATIENCE_S, Project, build, story, works

INHIBIT = """\
while case "$1" in -*) true ;; *) false ;; esac; do shift; done
echo began >> "$0.log"
"$@"
echo ended >> "$0.log"
"""
SAID = "this machine is kept awake while there is work (systemd-inhibit; limits.keep_awake)"


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What the system's program notes that is first on PATH."""
    folder = program(tmp_path / "bin" / "systemd-inhibit", INHIBIT).parent
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder / "systemd-inhibit.log"


def until(log: Path, *lines: str) -> None:
    """Wait until the program has noted this."""
    end = time.monotonic() + PATIENCE_S
    while not log.exists() or log.read_text(encoding="utf-8").split() != [*lines]:
        assert time.monotonic() < end, log.read_text(encoding="utf-8") if log.exists() else "nothing"
        time.sleep(0.02)


def test_idle_sleep_is_held_off_while_agents_work_and_said_once(made: Make, log: Path) -> None:
    project, call = made(story("US-001"))
    seen = log.with_name("seen")
    project.play(stories={"*": [works(run=[["cp", str(log), str(seen)]])]})

    said = call("loop", "login")[2]

    assert project.landed() == ["login/US-001"]
    assert (seen.read_text().split(), said.count(SAID)) == (["began"], 1)
    until(log, "began", "ended")
    found = {row["name"]: row for row in call.json("doctor")[1]["checks"]}["sleep"]
    assert (found["state"], found["said"]) == ("ok", "systemd-inhibit holds off idle sleep while there is work")


def test_it_is_not_where_the_settings_say_so_and_where_it_is_not_possible_doctor_says_why(
    made: Make, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, call = made(story("US-001"), limits={"keep_awake": False})

    said = call("loop", "login")[2]

    assert (project.landed(), SAID in said, log.exists()) == (["login/US-001"], False, False)
    log.with_suffix("").write_text("#!/bin/sh\necho 'Failed to connect to bus' >&2\nexit 1\n", encoding="utf-8")
    why = "systemd-inhibit: Failed to connect to bus"
    for battery, found in (
        (None, ("ok", f"no battery: idle sleep is unlikely, and not held off ({why})")),
        (object(), ("warn", f"idle sleep cannot be held off: {why}")),
    ):
        monkeypatch.setattr(psutil, "sensors_battery", lambda battery=battery: battery, raising=False)
        row = call.findings()["sleep"]
        assert (row["state"], row["said"]) == found


def test_it_ends_at_a_gate_and_with_a_ralphy_that_is_killed(tmp_path: Path, log: Path) -> None:
    project: Project = build(tmp_path, gates={"spec": "human"})
    project.play(stories={"*": [works(run=[["sleep", "600"]])]})

    with project.start("watch") as watching:
        until(log, "began", "ended")
        project.approve()
        until(log, "began", "ended", "began")
        watching.send_signal(signal.SIGKILL)
        watching.communicate(timeout=PATIENCE_S)

    until(log, "began", "ended", "began", "ended")
