"""story add, start, fail, reset and reset while Ralphy works: queued, and made at its next decision."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ralphy.documents.request_queue import folder_of, queue
from ralphy.pipeline.requests import Change, Verb
from tests.cli.conftest import Bell, Call, CallIn, Heard, Make
from tests.engine.building import PATIENCE_S, ROOT, Act, Project, assert_clean, build, drive, held, story, works
from tests.engine.driver import KILLED
from tests.engine.nights import played_once
from tests.sampling import sampled


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


def waiting(project: Project, feature: str = "login") -> list[str]:
    folder = folder_of(project.repo / ".git" / "ralphy", feature)
    return sorted(os.listdir(folder)) if folder.exists() else []


@played_once
def one_landed(place: Path) -> Project:
    project = build(place, story("US-001"), limits={"max_iterations": 1})
    assert project.loop().code == 13
    project.configure()
    return project


@pytest.fixture
def begun(one_landed: Project, call_in: CallIn) -> tuple[Project, Call]:
    """A feature whose only story is completed on its branch."""
    return one_landed, call_in(one_landed)


def test_stories_that_are_added_in_a_running_night_are_done_in_the_same_night(made: Make) -> None:
    project, call = made(story("US-001"), story("US-002", priority=9))
    agent = Slow(project.repo.parent)
    project.play(stories={"US-001": [agent.act]})
    with project.start("loop") as process:
        agent.begun.wait()
        before = project.read("prd.json")
        code, out, _ = call("story", "add", "Sign out", "--priority", "2", "--after", "US-001", "--criteria", "One")
        assert (code, out) == (0, "queued: US-003 will be added at the next decision\n")
        code, value = call.json("story", "add", "Sign up", "--priority", "3", "--after", "US-003")
        assert (code, value["schema"], value["story"]) == (0, "ralphy/queued@1", "US-004")
        assert call("story", "fail", "US-002", "-m", "not now")[0] == 0
        assert call("story", "add", "X", "--after", "US-009")[0] == 2
        assert call("story", "add", "Two\nlines")[0] == 3
        assert project.read("prd.json") == before
        agent.go_on()
        code, said = ended(process)
    assert code == 11, said
    assert "queued while Ralphy worked: US-003 Sign out is added" in said
    assert [project.story(name)["status"] for name in ("US-002", "US-003", "US-004")] == ["failed", *["completed"] * 2]
    assert project.landed() == ["login/US-001", "login/US-003", "login/US-004"]
    assert project.subjects("chore(login): US-003 is added") == ["chore(login): US-003 is added"]
    assert waiting(project) == []
    assert_clean(project)


def test_an_agent_cannot_queue_a_change_for_its_own_night(made: Make) -> None:
    project, _ = made(story("US-001"))
    said = "src/said.py"
    asks = f"env -u RALPHY_REPO PYTHONPATH='{ROOT}' '{sys.executable}' -P -m ralphy story add"
    walks = f"(cd '{project.repo}' && {asks} Mine 2>&1)"
    acts = [["sh", "-c", f"echo \"WHY = '''${walks}'''\" > '{said}'"], ["sh", "-c", f"{asks} Lane || true"]]
    project.play(stories={"US-001": [works(run=acts)]})
    code, err = project.call("loop")
    assert code == 10, err
    assert "cannot change the stories of its own run" in project.code(said)
    assert waiting(project) == []
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


def test_what_no_longer_fits_is_set_aside_and_said(made: Make) -> None:
    project, _ = made(story("US-001"))
    state = project.repo / ".git" / "ralphy"
    queue(state, "login", Change(Verb.ADD, "US-001", {"title": "Taken"}))
    queue(state, "login", Change(Verb.RESET, "US-007"))
    folder = folder_of(state, "login")
    sound = (folder / waiting(project)[1]).read_bytes()
    (project.repo.parent / "elsewhere").write_bytes(sound)
    (folder / f"{1:020d}-1.json").symlink_to(project.repo.parent / "elsewhere")
    os.link(project.repo.parent / "elsewhere", folder / f"{2:020d}-1.json")
    os.mkfifo(folder / f"{3:020d}-1.json")
    (folder / f"{4:020d}-1.json").write_bytes(b"[" * 5000)
    (folder / f"{5:020d}-1.json").write_bytes(b" " * 300_000 + sound)
    (folder / f"{6:020d}-1.json").mkdir()
    ended = project.loop()
    assert ended.runs == ["US-001", "qa"]
    assert len([line for line in ended.said if line.startswith("a queued change is not made: ")]) == 8
    assert "there is a story US-001 already" in ended.text
    assert "login has no story 'US-007'" in ended.text
    assert waiting(project) == []


def test_for_a_feature_that_is_not_in_work_it_is_made_at_the_next_start(made: Make) -> None:
    project, call = made(story("US-001"))
    with held(project, "feature shop"):
        assert call("story", "add", "X")[1] == "queued: US-002 will be added when Ralphy next works on login\n"
    assert call.json("story", "add", "Y")[1]["story"]["id"] == "US-003"
    assert project.loop().runs == ["US-001", "US-003", "US-002", "qa"]


def test_stories_are_reset_and_started_by_requests_too(begun: tuple[Project, Call]) -> None:
    project, call = begun
    for title in ("Sign out", "Sign up"):
        assert call("story", "add", title, "--priority", "1")[0] == 0
    assert call("story", "fail", "US-002")[0] == 0
    with held(project):
        assert call("reset")[1] == "queued: failed and blocked stories will be pending again at the next decision\n"
        assert call("story", "start", "US-003")[1] == "queued: US-003 will be the next story at the next decision\n"
        assert call("story", "reset", "US-001")[0] == 0
        assert call("story", "done", "US-003")[0] == 4
    project.play(stories={"US-001": [works(), {"write": {"src/again.py": "AGAIN = 1\n"}}]})
    assert project.loop().runs[:3] == ["US-003", "US-001", "US-002"]
    assert_clean(project)


MILESTONES = ("intent_recorded", "refs_moved", "files_replaced", "request_kept")


@pytest.mark.parametrize("milestone", sampled(MILESTONES, "refs_moved", "request_kept"))
def test_a_kill_while_a_request_is_taken_makes_the_change_once(begun: tuple[Project, Call], milestone: str) -> None:
    project, call = begun
    with held(project):
        assert call("story", "add", "Sign out")[0] == 0
    assert drive(project, "die", milestone, "1") == KILLED
    ended = project.loop()
    assert ended.runs == ["US-002", "qa"]
    assert "not made" not in ended.text
    assert len(project.subjects("chore(login): US-002 is added")) == 1
    assert waiting(project) == []
    assert_clean(project)


def test_a_change_ends_the_wait_at_a_gate(begun: tuple[Project, Call]) -> None:
    project, call = begun
    with project.start("watch") as process:
        assert process.stderr
        heard = Heard(process.stderr.fileno())
        heard.until("QA_REPORT.md")
        assert call("story", "add", "Sign out")[0] == 0
        heard.until("queued while Ralphy worked: US-002 Sign out is added")
        process.terminate()
        process.communicate(timeout=PATIENCE_S)
