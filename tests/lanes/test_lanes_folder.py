"""Lanes lie below the user's cache, or where `lanes.dir` says, and never in the repository."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from ralphy.config.values import Lanes
from ralphy.errors import EnvironmentProblem, InvalidInput
from ralphy.git.commands import discover
from ralphy.lanes.lanes_folder import as_in_the_checkout, checkout_folder, lanes_folder


@pytest.mark.parametrize(("dir_", "env", "expected"), [
    ("", {"HOME": "/h"}, "/h/.cache/ralphy/lanes"), ("", {"HOME": "/h", "XDG_CACHE_HOME": "/c"}, "/c/ralphy/lanes"),
    ("", {"HOME": "/h", "XDG_CACHE_HOME": "c"}, "/h/.cache/ralphy/lanes"), ("~/l", {"HOME": "/h"}, "/h/l"),
    ("/big/lanes", {}, "/big/lanes"),
])  # fmt: skip
def test_the_setting_comes_before_the_cache(git_repo: Path, dir_: str, env: dict[str, str], expected: str) -> None:
    assert lanes_folder(discover(git_repo), Lanes(dir=dir_), env) == Path(expected)


@pytest.mark.parametrize("inside", ["", "lanes", ".git/lanes"])
def test_lanes_in_the_repository_are_refused(git_repo: Path, tmp_path: Path, inside: str) -> None:
    (tmp_path / "link").symlink_to(git_repo)
    for root in (git_repo, tmp_path / "link"):
        with pytest.raises(InvalidInput, match="is in the repository"):
            lanes_folder(discover(git_repo), Lanes(dir=str(root / inside)), {})


def test_without_a_home_there_must_be_a_setting(git_repo: Path) -> None:
    with pytest.raises(EnvironmentProblem, match="HOME is not set"):
        lanes_folder(discover(git_repo), Lanes(), {})


@pytest.mark.parametrize(("text", "expected"), [
    ("edits LANE/src/a.py and ROOT/b.py", "edits src/a.py and b.py"), ('"LANE/a" (LANE/b)', '"a" (b)'),
    ("--file=LANE/a:3, file:LANE/b", "--file=a:3, file:b"), ("/other/1/tree/a", "/other/1/tree/a"),
    ("/a" * 100_000, "/a" * 100_000),
], ids=["plain", "quoted", "behind a sign", "of others", "long"])  # fmt: skip
def test_paths_in_lanes_are_printed_relative_to_the_root(git_repo: Path, text: str, expected: str) -> None:
    repository = discover(git_repo)
    lane = f"/home/me/.cache/ralphy/lanes/{checkout_folder(repository)}/clean-1/tree"
    before = time.process_time()
    assert as_in_the_checkout(text.replace("LANE", lane).replace("ROOT", str(git_repo)), repository) == expected
    assert time.process_time() - before < 5
