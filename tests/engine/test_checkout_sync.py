"""A checkout on the feature's branch follows what lands there, and loses nothing of what its person has in it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from ralphy.engine.feature.checkout_sync import (
    Moved,
    catch_up,
    follow,
    moved_by_person,
    record_branch_tip,
)
from ralphy.engine.feature.ignored_files import exclude
from ralphy.engine.feature.land import chore
from ralphy.engine.feature.land import land as land_commit
from ralphy.engine.feature.live_documents import lay_out
from ralphy.engine.feature.persons_git import operation_on_branch
from ralphy.engine.view.observe import observe
from tests.engine.branching import advance, begun, completed, opened, pending, plan, status, tip_of
from tests.engine.building import Project, heard
from tests.engine.driver import KilledError, dies_at
from tests.engine.nights import played_once

CODE: dict[str, str | None] = {"src/base.py": "BASE = 2\n", "src/new.py": "NEW = 1\n", "check.py": None}
DONE: dict[str, str | None] = {"prd.json": plan(completed(), pending("US-002")), "progress.txt": "# Progress\nUS-001\n"}


@played_once
def project(tmp_path: Path) -> Project:
    """The feature's branch is checked out, and Ralphy knows where it stands."""
    made = begun(tmp_path)
    with opened(made) as w:
        exclude(w.repository, f"{w.feature.path}/")
        record_branch_tip(w, tip_of(made))
        made.git("switch", "--quiet", made.branch)
        lay_out(w, tip_of(made))
    return made


def land(project: Project, code: dict[str, str | None] | None = None, die: str = "", **more: Any) -> list[str]:
    """Documents and code land on the branch as the engine does it; gives the messages."""
    messages: list[str] = []
    with opened(project) as w:
        w.listener, w.milestone = heard(messages), dies_at(die)
        old = tip_of(project)
        new = advance(project, more.get("documents", DONE), CODE if code is None else code)
        lay_out(w, new)
        follow(w, old, new)
    return messages


def again(project: Project) -> list[str]:
    messages: list[str] = []
    with opened(project) as w:
        w.listener = heard(messages)
        catch_up(w)
    return messages


def moved(project: Project) -> Moved | None:
    with opened(project) as w:
        return moved_by_person(w)


def text(project: Project, path: str) -> str:
    return (project.repo / path).read_text()


def put(project: Project, path: str, content: str) -> None:
    (project.repo / path).parent.mkdir(parents=True, exist_ok=True)
    (project.repo / path).write_text(content)


def test_everything_else_that_a_person_has_there_survives(project: Project) -> None:
    for path, content in {"src/kept.py": "1", "src/odd.py": "1"}.items():
        put(project, path, content)
    project.commit("mine", "src/kept.py", "src/odd.py")
    with opened(project) as w:
        record_branch_tip(w, tip_of(project))
    put(project, "src/kept.py", "changed")
    put(project, "src/staged.py", "staged")
    project.git("add", "src/staged.py")
    put(project, "src/staged.py", "and changed")
    put(project, "src/intended.py", "intended")
    project.git("add", "--intent-to-add", "src/intended.py")
    put(project, "src/untracked.py", "untracked")
    put(project, "ignored.log", "ignored")
    project.git("update-index", "--assume-unchanged", "src/odd.py")
    put(project, "src/odd.py", "odd")
    before = status(project)
    assert land(project) == []
    assert status(project) == before
    assert project.git("show", ":src/staged.py") == "staged"
    assert project.git("ls-files", "-v", "src/odd.py") == "h src/odd.py"
    found = {name: text(project, f"src/{name}.py") for name in ("kept", "staged", "intended", "untracked", "odd")}
    assert found == {"kept": "changed", "staged": "and changed", "intended": "intended", "untracked": "untracked",
                     "odd": "odd"}  # fmt: skip
    assert text(project, "ignored.log") == "ignored"
    assert text(project, "src/base.py") == "BASE = 2\n"


@pytest.mark.parametrize("how", ["changed", "staged", "hidden", "untracked", "ignored", "beneath"])
def test_nothing_is_touched_where_something_would_be_overwritten(project: Project, how: str) -> None:
    path, code = "src/base.py", dict(CODE)
    if how in ("untracked", "ignored", "beneath"):
        path = {"untracked": "src/new.py", "ignored": "new.log", "beneath": "deep"}[how]
        code |= {"new.log": "theirs", "deep/er.py": "theirs"}
    if how == "hidden":
        project.git("update-index", "--assume-unchanged", path)
    put(project, path, "MINE = 1\n")
    if how == "staged":
        project.git("add", path)
    (message,) = land(project, code)
    assert message.startswith(f"{project.repo} does not follow") and path in message
    assert text(project, path) == "MINE = 1\n"
    assert (project.repo / "check.py").exists()
    assert text(project, "src/base.py") in ("BASE = 1\n", "MINE = 1\n")
    assert again(project) == []  # it is said once
    if how == "staged":
        project.git("restore", "--staged", "--worktree", f"--source={project.branch}~1", path)
    elif how in ("changed", "hidden"):
        put(project, path, "BASE = 1\n")
        project.git("update-index", "--no-assume-unchanged", path)
    else:
        (project.repo / path).unlink()
    assert again(project) == []
    assert status(project) == ""


def test_what_is_said_can_be_typed_and_keeps_the_changes(project: Project) -> None:
    wide = "".join(f"LINE_{n} = {n}\n" for n in range(20))
    land(project, {"src/base.py": wide})
    put(project, "src/base.py", f"{wide}# mine\n")
    (message,) = land(project, {"src/base.py": f"# theirs\n{wide}"}, documents={})
    command = message.partition("along: ")[2]
    subprocess.run(["sh", "-c", command], cwd=project.repo, env=project.env, check=True, capture_output=True)
    assert text(project, "src/base.py") == f"# theirs\n{wide}# mine\n"
    assert again(project) == []
    assert status(project) == " M src/base.py"


def test_a_merge_that_goes_on_holds_up_what_would_land(project: Project) -> None:
    project.git("switch", "--quiet", "-c", "other", "main")
    put(project, "src/base.py", "OTHER = 1\n")
    project.git("commit", "--quiet", "--all", "-m", "other")
    project.git("switch", "--quiet", project.branch)
    with opened(project) as w:
        assert operation_on_branch(w) == ""
    project.git("merge", "--quiet", "--no-commit", "--no-ff", "other")
    with opened(project) as w:
        begun = f"a merge on ralph/login in {project.repo}"
        assert operation_on_branch(w) == observe(w).tree.busy == begun
    (message,) = land(project)
    assert message.endswith("a merge is in progress: finish or abort it")
    assert text(project, "src/base.py") == "OTHER = 1\n"


def test_a_landing_waits_for_the_end_of_a_persons_merge(project: Project) -> None:
    project.git("switch", "--quiet", "-c", "other", "main")
    put(project, "src/base.py", "OTHER = 1\n")
    project.git("commit", "--quiet", "--all", "-m", "other")
    project.git("switch", "--quiet", project.branch)
    project.git("merge", "--quiet", "--no-commit", "--no-ff", "other")
    old = tip_of(project)
    with opened(project) as w:
        w.pause = lambda _: project.git("merge", "--abort")
        commit = land_commit(w, chore(w, "noted login", "noted", old, {"progress.txt": b"# Progress\nmore\n"}))
    assert tip_of(project) == commit != old
    assert status(project) == ""


@pytest.mark.parametrize("milestone", ["index_recorded", "checkout_followed"])
def test_a_kill_in_the_middle_is_completed_by_the_next_call(project: Project, milestone: str) -> None:
    with pytest.raises(KilledError):
        land(project, die=milestone)
    assert again(project) == []
    assert status(project) == ""
    assert moved(project) is None


def test_files_that_a_killed_git_had_written_already_are_no_obstacle(project: Project) -> None:
    put(project, "src/base.py", "BASE = 2\n")
    put(project, "src/new.py", "NEW = 1\n")
    (project.repo / "check.py").unlink()
    assert land(project) == []
    assert status(project) == ""


def test_a_linked_worktree_follows_too(project: Project, tmp_path: Path) -> None:
    project.git("switch", "--quiet", "main")
    project.git("worktree", "add", "--quiet", str(tmp_path / "linked"), project.branch)
    linked = Project(tmp_path / "linked", project.path, project.scenario, project.env)
    assert land(project) == []
    assert status(linked) == ""
    assert linked.read("prd.json") == DONE["prd.json"]
    put(linked, "src/base.py", "MINE = 1\n")
    (message,) = land(project, {"src/base.py": "BASE = 3\n"}, documents={})
    assert message.startswith(f"{linked.repo} does not follow")
    put(linked, "src/base.py", "BASE = 2\n")
    assert again(project) == []
    assert (status(linked), status(project)) == ("", "")


def test_a_branch_that_is_gone_is_said_to_be(project: Project) -> None:
    project.git("switch", "--quiet", "main")
    project.git("branch", "--quiet", "-D", project.branch)
    assert moved(project) == Moved("")


def test_a_detached_head_at_the_tip_does_not_follow(project: Project) -> None:
    project.git("checkout", "--quiet", "--detach")
    assert land(project) == []
    assert status(project) == ""
    assert text(project, "src/base.py") == "BASE = 1\n"
    project.git("switch", "--quiet", project.branch)
    assert (status(project), text(project, "src/base.py")) == ("", "BASE = 2\n")
