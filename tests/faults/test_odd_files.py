"""What agents leave in the place of files: pipes and the like, or another plan. Nobody waits, and none of it counts."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralphy.errors import EnvironmentProblem, ExitCode
from ralphy.git import reader
from ralphy.git.commands import discover, head_of, resolve
from tests.engine.building import assert_clean, build, drive, story, works
from tests.engine.driver import KILLED
from tests.faults.conftest import Ralphy
from tests.sampling import sampled

SOCKET = "import os, socket; os.remove('src/base.py'); socket.socket(socket.AF_UNIX).bind('src/base.py')"
MADE = {
    "pipe": ["sh", "-c", "rm src/base.py; mkfifo src/base.py"],
    "socket": ["python3", "-c", SOCKET],
    "device": ["sh", "-c", "rm src/base.py; mknod src/base.py c 1 5"],
}


@pytest.mark.parametrize(("what", "killed"), sampled(
    [("pipe", False), ("pipe", True), ("socket", False),
     pytest.param("device", False, marks=pytest.mark.skipif(os.getuid() != 0, reason="needs root"))],
    ("pipe", True),
))  # fmt: skip
@pytest.mark.fault("P1")
def test_what_is_no_file_in_a_tracked_files_place_counts_as_deleted_and_keeps_git_waiting_nowhere(
    tmp_path: Path, what: str, killed: bool
) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"))
    read_by_git = [
        "sh",
        "-c",
        "for name in .gitignore .gitattributes src/.gitignore; do rm -f $name; mkfifo $name; done",
    ]
    project.play(stories={"US-001": [works(run=[MADE[what], read_by_git]), works()], "US-002": [works()]})
    if killed:
        assert drive(project, "die", "agent_ended", "1") == KILLED

    project.loop(agents=2)

    assert project.landed() == ["login/US-001", "login/US-002"]
    assert "src/base.py" in project.files_of(project.commit_of("US-001"))
    assert "src/base.py" not in project.code_files()
    assert_clean(project)


def test_a_pipe_that_git_would_wait_for_is_named_before_git_is_asked(tmp_path: Path, ralphy: Ralphy) -> None:
    project = build(tmp_path, story("US-001"))
    for name in ("node_modules/left/.gitignore", "src/.gitattributes"):
        pipe = project.repo / name
        pipe.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(pipe)

        code, said = ralphy(project, "loop")

        assert code == 3
        assert f"{name}: is not a plain file, and Git would wait for it" in said
        assert "remove it" in said
        pipe.unlink()
    assert ralphy(project, "loop", "--max-iterations", "1")[0] == ExitCode.BUDGET
    assert project.landed() == ["login/US-001"]


def test_a_ref_that_leads_nowhere_is_no_commit_and_a_pipe_an_error(
    git_repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = git_repo / ".git" / "refs" / "heads"
    (heads / "a").write_text("ref: refs/heads/main\n")
    for text in ("ref: refs/heads/main", "ref: refs/heads/a", "garbage", "", "ref: ../../x", "0" * 41):
        (heads / "main").write_text(f"{text}\n")
        repository = discover(git_repo)
        assert head_of(repository) == ""
        assert resolve(repository, "refs/heads/a") == ""
    os.mkfifo(heads / "pipe")
    monkeypatch.setattr(reader, "LONGEST_S", 0.1)
    with pytest.raises(EnvironmentProblem, match="git gives no answer about info refs/heads/pipe"):
        resolve(repository, "refs/heads/pipe")
    monkeypatch.undo()
    (heads / "pipe").unlink()
    assert resolve(repository, "refs/heads/pipe") == ""
