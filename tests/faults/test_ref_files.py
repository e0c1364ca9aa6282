"""The files of refs: whatever an agent writes into them, or puts in their place, a run ends and a restart goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from subprocess import DEVNULL

import pytest

from ralphy.git.commands import discover, head_of, resolve
from tests.engine.building import ROOT, Act, Project, assert_clean, build, drive, story, works
from tests.engine.driver import KILLED

pytestmark = pytest.mark.timeout(60)
REF = ".git/refs/heads/ralph/login"
WRITTEN = {
    "itself": f"echo 'ref: refs/heads/ralph/login' > {REF}",
    "a circle": f"echo 'ref: refs/heads/other' > {REF}; echo 'ref: refs/heads/ralph/login' > .git/refs/heads/other",
    "another branch": f"echo 'ref: refs/heads/main' > {REF}",
    "garbage": f"echo garbage > {REF}",
    "nothing": f": > {REF}",
    "bytes": rf"printf '\377\000' > {REF}",
    "a pipe": f"rm {REF}; mkfifo {REF}",
    "a link to a pipe": f"rm {REF}; mkfifo .git/pipe; ln -s ../../../pipe {REF}",
    "a folder": f"rm {REF}; mkdir {REF}; echo garbage > {REF}/x",
    "a pipe above": "rm -r .git/refs/heads/ralph; mkfifo .git/refs/heads/ralph",
    "a file for all branches": "cp -r .git/refs/heads ../heads; rm -r .git/refs/heads; echo x > .git/refs/heads",
    "pipes elsewhere": "mkfifo .git/refs/heads/x; mkdir -p .git/refs/ralphy/login/US-001;"
                       " mkfifo .git/refs/ralphy/login/US-001/attempt-9 .git/refs/remotes",
    "links elsewhere": "mkfifo .git/pipe; mkdir -p .git/refs/remotes; ln -s ../../pipe .git/refs/heads/x;"
                       " ln -s ../../pipe .git/refs/remotes/x",
    "a pipe for the packed ones": "git pack-refs --all; rm .git/packed-refs; mkfifo .git/packed-refs",
    "garbage among the packed ones": "echo garbage >> .git/packed-refs",
    "a pipe for HEAD": "rm .git/HEAD; mkfifo .git/HEAD",
    "a folder for HEAD": "rm .git/HEAD; mkdir .git/HEAD",
}  # fmt: skip


def meddled(tmp_path: Path, what: str) -> Project:
    project = build(tmp_path, story("US-001"), story("US-002"))
    project.git("branch", "other")
    act: Act = works(run=[["sh", "-c", WRITTEN[what]]])
    project.play(stories={"US-001": [works()], "US-002": [act, works()]})
    return project


def status(project: Project) -> int:
    """The exit code of `ralphy status`, which is ended with all that it started when it takes too long."""
    words = ["timeout", "15", sys.executable, "-P", "-m", "ralphy", "status", project.name]
    env = {**project.env, "PYTHONPATH": str(ROOT)}
    return subprocess.run(words, cwd=project.repo, env=env, stdout=DEVNULL, stderr=DEVNULL, check=False).returncode


def assert_mended(project: Project) -> None:
    assert project.landed() == ["login/US-001", "login/US-002"]
    assert set(project.refs("refs/heads")) == {f"refs/heads/{name}" for name in ("main", "other", project.branch)}
    assert (project.repo / ".git" / "HEAD").read_text() == f"ref: refs/heads/{project.branch}\n"
    assert_clean(project)


@pytest.mark.parametrize("what", WRITTEN)
def test_what_no_ref_can_be_is_taken_away_and_the_story_lands(tmp_path: Path, what: str) -> None:
    project = meddled(tmp_path, what)

    ended = project.loop()

    assert "changed during the run and put back" in ended.text
    assert_mended(project)


@pytest.mark.parametrize("what", WRITTEN)
def test_nor_does_a_restart_stumble_over_it(tmp_path: Path, what: str) -> None:
    project = meddled(tmp_path, what)
    assert drive(project, "die", "agent_ended", "2") == KILLED

    assert status(project) in (0, 3)  # 3: every branch is gone, until the loop has put them back
    project.loop()

    assert_mended(project)


def test_what_was_in_the_branchs_file_is_kept(tmp_path: Path) -> None:
    project = meddled(tmp_path, "garbage")

    ended = project.loop()

    assert f"put back: {REF}" in ended.text
    kept = [path for path in (project.folder / ".ralphy" / "set-aside").iterdir() if "refs__heads__ralph" in path.name]
    assert [path.read_text() for path in kept] == ["garbage\n"]


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
