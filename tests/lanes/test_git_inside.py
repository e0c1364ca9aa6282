"""What Git in a lane gives is looked at outside before anything of it counts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ralphy.errors import EnvironmentProblem
from ralphy.git.commands import discover
from ralphy.lanes.git_inside import GitInside, LaneProblem
from tests.conftest import RunGit


def raw_tree(repo: Path, name: str, oid: str) -> str:
    """The id of a tree with one file of that name, whatever Git thinks of it."""
    data = b"100644 " + name.encode() + b"\0" + bytes.fromhex(oid)
    words = ["git", "-C", str(repo), "hash-object", "-t", "tree", "-w", "--stdin", "--literally"]
    return subprocess.run(words, input=data, check=True, capture_output=True).stdout.decode().strip()


def imported(root: Path, pack: Path) -> None:
    GitInside(discover(root), pack.parent, pack.parent)._import(pack)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    path = tmp_path / "other"
    subprocess.run(["git", "init", "-q", path], check=True)
    return path


def packed(other: Path, name: str) -> tuple[str, Path]:
    """(a tree with one file of that name, a pack of both)."""
    (other / "f").write_text(f"content of {name}")
    words = ["git", "-C", str(other), "hash-object", "-w", "f"]
    blob = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
    tree = raw_tree(other, name, blob)
    pack = other / "sent.pack"
    with pack.open("wb") as out:
        words = ["git", "-C", str(other), "pack-objects", "--stdout", "-q"]
        subprocess.run(words, input=f"{blob}\n{tree}\n".encode(), stdout=out, check=True)
    return tree, pack


@pytest.mark.parametrize("name", [".git", ".GIT", ".", "..", "a/b", "git~1"])
def test_a_tree_with_a_forbidden_name_does_not_arrive(git_repo: Path, git: RunGit, other: Path, name: str) -> None:
    tree, pack = packed(other, name)
    with pytest.raises(EnvironmentProblem):
        imported(git_repo, pack)
    assert tree not in git("cat-file", "--batch-check", "--batch-all-objects")


def test_a_sound_tree_arrives(git_repo: Path, git: RunGit, other: Path) -> None:
    tree, pack = packed(other, "fine")
    imported(git_repo, pack)
    assert git("ls-tree", "--name-only", tree) == "fine"


def test_a_damaged_pack_does_not_arrive(git_repo: Path, git: RunGit, other: Path) -> None:
    _, pack = packed(other, "fine")
    before = git("cat-file", "--batch-check", "--batch-all-objects")
    pack.write_bytes(pack.read_bytes()[:-30])
    with pytest.raises(EnvironmentProblem):
        imported(git_repo, pack)
    # A blob alone, which nothing refers to, may have been written before the end was missing.
    assert [row for row in git("cat-file", "--batch-check", "--batch-all-objects").splitlines()
            if row not in before and " tree " in row] == []  # fmt: skip


def test_a_link_in_the_place_of_a_pack_is_not_followed(git_repo: Path, other: Path) -> None:
    _, pack = packed(other, "fine")
    link = other / "link"
    link.symlink_to(pack)
    with pytest.raises(OSError, match="symbolic"):
        imported(git_repo, link)


def test_a_lane_without_its_tree_is_reported_as_removed(git_repo: Path, tmp_path: Path) -> None:
    git = GitInside(discover(git_repo), tmp_path, tmp_path / "tree")

    with pytest.raises(LaneProblem, match="it was removed"):
        git.look("0" * 40)
