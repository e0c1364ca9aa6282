"""Lanes lie below the user's cache, or where `lanes.dir` says, and never in the repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralphy.config.values import Lanes
from ralphy.errors import EnvironmentProblem, InvalidInput
from ralphy.git.commands import discover
from ralphy.lanes.lanes_folder import lanes_folder


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
