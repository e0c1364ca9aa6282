"""The two sandboxes around a lane of a small repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import RunGit
from tests.sandbox.inside import Box, Boxes


@pytest.fixture
def boxes(sandbox: None, git_repo: Path, git: RunGit, tmp_path: Path) -> Iterator[Boxes]:
    made = Boxes(git_repo, tmp_path / "lanes")
    git("add", "--all", "--force", ":!docs/features/login/.ralphy")
    git("commit", "--quiet", "-m", "a feature")
    yield made
    made.close()


@pytest.fixture
def closed(boxes: Boxes) -> Box:
    return boxes("closed")


@pytest.fixture(params=["in the sandbox", "without"])
def walls(request: pytest.FixtureRequest) -> str:
    """Is a project worked on in the sandbox, or without?"""
    if request.param == "in the sandbox":
        request.getfixturevalue("sandbox")
    return str(request.param)


@pytest.fixture(params=["open", "closed"])
def either(request: pytest.FixtureRequest, boxes: Boxes) -> Box:
    return boxes(request.param)
