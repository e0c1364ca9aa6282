"""Repositories in every state a person can leave them in: it works, or it is refused by its name, and is untouched."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ralphy.errors import ExitCode
from tests.engine.building import ONE_RUN, Project, assert_clean, build, drive, story
from tests.engine.driver import KILLED
from tests.faults.conftest import Ralphy
from tests.faults.world import changed, world_of


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


UNFINISHED: dict[str, Callable[[Project], object]] = {
    "merge": lambda project: attempt(project, "merge", "theirs"),
    "rebase": lambda project: attempt(project, "rebase", "theirs"),
    "cherry-pick": lambda project: attempt(project, "cherry-pick", "theirs"),
    "revert": lambda project: attempt(project, "revert", "HEAD~1"),
    "bisect": lambda project: project.git("bisect", "start", "HEAD", "HEAD~1"),
}


@pytest.mark.fault("G6")
def test_what_a_person_has_begun_is_named_and_left_alone(tmp_path: Path, ralphy: Ralphy) -> None:
    project = build(tmp_path, story("US-001"), story("US-002", priority=2))
    conflict(project)
    (project.repo / "src" / "base.py").write_text("BASE = 4\n", encoding="utf-8")
    project.git("commit", "-qam", "feat: more")
    for what, begin in UNFINISHED.items():
        if what == "bisect":  # it delays nothing that has begun
            continue
        begin(project)
        world = world_of(project)
        code, said = ralphy(project, "loop", "login")
        assert (code, f"a {what} in {project.repo} is in progress" in said) == (ExitCode.CONFLICT, True), said
        assert list(changed(world, world_of(project))) == []
        project.git(what, "--abort")
    project.loop(**ONE_RUN)
    UNFINISHED["bisect"](project)  # it lays out commits as a switch does
    world = world_of(project)
    ended = project.loop(agents=1)

    assert project.landed()[-1:] == ["login/US-002"], ended.text
    assert list(changed(world, world_of(project))) == []


def files_of(project: Project) -> dict[str, tuple[bytes, int]]:
    """Every file of the checkout, with when it was written."""
    return {
        str(path): (path.read_bytes(), path.stat().st_mtime_ns)
        for path in project.repo.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(project.repo).parts
    }


@pytest.mark.fault("G6")
def test_in_the_middle_of_a_merge_nothing_is_written_before_a_new_feature_is_refused(
    tmp_path: Path, ralphy: Ralphy
) -> None:
    project = build(tmp_path)
    conflict(project)
    new = ("start", "People sign in", "--name", "sign")
    for what, words in (("merge", new), ("rebase", ("loop", "login")), ("bisect", new)):
        UNFINISHED[what](project)
        before = files_of(project)
        code, said = ralphy(project, *words)
        assert (code, f"a {what}" in said, "is in progress" in said) == (ExitCode.CONFLICT, True, True), said
        assert files_of(project) == before
        project.git(what, "reset" if what == "bisect" else "--abort")
    assert project.journal("run") == []


def test_a_branch_that_leaves_no_room_is_named_before_an_agent_is_paid(tmp_path: Path, ralphy: Ralphy) -> None:
    project = build(tmp_path)
    for obstacle in ("ralph", "ralph/login/old"):
        project.git("branch", obstacle)
        before = files_of(project)

        code, said = ralphy(project, "loop", "login")

        assert code == ExitCode.CONFLICT
        assert f"the branch {obstacle} leaves no room for ralph/login" in said
        assert files_of(project) == before
        assert project.journal("run") == []
        project.git("branch", "-D", obstacle)
    assert ralphy(project, "loop", "login", "--max-iterations", "1")[0] == ExitCode.BUDGET


@pytest.mark.fault("G4", "G11")
@pytest.mark.parametrize("when", ["before the first loop", pytest.param("between two loops", marks=pytest.mark.soak)])
def test_a_detached_head_stops_nothing_and_without_a_name_for_git_the_commits_are_ralphys(
    tmp_path: Path, when: str
) -> None:
    project = build(tmp_path, story("US-001"))
    if when == "between two loops":
        assert drive(project, "die", "agent_ended", "1") == KILLED
    project.git("checkout", "-q", "--detach")
    empty = tmp_path / "nobody"
    empty.write_text("[user]\n\tuseConfigOnly = true\n", encoding="utf-8")
    project.env["GIT_CONFIG_GLOBAL"] = str(empty)
    world = world_of(project)

    ended = project.loop(agents=1)

    assert project.landed() == ["login/US-001"], ended.text
    assert project.git("log", "-1", "--format=%cn <%ce>", project.branch) == "Ralphy <ralphy@localhost>"
    assert list(changed(world, world_of(project))) == []
    if when == "before the first loop":
        start = project.git("rev-parse", "--short=10", "main")
        assert f"HEAD is detached: ralph/login begins at main ({start})" in ended.text


@pytest.mark.fault("G7")
def test_a_repository_without_a_commit_is_refused_in_words(tmp_path: Path, ralphy: Ralphy) -> None:
    project = build(tmp_path, story("US-001"))
    project.git("update-ref", "-d", "HEAD")

    code, said = ralphy(project, "loop", "login")

    assert code in (ExitCode.CONFLICT, ExitCode.ENVIRONMENT, ExitCode.NOT_FOUND)
    assert "commit" in said


@pytest.mark.fault("G7")
def test_a_story_lands_in_a_shallow_clone(tmp_path: Path, ralphy: Ralphy) -> None:
    project = build(tmp_path, story("US-001"))
    clone = tmp_path / "clone"
    subprocess.run(["git", "clone", "-q", "--depth", "1", project.repo.as_uri(), str(clone)], check=True)
    shallow = Project(clone, project.path, project.scenario, project.env)
    shallow.plan(story("US-001"))
    code, said = ralphy(shallow, "trust")  # the settings came with the clone, its agent's command among them
    assert code == 0, said

    shallow.loop(agents=1)
    assert shallow.landed() == ["login/US-001"]
    assert_clean(shallow)
