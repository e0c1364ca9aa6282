"""The documents of a feature stand in the checkout's folder on every branch, and a person's edits are never lost."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from ralphy.engine.feature.document_edits import MergedEdits, keep_aside, merge_edits
from ralphy.engine.feature.ignored_files import exclude
from ralphy.engine.feature.live_documents import (
    Edits,
    Laid,
    edited,
    ids_of,
    lay_out,
    left_to_git,
    note_ours,
)
from ralphy.files.atomic import replace_if
from tests.engine.branching import DOCUMENTS, advance, age, begun, completed, opened, pending, plan, status, tip_of
from tests.engine.building import Project
from tests.engine.driver import KilledError, dies_at
from tests.engine.nights import played_once

DONE = plan(completed(), pending("US-002"))


@played_once
def project(tmp_path: Path) -> Project:
    """The documents are laid out beside main, which is checked out."""
    made = begun(tmp_path)
    laid(made)
    return made


def laid(project: Project) -> Laid:
    with opened(project) as w:
        exclude(w.repository, f"{w.feature.path}/")
        return lay_out(w, tip_of(project))


def left(project: Project) -> tuple[str, ...]:
    with opened(project) as w:
        return left_to_git(w, tip_of(project))


def edits(project: Project) -> Edits:
    with opened(project) as w:
        return edited(w, tip_of(project))


def adopted(project: Project) -> MergedEdits:
    """What the engine does: the edits become a commit, then the folder is brought up."""
    with opened(project) as w:
        found = edited(w, tip_of(project))
        taken = merge_edits(w, tip_of(project), found, {})
        if taken.adoption:
            advance(project, {name: data.decode() for name, data in taken.adoption.items()})
        note_ours(w, ids_of(w, found.but(taken.waits)))
        lay_out(w, tip_of(project))
    return taken


def folder(project: Project) -> dict[str, str]:
    """The documents in the folder."""
    paths = (path for path in project.folder.rglob("*") if path.is_file())
    return {
        name: path.read_text()
        for path in paths
        if not (name := str(path.relative_to(project.folder))).startswith(".ralphy")
    }


def edit(project: Project, **changes: Any) -> None:
    """Change the second story in the prd.json that is in the folder."""
    found = project.prd()
    found["userStories"][1].update(changes)
    project.write("prd.json", json.dumps(found, indent=4))


def test_a_switch_to_the_branch_and_back_is_no_edit(project: Project) -> None:
    for _ in range(2):
        project.git("switch", "--quiet", project.branch)
        assert status(project) == ""
        assert not edits(project)
        laid(project)
        project.git("switch", "--quiet", "main")
        assert not edits(project)
        found = laid(project)
        assert set(found.written) == set(DOCUMENTS)
        assert found.missing == ()  # the switch took them
    assert folder(project) == DOCUMENTS


def test_an_edit_of_the_same_size_with_the_time_of_before_is_found(project: Project) -> None:
    path = project.folder / "SPEC.md"
    before, text = path.stat(), path.read_bytes()
    with opened(project) as w:
        time.sleep(0.1)  # longer than a tick of the file system's clock: the first look may keep what it has read
        assert not edited(w, tip_of(project))
        path.write_bytes(text.swapcase())
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert edited(w, tip_of(project)).files == {"SPEC.md": text.swapcase()}
        path.write_bytes(text)
        assert not edited(w, tip_of(project))


def test_an_edit_is_found_on_every_branch(project: Project) -> None:
    project.write("SPEC.md", "# Mine\n")
    assert edits(project).files == {"SPEC.md": b"# Mine\n"}
    assert laid(project).written == ()
    assert project.read("SPEC.md") == "# Mine\n"
    project.write("SPEC.md", DOCUMENTS["SPEC.md"] or "")
    project.git("switch", "--quiet", project.branch)
    project.write("SPEC.md", "# Mine\n")
    assert edits(project).files == {"SPEC.md": b"# Mine\n"}


def test_an_edit_goes_below_what_is_landed_at_the_same_time(project: Project) -> None:
    edit(project, title="Mine")
    project.write("progress.txt", "# Progress\nmine\n")
    project.write("PRD.md", "# Login\nmine\n")
    with opened(project) as w:
        tip = tip_of(project)
        landing = {"prd.json": DONE.encode(), "progress.txt": b"# Progress\nUS-001\n", "PR.md": b"# PR\n"}
        taken = merge_edits(w, tip, edited(w, tip), landing)
    assert json.loads(taken.adoption["prd.json"]) == json.loads(plan(pending(), pending("US-002", title="Mine")))
    assert json.loads(taken.files["prd.json"] or b"") == json.loads(plan(completed(), pending("US-002", title="Mine")))
    assert taken.adoption["PRD.md"] == b"# Login\nmine\n"
    assert set((taken.files["progress.txt"] or b"").splitlines()) == {b"# Progress", b"mine", b"US-001"}
    assert taken.files["PR.md"] == b"# PR\n"


def test_a_text_that_both_changed_is_set_aside_and_said(project: Project) -> None:
    project.write("SPEC.md", "# Mine\n")
    with opened(project) as w:
        tip = tip_of(project)
        taken = merge_edits(w, tip, edited(w, tip), {"SPEC.md": b"# New\n"})
        keep_aside(w, taken)
    assert taken.adoption == {"SPEC.md": b"# Mine\n"}
    assert taken.files == {"SPEC.md": b"# New\n"}
    assert taken.messages == ("SPEC.md: your version and Ralphy's cannot be merged; yours is in .ralphy/set-aside",)
    assert project.set_aside() == ["SPEC.md"]


def test_new_documents_are_edits_and_what_git_ignores_is_none(project: Project) -> None:
    project.write("stories/US-002.md", "# Two\n")
    for name in ("TASKS.md", "APPROVED", ".ralphy/runs/1/prompt.md", "SPEC.md~", "build.log"):
        project.write(name, "x")
    assert edits(project).files == {"stories/US-002.md": b"# Two\n"}


def test_a_document_that_was_removed_is_laid_out_again_and_named(tmp_path: Path) -> None:
    project = begun(tmp_path)
    laid(project)
    (project.folder / "prd.json").unlink()
    age(project)
    assert not edits(project)
    found = laid(project)
    assert found.missing == found.written == ("prd.json",)
    assert laid(project).missing == ()
    project.git("clean", "-fdxq")
    age(project)
    assert set(laid(project).missing) == set(DOCUMENTS)
    shutil.rmtree(project.folder)
    laid(project)
    assert folder(project) == DOCUMENTS


def test_the_marks_of_a_conflict_are_not_adopted(project: Project) -> None:
    project.git("switch", "--quiet", project.branch)
    project.write("SPEC.md", "# Mine\n")
    project.git("stash", "--quiet")
    assert not edits(project)
    advance(project, {"SPEC.md": "# New\n"})
    laid(project)
    project.git("reset", "--quiet", "--hard")
    with pytest.raises(AssertionError, match="stash pop"):
        project.git("stash", "pop", "--quiet")
    assert edits(project).broken == {"SPEC.md": "has conflict markers"}


def test_an_old_commit_of_the_branch_is_looked_at_in_peace(project: Project) -> None:
    old = tip_of(project)
    advance(project, {"prd.json": DONE, "QA_REPORT.md": "# QA\n"})
    laid(project)
    project.git("checkout", "--quiet", "--detach", old)
    assert not edits(project)
    laid(project)
    assert left(project) == ("prd.json",)
    assert project.read("QA_REPORT.md") == "# QA\n"  # of which the old commit knows nothing
    assert status(project) == ""
    project.git("switch", "--quiet", project.branch)
    assert project.read("prd.json") == DONE
    assert not edits(project)


def test_an_edit_at_an_old_commit_is_merged_with_what_came_since(project: Project) -> None:
    old = tip_of(project)
    advance(project, {"prd.json": DONE})
    laid(project)
    project.git("checkout", "--quiet", "--detach", old)
    edit(project, title="Mine")
    adopted(project)
    tip = project.git("show", f"{project.branch}:{project.path}/prd.json")
    assert tip + "\n" == plan(completed(), pending("US-002", title="Mine"))
    assert not edits(project)


def test_a_reset_amending_and_rebasing_are_no_edits(project: Project) -> None:
    for text in ("# New\n", "# Newer\n"):
        advance(project, {"prd.json": DONE, "SPEC.md": text})
    laid(project)
    project.git("commit", "--quiet", "--allow-empty", "-m", "ahead")
    project.git("switch", "--quiet", project.branch)
    project.git("reset", "--quiet", "--hard", "HEAD~2")
    assert not edits(project)
    laid(project)
    assert status(project) == ""
    project.write("SPEC.md", "# Mine\n")
    project.git("commit", "--quiet", "--amend", "--all", "--no-edit")
    assert not edits(project)
    project.git("rebase", "--quiet", "main")
    assert not edits(project)
    assert laid(project).written == ()


def test_a_commit_by_hand_is_where_the_next_edit_begins(project: Project) -> None:
    project.git("switch", "--quiet", project.branch)
    edit(project, title="Committed")
    project.git("commit", "--quiet", "--all", "-m", "mine")
    laid(project)
    project.git("switch", "--quiet", "main")
    laid(project)
    assert project.story("US-002")["title"] == "Committed"
    edit(project, priority=7)
    adopted(project)
    assert (project.story("US-002")["title"], project.story("US-002")["priority"]) == ("Committed", 7)


def test_a_rebase_that_has_stopped_is_left_alone(project: Project) -> None:
    advance(project, {}, {"src/base.py": "BASE = 2\n"})
    (project.repo / "src" / "base.py").write_text("BASE = 3\n")
    project.git("commit", "--quiet", "--all", "-m", "ahead")
    project.git("switch", "--quiet", project.branch)
    with pytest.raises(AssertionError, match="rebase"):
        project.git("rebase", "--quiet", "main")
    project.write("SPEC.md", "# In between\n")
    assert not edits(project)
    assert laid(project) == Laid()


def test_a_switch_that_goes_on_is_waited_for(project: Project) -> None:
    (project.repo / ".git" / "index.lock").touch()
    project.write("prd.json", plan(pending("US-009")))  # Git has written the files, and not yet HEAD
    assert not edits(project)
    assert laid(project) == Laid()


def test_files_that_git_writes_with_cr_are_as_the_branch_has_them(project: Project) -> None:
    project.git("config", "core.autocrlf", "true")
    project.git("switch", "--quiet", project.branch)
    assert b"\r\n" in (project.folder / "SPEC.md").read_bytes()
    assert not edits(project)
    project.git("switch", "--quiet", "main")
    assert laid(project).missing == ()


def test_a_link_in_the_place_of_a_document_is_not_written_through(project: Project) -> None:
    outside = project.repo.parent / "outside"
    outside.write_text("mine")
    (project.folder / "SPEC.md").unlink()
    (project.folder / "SPEC.md").symlink_to(outside)
    advance(project, {"SPEC.md": "# New\n"})
    laid(project)
    assert outside.read_text() == "mine"
    assert edits(project).broken == {"SPEC.md": "is not a plain file"}


def test_markers_that_a_branch_holds_are_not_laid_out(project: Project) -> None:
    advance(project, {"APPROVED": "", "STOP": ""})
    laid(project)
    assert not (project.folder / "APPROVED").exists()
    assert not (project.folder / "STOP").exists()


@pytest.mark.parametrize("milestone", ["documents_noted", "documents_laid_out"])
def test_a_kill_leaves_nothing_that_looks_like_an_edit(project: Project, milestone: str) -> None:
    advance(project, {"prd.json": DONE})
    with pytest.raises(KilledError), opened(project) as w:
        w.milestone = dies_at(milestone)
        lay_out(w, tip_of(project))
    advance(project, {"prd.json": plan(completed(), completed("US-002"))})
    assert not edits(project)
    assert laid(project).written == ("prd.json",)


def test_an_edit_of_the_last_moment_is_put_back(tmp_path: Path) -> None:
    path, seen = tmp_path / "SPEC.md", []
    path.write_text("old")

    def is_expected(found: bytes | None) -> bool:
        seen.append(found)
        if len(seen) == 1:
            path.write_text("mine")  # in place, straight after the look
            return True
        return found == b"old"

    assert not replace_if(path, b"new", is_expected)
    assert [(each.name, each.read_text()) for each in tmp_path.iterdir()] == [("SPEC.md", "mine")]


def test_a_stash_on_the_branch_is_no_edit_and_its_return_is_one(project: Project) -> None:
    project.git("switch", "--quiet", project.branch)
    project.write("SPEC.md", "# Mine\n")
    project.git("stash", "--quiet")
    assert not edits(project)
    project.git("stash", "pop", "--quiet")
    assert edits(project).files == {"SPEC.md": b"# Mine\n"}
