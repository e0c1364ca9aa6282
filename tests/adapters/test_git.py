"""Git as plain verbs: where the repository is, where its refs stand, and how they are moved."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from ralphy.errors import Conflict, EnvironmentProblem, NotFound
from ralphy.git import commands as verbs
from ralphy.git.commands import Repository, discover, head_of, refs_of, resolve
from ralphy.git.move_refs import RefMover
from tests.conftest import RunGit, program


@pytest.fixture
def repository(git_repo: Path) -> Repository:
    return discover(git_repo)


@pytest.fixture
def mover(repository: Repository) -> RefMover:
    return RefMover(repository)


def commit(git: RunGit, message: str = "more") -> str:
    git("commit", "--quiet", "--allow-empty", "--message", message)
    return git("rev-parse", "HEAD")


# discover


@pytest.mark.fault("F10", "G12")
def test_where_no_repository_can_be_worked_in_is_refused_in_words(git_repo: Path, tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff\xfe"))
    subprocess.run(["git", "init", "-q", folder], check=True)
    assert discover(folder).root == folder  # a name that is no text is found
    subprocess.run(["git", "init", "-q", tmp_path / "a\nb"], check=True)
    with pytest.raises(EnvironmentProblem, match="line break"):
        discover(tmp_path / "a\nb")
    with pytest.raises(NotFound, match="not in a git repository"):
        discover(tmp_path)
    with pytest.raises(NotFound, match="no directory"):
        discover(tmp_path / "nope")
    subprocess.run(["git", "init", "-q", "--bare", tmp_path / "bare"], check=True)
    with pytest.raises(EnvironmentProblem, match="bare"):
        discover(tmp_path / "bare")
    with pytest.raises(EnvironmentProblem, match="git is not on PATH"):
        discover(git_repo, {"PATH": str(tmp_path)})


# what git is kept from


@pytest.mark.fault("G13")
def test_nothing_of_the_repository_is_run(repository: Repository, git_repo: Path, git: RunGit) -> None:
    trap = program(git_repo.parent / "trap", 'touch "$0.sprung"')
    hooks = git_repo / ".git" / "hooks"
    for hook in ("reference-transaction", "post-index-change", "post-checkout", "pre-commit"):
        (hooks / hook).symlink_to(trap)
    for key in ("core.fsmonitor", "core.pager", "diff.external", "core.editor", "core.sshCommand"):
        git("config", key, str(trap))
    with_hooks = [path.name for path in git_repo.parent.iterdir()]
    RefMover(repository).move([("refs/heads/new", head_of(repository), "")])
    repository.run("status", "--porcelain")
    repository.run("read-tree", "--reset", "-u", "HEAD")
    repository.run("diff-files", "--name-only")
    repository.run("log", "-1")
    assert [path.name for path in git_repo.parent.iterdir()] == with_hooks


def test_replace_refs_are_ignored(repository: Repository, git: RunGit) -> None:
    old, new = git("rev-parse", "HEAD"), commit(git, "forged")
    git("replace", old, new)
    assert "forged" in git("log", "-1", "--format=%s", old)
    assert repository.text("log", "-1", "--format=%s", old) == "chore: begin"


def test_lines_are_counted_whatever_lies_in_the_working_tree(
    repository: Repository, git_repo: Path, git: RunGit
) -> None:
    old = commit(git)
    (git_repo / "a.txt").write_text("one\ntwo\n", encoding="utf-8")
    (git_repo / "b.bin").write_bytes(b"\0\1\n\n")
    git("add", "--all")
    middle = commit(git)
    (git_repo / "a.txt").write_text("two\nthree\nfour\n", encoding="utf-8")
    git("add", "--all")
    new = commit(git)
    os.mkfifo(git_repo / ".gitattributes")
    assert verbs.lines_changed(repository, old, middle) == (2, 0)
    assert verbs.lines_changed(repository, middle, new) == (2, 1)
    assert verbs.lines_changed(repository, new, new) == (0, 0)


# refs


def test_a_ref_is_found_loose_and_packed_and_one_that_is_not_there_is_not(repository: Repository, git: RunGit) -> None:
    absent = ["refs/heads/nope", "refs/heads", "refs/heads/main/below", "refs/heads/ma"]
    assert [resolve(repository, ref) for ref in absent] == [""] * 4
    for name in ("plain", "deep/er/still", "é", "a\u2028b", "a\x85b"):
        ref, head = f"refs/heads/{name}", commit(git)
        git("update-ref", ref, head)
        assert resolve(repository, ref) == head
        git("pack-refs", "--all")
        assert resolve(repository, ref) == head
        later = commit(git)
        git("update-ref", ref, later)
        assert resolve(repository, ref) == later
    assert [resolve(repository, ref) for ref in absent] == [""] * 4


def test_a_branch_whose_commit_is_missing_is_said_to_be_damaged(repository: Repository, git: RunGit) -> None:
    missing = "1" * 40
    (repository.git_dir / "refs" / "heads" / "work").write_text(f"{missing}\n")
    assert resolve(repository, "refs/heads/work") == ""
    assert refs_of(repository, ("refs/heads/work",)) == {"refs/heads/work": missing}
    with pytest.raises(EnvironmentProblem, match="the commit of the branch work is missing"):
        verbs.branch_in_the_way(repository, "work")


# moving refs


def test_refs_move_all_together(repository: Repository, mover: RefMover, git: RunGit) -> None:
    old, new = git("rev-parse", "HEAD"), commit(git)
    kept = "refs/ralphy/login/US-001/attempt-1"
    mover.move([("refs/heads/work", new, ""), (kept, old, ""), ("refs/heads/main", old, new)])
    assert [resolve(repository, ref) for ref in ("refs/heads/work", kept, "refs/heads/main")] == [new, old, old]
    mover.move([("refs/heads/work", old, new)])
    assert git("rev-parse", "work") == old


def test_a_mover_sees_what_others_did_meanwhile(mover: RefMover, git: RunGit) -> None:
    old, new = git("rev-parse", "HEAD"), commit(git)
    mover.move([("refs/heads/work", old, "")])
    git("pack-refs", "--all")
    mover.move([("refs/heads/work", new, old)])
    git("pack-refs", "--all")
    git("branch", "--force", "work", old)
    with pytest.raises(Conflict):
        mover.move([("refs/heads/work", old, new)])
    git("branch", "-D", "work")
    mover.move([("refs/heads/work", new, "")])
    assert git("rev-parse", "work") == new


def test_when_one_ref_has_moved_none_moves(repository: Repository, mover: RefMover, git: RunGit) -> None:
    old, new = git("rev-parse", "HEAD"), commit(git)
    with pytest.raises(Conflict, match="a branch moved while Ralphy worked"):
        mover.move([("refs/heads/first", new, ""), ("refs/heads/main", new, old)])
    assert resolve(repository, "refs/heads/first") == ""
    assert git("rev-parse", "main") == new
    mover.move([("refs/heads/first", new, "")])
    assert resolve(repository, "refs/heads/first") == new


def test_a_ref_that_must_not_be_there_or_a_name_in_the_way_is_said(mover: RefMover, git: RunGit) -> None:
    new = commit(git)
    git("branch", "taken", "HEAD~1")
    for pack in (["rev-parse"], ["pack-refs", "--all"]):  # loose, then packed
        git(*pack)
        with pytest.raises(Conflict, match="moved while Ralphy worked"):
            mover.move([("refs/heads/taken", new, "")])
        assert git("rev-parse", "taken") == git("rev-parse", "HEAD~1")
    git("branch", "ralph")
    with pytest.raises(Conflict, match="another branch's name stands in the way") as caught:
        mover.move([("refs/heads/ralph/login", new, "")])
    assert caught.value.hint == "git branch -m OLD NEW"


@pytest.mark.parametrize("is_done", [False, True])
@pytest.mark.fault("P3")
def test_a_git_that_is_killed_while_it_moves_refs_holds_up_nobody(
    git_repo: Path, git: RunGit, tmp_path: Path, is_done: bool
) -> None:
    """Its lock goes with it, and what it had not done is done by another one; what it had done is not done twice."""
    real, once, lock = shutil.which("git"), tmp_path / "once", git_repo / ".git" / "refs" / "heads" / "work.lock"
    dies = f'{real} "$@"; kill -9 $$' if is_done else f"touch {lock}; kill -9 $$"
    script = f'case "$*" in *update-ref*) mkdir {once} && {{ {dies}; }};; esac\nexec {real} "$@"'
    fake = program(tmp_path / "bin" / "git", script)
    repository = discover(git_repo, {**os.environ, "PATH": f"{fake.parent}:{os.environ['PATH']}"})
    RefMover(repository).move([("refs/heads/work", git("rev-parse", "HEAD"), "")])
    assert once.is_dir()
    assert git("rev-parse", "work") == git("rev-parse", "HEAD")
    assert not lock.exists()
    assert not (repository.checkout_dir / "moving.json").exists()


def test_a_git_that_was_killed_with_ralphy_leaves_no_lock_of_a_checked_out_branch(git_repo: Path, git: RunGit) -> None:
    repository, head = discover(git_repo), git("rev-parse", "HEAD")
    branch = git("symbolic-ref", "HEAD")
    gone = subprocess.Popen(["true"])
    gone.wait(timeout=60)
    repository.checkout_dir.mkdir(parents=True, exist_ok=True)
    (repository.checkout_dir / "moving.json").write_text(json.dumps({"pid": gone.pid, "refs": [branch]}))
    for lock in ("HEAD.lock", f"{branch}.lock"):
        (git_repo / ".git" / lock).touch()
    new = git("commit-tree", "-p", head, "-m", "next", f"{head}^{{tree}}")
    RefMover(repository).move([(branch, new, head)])
    assert git("rev-parse", "HEAD") == new


# the checkout's index
