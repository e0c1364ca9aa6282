"""Repositories in every state a person can leave them in: it works, or it is refused by its name and untouched."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ralphy.errors import ExitCode
from tests.engine.building import Project, assert_clean, build, story, works


def conflict(project: Project) -> None:
    """Two branches that disagree about a file."""
    for branch, text in (("theirs", "BASE = 2\n"), ("main", "BASE = 3\n")):
        project.git("switch", "-q", *(["-c"] if branch == "theirs" else []), branch)
        (project.repo / "src" / "base.py").write_text(text, encoding="utf-8")
        project.git("commit", "-qam", f"feat: {branch}")


def attempt(project: Project, *words: str) -> None:
    """A git command that ends in a conflict."""
    done = subprocess.run(["git", *words], cwd=project.repo, env=project.env, capture_output=True, check=False)
    assert done.returncode != 0


def bisect(project: Project) -> None:
    project.git("bisect", "start")
    project.git("bisect", "bad", "HEAD")


UNFINISHED: dict[str, Callable[[Project], None]] = {
    "merge": lambda project: attempt(project, "merge", "theirs"),
    "rebase": lambda project: attempt(project, "rebase", "theirs"),
    "cherry-pick": lambda project: attempt(project, "cherry-pick", "theirs"),
    "revert": lambda project: attempt(project, "revert", "HEAD~1"),
    "bisect": bisect,
}


@pytest.mark.parametrize("what", UNFINISHED)
@pytest.mark.fault("G6")
def test_what_a_person_has_begun_is_named_and_left_alone(tmp_path: Path, what: str) -> None:
    project = build(tmp_path, story("US-001"))
    conflict(project)
    if what == "revert":
        (project.repo / "src" / "base.py").write_text("BASE = 4\n", encoding="utf-8")
        project.git("commit", "-qam", "feat: more")
    UNFINISHED[what](project)
    before = project.git("status")

    ended = project.loop()

    assert ended.code == ExitCode.CONFLICT
    assert what in ended.rest.reason
    assert ended.runs == []
    assert project.git("status").replace("docs/", "") == before.replace("docs/", "")


@pytest.mark.fault("G4")
def test_nothing_is_begun_on_a_detached_head(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    project.git("checkout", "-q", "--detach")

    ended = project.loop()

    assert ended.code == ExitCode.CONFLICT
    assert "detached" in ended.rest.reason
    assert ended.runs == []


@pytest.mark.fault("G4")
def test_a_head_that_a_person_detached_between_two_loops_names_the_branch(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"))
    project.loop()
    tip = project.git("rev-parse", project.branch)
    project.git("checkout", "-q", "--detach")

    ended = project.loop()

    assert ended.code == ExitCode.CONFLICT
    assert project.branch in ended.rest.reason
    assert project.git("rev-parse", project.branch) == project.git("rev-parse", "HEAD") == tip


@pytest.mark.fault("G7")
def test_a_repository_without_a_commit_is_refused_in_words(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    project.git("update-ref", "-d", "HEAD")

    code, said = project.call("loop", "login")

    assert code in (ExitCode.CONFLICT, ExitCode.ENVIRONMENT, ExitCode.NOT_FOUND)
    assert "commit" in said
    assert "unexpected" not in said


@pytest.mark.fault("G7")
def test_a_story_lands_in_a_shallow_clone(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--depth", "1", project.repo.as_uri(), str(clone)], check=True)
    shallow = Project(clone, project.path, project.scenario, project.env)
    shallow.plan(story("US-001"))
    code, said = shallow.call("trust")  # the settings came with the clone, its agent's command among them
    assert code == 0, said

    assert shallow.loop().code == ExitCode.WAITING
    assert shallow.landed() == ["login/US-001"]
    assert_clean(shallow)


@pytest.mark.fault("G10")
def test_a_signature_that_cannot_be_made_holds_nothing_up(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    project.git("config", "commit.gpgSign", "true")
    project.git("config", "tag.gpgSign", "true")
    project.git("config", "gpg.program", "false")

    assert project.loop().code == ExitCode.WAITING

    assert project.landed() == ["login/US-001"]
    assert project.git("log", "--format=%G?", f"main..{project.branch}").split("\n")[0] == "N"


@pytest.mark.fault("G11")
def test_without_a_name_for_git_the_commits_are_ralphys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = build(tmp_path, story("US-001"))
    empty = tmp_path / "nobody"
    empty.write_text("[user]\n\tuseConfigOnly = true\n", encoding="utf-8")
    project.env["GIT_CONFIG_GLOBAL"] = str(empty)

    assert project.loop().code == ExitCode.WAITING

    assert project.landed() == ["login/US-001"]
    assert project.git("log", "-1", "--format=%cn <%ce>") == "Ralphy <ralphy@localhost>"


@pytest.mark.fault("G17")
def test_a_rename_by_case_alone_is_committed_as_it_is(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    project.play(stories={"US-001": [works(run=[["git", "mv", "src/base.py", "src/Base.py"]])]})

    project.loop()

    commit = project.commit_of("US-001")
    assert project.git("ls-tree", "--name-only", commit, "src/").split() == ["src/Base.py", "src/us_001.py"]
    assert_clean(project)


@pytest.mark.fault("G2", "P3")
def test_a_lock_on_the_branch_is_named_and_costs_nothing(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"))
    project.play(stories={"US-002": [works(run=[["sh", "-c", "touch .git/$(git symbolic-ref HEAD).lock"]])],
                          "*": [works()]})  # fmt: skip

    for _ in range(3):
        code, said = project.call("loop", "login")
        assert "Traceback" not in said
        if code == ExitCode.WAITING:
            break

    assert code == ExitCode.WAITING
    assert project.landed() == ["login/US-001", "login/US-002"]
    assert_clean(project)
