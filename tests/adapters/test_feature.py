"""The feature folder: how one is named and found, what its files are worth, and which marker is a statement."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralphy.documents.feature_folder import Feature, artifact_digest, find, listed, read_artifact, read_marker
from ralphy.errors import InvalidInput, NotFound
from ralphy.pipeline.model import Marker

FEATURES = "docs/features"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository's root with the features login and search."""
    for name in ("login", "search"):
        folder = tmp_path / "repo" / FEATURES / name
        folder.mkdir(parents=True)
        (folder / "PRD.md").write_text(f"# {name}\n")
    return tmp_path / "repo"


def found(root: Path, wanted: str, cwd: Path | None = None) -> Feature:
    return find(root, FEATURES, wanted, cwd or root)


# names and places


LOGIN = "docs/features/login"


@pytest.mark.parametrize(
    ("cwd", "wanted", "path"),
    [
        ("", LOGIN, LOGIN),
        ("", f"./{LOGIN}/", LOGIN),
        ("", f"docs/../{LOGIN}", LOGIN),
        (LOGIN, ".", LOGIN),
        (LOGIN, "../search", "docs/features/search"),
        ("", "tasks", "tasks"),
        ("", "./tasks", "tasks"),
        ("", "search", "docs/features/search"),
        ("", "./search", "search"),
        ("", "short", LOGIN),
    ],
)
def test_a_feature_is_found_by_its_path_and_any_folder_can_be_one(root: Path, cwd: str, wanted: str, path: str) -> None:
    for folder in ("tasks", "search"):
        (root / folder).mkdir()
    (root / "short").symlink_to(root / LOGIN)
    assert found(root, wanted, root / cwd).path == path


@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        (".", "root cannot be a feature"),
        (".git/tasks", "inside the Git folder"),
        ("..", "outside the repository"),
        ("../outside", "outside the repository"),
        ("leads-out", "outside the repository"),
    ],
)
@pytest.mark.fault("F9")
def test_what_lies_elsewhere_is_no_feature(root: Path, tmp_path: Path, wanted: str, why: str) -> None:
    (tmp_path / "outside").mkdir()
    (root / ".git" / "tasks").mkdir(parents=True)
    (root / FEATURES / "leads-out").symlink_to(tmp_path / "outside")
    with pytest.raises(InvalidInput, match=why):
        found(root, wanted)


ABSENT = ["nope", "login\n", "x\n", "a b", "-x", "é", "", "x" * 65, "x" * 5000, "a\0b", "../nope", "docs/nope"]


def test_what_is_not_there_is_not_found_and_what_there_is_is_named(root: Path) -> None:
    for wanted in ABSENT:
        with pytest.raises((NotFound, InvalidInput)) as caught:
            found(root, wanted)
        assert len(str(caught.value)) < 200
    for wanted, hint in (("logn", "did you mean login?"), ("export", "there are: login, search")):
        with pytest.raises(NotFound) as refused:
            found(root, wanted)
        assert refused.value.hint == hint


def test_only_folders_with_the_name_of_a_feature_and_something_to_work_on_are_listed(root: Path) -> None:
    for name in ("x\n", "a b", "-x", ".hidden", "é", "a.b", "x" * 65):
        (root / FEATURES / name).mkdir()
        (root / FEATURES / name / "PRD.md").touch()
        with pytest.raises(InvalidInput, match="not a feature name"):
            found(root, f"docs/features/{name}")
    for name, file in (("a-spec", "SPEC.md"), ("b-stories", "prd.json"), ("c-notes", "notes.md"), ("d-empty", "")):
        (root / FEATURES / name).mkdir()
        if file:
            (root / FEATURES / name / file).touch()
    (root / FEATURES / "e-file").touch()
    (root / FEATURES / "f-link").symlink_to(root / FEATURES / "login")
    assert [it.name for it in listed(root, FEATURES)] == ["a-spec", "b-stories", "login", "search"]
    assert list(listed(root, "nowhere")) == []


# artifacts


def test_only_a_plain_file_with_something_in_it_is_an_artifact_known_by_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "SPEC.md"
    assert read_artifact(path) is None
    for text in ("# One\n", "# Two\n"):
        path.write_text(text)
        found = read_artifact(path)
        assert found is not None
        assert found.digest == artifact_digest(text.encode())
        assert found.ctime_ns == path.stat().st_ctime_ns
    (tmp_path / "empty").touch()
    (tmp_path / "blank").write_text(" \n\t\n")
    (tmp_path / "link").symlink_to("SPEC.md")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    path.with_name("gone").touch()
    path.with_name("gone").unlink()
    for name in ("empty", "blank", "link", "folder", "pipe", "gone"):
        assert read_artifact(tmp_path / name) is None, name


# markers


@pytest.mark.fault("S1")
def test_a_marker_is_a_plain_file_with_a_text_whose_mtime_makes_it_no_newer(tmp_path: Path) -> None:
    path = tmp_path / "REJECTED"
    assert read_marker(path) is None
    path.touch()
    os.utime(path, (2_000_000_000, 2_000_000_000))
    marker = read_marker(path)
    assert marker == Marker(path.stat().st_ctime_ns) and marker.ctime_ns < 2_000_000_000 * 10**9
    path.write_bytes(b"too large\xff\n")
    marker = read_marker(path)
    assert marker and (marker.text, marker.invalid) == ("too large�\n", "")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a file away")
@pytest.mark.fault("S1")
def test_a_marker_belongs_to_the_user_or_to_the_folders_owner(tmp_path: Path) -> None:
    path = tmp_path / "APPROVED"
    path.touch()
    os.chown(path, 4242, 4242)
    marker = read_marker(path)
    assert marker and marker.invalid == "belongs to user 4242"
    os.chown(tmp_path, 4242, 4242)
    marker = read_marker(path)
    assert marker and marker.invalid == ""


@pytest.mark.fault("S1")
def test_a_marker_in_a_folder_of_everybody_is_no_statement(tmp_path: Path) -> None:
    path = tmp_path / "APPROVED"
    path.touch()
    tmp_path.chmod(0o777)
    marker = read_marker(path)
    assert marker and marker.invalid.startswith("is in a world-writable folder")
    tmp_path.chmod(0o775)
    assert (read_marker(path) or marker).invalid == ""


@pytest.mark.fault("S1")
def test_what_is_judged_is_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A link that takes the marker's place between the look and the reading is not followed."""
    path, secret = tmp_path / "APPROVED", tmp_path / "secret"
    path.touch()
    secret.write_text("not a remark")
    opened = os.open

    def swapped(name: Path, flags: int, dir_fd: int | None = None) -> int:
        path.unlink()
        path.symlink_to(secret)
        return opened(name, flags, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapped)
    marker = read_marker(path)
    assert marker and marker.invalid.startswith("cannot be read")
    assert marker.text == ""
