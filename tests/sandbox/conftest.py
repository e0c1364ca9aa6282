"""The two sandboxes around a small repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sandbox.inside import Box, boxed, place_in


@pytest.fixture
def closed(sandbox: None, git_repo: Path) -> Box:
    return boxed(place_in(git_repo), "closed")


@pytest.fixture(params=["open", "closed"])
def either(request: pytest.FixtureRequest, sandbox: None, git_repo: Path) -> Box:
    return boxed(place_in(git_repo), request.param)
