"""Folders that an agent could write are walked and removed without following links, however deep they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ralphy.files.tree_walk import make_accessible, remove, size_of, walk

DEEP = 3000


def nested(top: Path, depth: int = DEEP) -> None:
    """Folders in folders, and a file in the last: deeper than Python recurses and longer than a path may be."""
    top.mkdir(parents=True)
    fd = os.open(top, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("d", dir_fd=fd)
        inner = os.open("d", os.O_RDONLY, dir_fd=fd)
        os.close(fd)
        fd = inner
    with open(os.open("file", os.O_WRONLY | os.O_CREAT, dir_fd=fd), "w") as out:
        out.write("12345")
    os.close(fd)


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    (tmp_path / "mine" / "inner").mkdir(parents=True)
    (tmp_path / "mine" / "letter").write_text("dear")
    return tmp_path / "mine"


@pytest.fixture(autouse=True)
def cleared(tmp_path: Path) -> Iterator[None]:
    """pytest itself fails over folders that are too deep for it."""
    yield
    remove(tmp_path)


def test_a_walk_reaches_the_deepest_file_and_its_size_counts(tmp_path: Path) -> None:
    nested(tmp_path / "tree")
    found = list(walk(tmp_path / "tree"))
    assert len(found) == DEEP + 1
    assert max(found, key=lambda one: len(one.path)).name == "file"
    assert size_of(tmp_path / "tree") == 5


def test_a_walk_names_links_and_does_not_enter_them(tmp_path: Path, outside: Path) -> None:
    (tmp_path / "tree" / "a").mkdir(parents=True)
    (tmp_path / "tree" / "a" / "out").symlink_to(outside)
    (tmp_path / "tree" / "round").symlink_to(tmp_path / "tree")
    assert {found.path for found in walk(tmp_path / "tree")} == {"a", "a/out", "round"}
    assert list(walk(tmp_path / "tree" / "round")) == []


def test_nested_folders_are_removed(tmp_path: Path) -> None:
    nested(tmp_path / "tree")
    (tmp_path / "tree" / "beside").write_text("x")
    assert remove(tmp_path / "tree")
    assert list(tmp_path.iterdir()) == []


def a_link_in(folder: str) -> Callable[[Path, Path], None]:
    def make(at: Path, outside: Path) -> None:
        (at / folder).mkdir(parents=True)
        (at / folder / "out").symlink_to(outside)

    return make


def a_shut_folder(at: Path, _: Path) -> None:
    (at / "a" / "b").mkdir(parents=True)
    (at / "a").chmod(0)
    at.chmod(0o500)


SHAPES: dict[str, Callable[[Path, Path], None]] = {
    "a link": lambda at, outside: at.symlink_to(outside),
    "a link in a folder": a_link_in("."),
    "a link deeper": a_link_in("a/b"),
    "a pipe": lambda at, _: os.mkfifo(at),
    "a shut folder": a_shut_folder,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_what_links_lead_to_stays(tmp_path: Path, outside: Path, shape: str) -> None:
    SHAPES[shape](tmp_path / "tree", outside)
    assert remove(tmp_path / "tree")
    assert not os.path.lexists(tmp_path / "tree")
    assert (outside / "letter").read_text() == "dear"
    assert (outside / "inner").is_dir()


def test_a_link_in_the_place_of_a_shut_folder_opens_nothing_elsewhere(tmp_path: Path) -> None:
    for name in ("shut", "elsewhere"):
        (tmp_path / name).mkdir(mode=0)
    (tmp_path / "link").symlink_to("elsewhere")
    parent = os.open(tmp_path, os.O_RDONLY)
    for name in ("shut", "link", "gone"):
        make_accessible(parent, name)
    os.close(parent)
    modes = [(tmp_path / name).lstat().st_mode & 0o777 for name in ("shut", "elsewhere")]
    (tmp_path / "elsewhere").chmod(0o700)
    assert modes == [0o700, 0]
