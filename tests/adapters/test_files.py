"""Files are replaced whole or not at all, and reading never blocks, never follows a link."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralphy.errors import EnvironmentProblem
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular, read_text, signature


@pytest.mark.parametrize("durable", [True, False])
@pytest.mark.parametrize("data", [b"", b"new", bytes(range(256)) * 1200], ids=["empty", "short", "long"])
def test_a_file_is_replaced(tmp_path: Path, data: bytes, durable: bool) -> None:
    path = tmp_path / "a" / "b" / "file"
    for _ in range(2):
        replace_file(path, data, durable=durable)
        assert path.read_bytes() == data
    assert [found.name for found in path.parent.iterdir()] == ["file"]


def test_a_link_is_replaced_and_what_it_leads_to_is_not(tmp_path: Path) -> None:
    target, path = tmp_path / "target", tmp_path / "file"
    target.write_text("theirs")
    path.symlink_to(target)
    replace_file(path, b"ours")
    assert target.read_text() == "theirs"
    assert not path.is_symlink()
    assert path.read_text() == "ours"


def test_what_lies_in_the_way_of_the_temporary_file_does_no_harm(tmp_path: Path) -> None:
    path, theirs = tmp_path / "file", tmp_path / "theirs"
    temporary = tmp_path / f".file.tmp-{os.getpid()}"
    theirs.write_text("theirs")
    temporary.symlink_to(theirs)
    replace_file(path, b"one")
    os.mkfifo(temporary)
    replace_file(path, b"two")
    temporary.write_text("left by a process that died")
    temporary.chmod(0o444)
    replace_file(path, b"three")
    assert (path.read_bytes(), theirs.read_text()) == (b"three", "theirs")


def test_a_place_that_cannot_be_written_is_said_and_the_old_file_stays(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("old")
    for path in (tmp_path / "folder", tmp_path / "file" / "below"):
        with pytest.raises(EnvironmentProblem) as caught:
            replace_file(path, b"new")
        assert caught.value.where == str(path)
    assert (tmp_path / "file").read_text() == "old"
    assert sorted(found.name for found in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.fault("F1")
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    replace_file(path, b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EnvironmentProblem, match="No space left"):
        replace_file(path, b"new")
    assert [(found.name, found.read_bytes()) for found in tmp_path.iterdir()] == [("file", b"old")]


def test_only_a_regular_file_is_read_up_to_a_size_whatever_its_bytes(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"12345")
    (tmp_path / "link").symlink_to(file)
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert read_regular(file) == b"12345"
    for name in ("link", "folder", "pipe", "nope", "file/below", "x" * 300):
        assert read_regular(tmp_path / name) is None, name
    assert read_regular(Path("/dev/null")) is None

    (tmp_path / "file").write_bytes(b"12345")
    assert read_regular(tmp_path / "file", 5) == b"12345"
    assert read_regular(tmp_path / "file", 4) is None
    assert read_text(tmp_path / "file", 4) == ""

    (tmp_path / "file").write_bytes(b"caf\xc3\xa9 \xff\n")
    assert read_text(tmp_path / "file") == "café �\n"
    assert read_text(tmp_path / "nope") == ""


def test_a_signature_changes_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert signature(path) is None
    replace_file(path, b"1")
    seen = {signature(path)}
    assert signature(path) in seen
    for change in (
        lambda: replace_file(path, b"2"),
        lambda: path.write_bytes(b"22"),
        lambda: path.chmod(0o600),
        path.unlink,
    ):
        change()
        assert signature(path) not in seen
        seen.add(signature(path))
    path.symlink_to(tmp_path)
    assert signature(path) not in seen
