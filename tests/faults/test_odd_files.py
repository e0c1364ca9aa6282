"""What is neither file, link nor folder where a file was: nobody waits for it, and the file counts as deleted."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.engine.building import assert_clean, build, drive, story, works
from tests.engine.driver import KILLED
from tests.sampling import sampled

SOCKET = "import os, socket; os.remove('src/base.py'); socket.socket(socket.AF_UNIX).bind('src/base.py')"
MADE = {
    "pipe": ["sh", "-c", "rm src/base.py; mkfifo src/base.py"],
    "socket": ["python3", "-c", SOCKET],
    "device": ["sh", "-c", "rm src/base.py; mknod src/base.py c 1 5"],
}


@pytest.mark.parametrize("what", [
    "pipe", pytest.param("socket", marks=pytest.mark.soak),
    pytest.param("device", marks=[pytest.mark.soak, pytest.mark.skipif(os.getuid() != 0, reason="needs root")]),
])  # fmt: skip
def test_what_is_no_file_in_a_tracked_files_place_counts_as_deleted(tmp_path: Path, what: str) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"))
    project.play(stories={"US-001": [works(run=[MADE[what]])], "US-002": [works()]})

    project.loop()

    assert project.landed() == ["login/US-001", "login/US-002"]
    assert "src/base.py" in project.files_of(project.commit_of("US-001"))
    assert "src/base.py" not in project.code_files()
    assert_clean(project)


@pytest.mark.fault("P1")
def test_nor_does_a_restart_wait_for_it(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    project.play(stories={"US-001": [works(run=[MADE["pipe"]]), works()]})
    assert drive(project, "die", "agent_ended", "1") == KILLED

    project.loop()

    assert "src/base.py" not in project.code_files()  # the run is resumed: what it had replaced stays deleted
    assert project.landed() == ["login/US-001"]
    assert_clean(project)


@pytest.mark.parametrize("name", sampled([".gitignore", ".gitattributes", "src/.gitignore"], ".gitignore"))
@pytest.mark.parametrize("killed", [False, True], ids=["", "and Ralphy was killed"])
def test_git_is_not_kept_waiting_by_what_it_reads(tmp_path: Path, name: str, killed: bool) -> None:
    project = build(tmp_path, story("US-001"))
    pipe = ["sh", "-c", f"rm -f {name}; mkfifo {name}"]
    project.play(stories={"US-001": [works(run=[pipe]), works()]})
    if killed:
        assert drive(project, "die", "agent_ended", "1") == KILLED

    project.loop()

    assert project.landed() == ["login/US-001"]
    assert_clean(project)


def test_a_pipe_that_git_would_wait_for_is_named_before_git_is_asked(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    project.play(stories={"*": [works()]})
    for name in ("node_modules/left/.gitignore", "src/.gitattributes"):
        pipe = project.repo / name
        pipe.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(pipe)

        code, said = project.call("loop")

        assert code == 3
        assert f"{name}: is not a plain file, and Git would wait for it" in said
        assert "remove it" in said
        pipe.unlink()
    assert project.call("loop")[0] == 10
    assert project.landed() == ["login/US-001"]
