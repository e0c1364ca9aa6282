"""Where a person's own folders are."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralphy.files.user_folders import cache_folder, config_folder, state_folder
from ralphy.lanes.other_paths import settings_of

FOLDERS = (config_folder, state_folder, cache_folder)
NAMES = ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME")


def test_they_are_where_a_variable_says_else_below_the_home() -> None:
    assert [folder(dict.fromkeys(NAMES, "/x")) for folder in FOLDERS] == [Path("/x")] * 3
    usual = [Path("/home/a/.config"), Path("/home/a/.local/state"), Path("/home/a/.cache")]
    assert [folder({"HOME": "/home/a"}) for folder in FOLDERS] == usual
    assert [folder({"HOME": "/home/a", **dict.fromkeys(NAMES, "x")}) for folder in FOLDERS] == usual
    assert [folder({}) for folder in FOLDERS] == [None] * 3


def test_a_relative_variable_makes_no_folder_where_ralphy_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "checkout").mkdir()
    monkeypatch.chdir(tmp_path / "checkout")
    env = {"HOME": str(tmp_path / "home"), "XDG_CONFIG_HOME": "x", "XDG_STATE_HOME": "x"}

    guarded = settings_of(env)

    assert list(Path.cwd().iterdir()) == []
    assert guarded == [tmp_path / "home" / ".config" / "ralphy", tmp_path / "home" / ".local" / "state" / "ralphy"]
