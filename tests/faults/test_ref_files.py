"""Git's files: whatever an agent puts in their place, in its lane, a run ends and a restart goes on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralphy.git.commands import discover, head_of, resolve
from tests.engine.building import Act, assert_clean, build, drive, story, works
from tests.engine.driver import KILLED
from tests.faults.world import changed, world_of
from tests.sampling import sampled

REF = "refs/heads/ralph/login"
WRITTEN = {
    "a circle": f"echo 'ref: refs/heads/other' > {REF}; echo 'ref: refs/heads/ralph/login' > refs/heads/other",
    "garbage": f"echo garbage > {REF}",
    "a pipe": f"mkfifo {REF}",
    "a pipe above": "mkfifo refs/heads/ralph",
    "a folder": f"mkdir {REF}; echo garbage > {REF}/x",
    "a pipe for the packed ones": "rm packed-refs; mkfifo packed-refs",
    "a pipe for HEAD": "rm HEAD; mkfifo HEAD",
    "a pipe for the index": "rm index; mkfifo index",
    "a pipe for the configuration": "rm config; mkfifo config",
    "a pipe for the objects": "mv objects o; mkfifo objects",
}


def writes(what: str) -> Act:
    above = "" if what == "a pipe above" else "mkdir -p refs/heads/ralph;"
    return works(run=[["sh", "-c", f"cd $(git rev-parse --git-dir) && {{ {above} {WRITTEN[what]}; }}"]])


@pytest.mark.fault("G16")
def test_what_no_file_of_git_can_be_stays_in_the_lane_and_stops_nothing(tmp_path: Path) -> None:
    names = [f"US-{number:03}" for number in range(len(WRITTEN))]
    project = build(tmp_path, *map(story, names))
    project.play(stories={name: [writes(what), works()] for name, what in zip(names, WRITTEN, strict=True)})
    before = world_of(project)

    project.loop()

    assert project.landed() == [f"login/{name}" for name in names]
    assert list(changed(before, world_of(project))) == []
    assert_clean(project)


@pytest.mark.parametrize("what", sampled(WRITTEN, "a pipe for the index"))
@pytest.mark.fault("G16")
def test_nor_does_it_when_ralphy_was_killed(tmp_path: Path, what: str) -> None:
    project = build(tmp_path, story("US-001"))
    project.play(stories={"US-001": [writes(what), works()]})
    before = world_of(project)
    assert drive(project, "die", "agent_ended", "1") == KILLED

    project.loop()

    assert project.landed() == ["login/US-001"]
    assert list(changed(before, world_of(project))) == []
    assert_clean(project)


@pytest.mark.parametrize("text", ["ref: refs/heads/main", "ref: refs/heads/a", "garbage", "", "ref: ../../x", "0" * 41])
def test_a_ref_that_leads_nowhere_is_no_commit(git_repo: Path, text: str) -> None:
    (git_repo / ".git" / "refs" / "heads" / "a").write_text("ref: refs/heads/main\n")
    (git_repo / ".git" / "refs" / "heads" / "main").write_text(f"{text}\n")

    repository = discover(git_repo)

    assert head_of(repository) == ("main", "")
    assert resolve(repository, "refs/heads/a") == ""


def test_a_pipe_is_no_ref(git_repo: Path) -> None:
    os.mkfifo(git_repo / ".git" / "refs" / "heads" / "pipe")
    (git_repo / ".git" / "packed-refs").unlink(missing_ok=True)
    os.mkfifo(git_repo / ".git" / "packed-refs")

    assert resolve(discover(git_repo), "refs/heads/pipe") == ""
