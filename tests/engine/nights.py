"""A night that several tests begin after: it is played once, and each test has what it left, at the same place."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import set_home
from tests.engine.building import Project

_PLAYED: dict[Path, Project] = {}


def played_once(play: Callable[[Path], Project]) -> Any:
    """The fixture of that name. Paths stand in what a night leaves: a copy of it must be where the night was."""

    @pytest.fixture(name=play.__name__)
    def after(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Project:
        place = tmp_path_factory.getbasetemp() / "nights" / f"{play.__module__}.{play.__name__}"
        left = place.with_name(f"{place.name}.left")
        shutil.rmtree(place, ignore_errors=True)
        if place in _PLAYED:
            shutil.copytree(left, place, symlinks=True)
        set_home(place / "home", monkeypatch)
        if place not in _PLAYED:
            project = play(place)
            shutil.copytree(place, left, symlinks=True)
            _PLAYED[place] = project
        return replace(_PLAYED[place], env=dict(_PLAYED[place].env))

    return after
