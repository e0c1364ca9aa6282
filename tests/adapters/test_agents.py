"""Every preset has an agent, and the engine knows nothing of any but the protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "ralphy"


@pytest.mark.parametrize("package", ["config", "pipeline", "state", "engine"])
def test_nothing_but_the_table_of_presets_names_an_agent(package: str) -> None:
    named = [path.name for path in (SOURCES / package).rglob("*.py") if "agents.claude" in path.read_text("utf-8")]
    assert named == []
