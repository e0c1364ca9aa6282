"""Every preset has an agent, and the engine knows nothing of any but the protocol."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from ralphy.agents.preset import Conditions
from ralphy.agents.presets import PRESETS
from ralphy.agents.protocol import Agent
from ralphy.processes.resource_limits import Allowance
from ralphy.processes.supervision import Supervisor

SOURCES = Path(__file__).parents[2] / "ralphy"


@pytest.mark.parametrize("preset", PRESETS)
def test_an_agent_has_what_the_protocol_names(preset: str) -> None:
    made = PRESETS[preset].make(("program",), Conditions(Supervisor(), 1.0, None, Allowance(), None))
    wanted = inspect.signature(Agent.prepared).parameters
    assert list(inspect.signature(type(made).prepared).parameters) == list(wanted)


@pytest.mark.parametrize("package", ["config", "pipeline", "state", "engine"])
def test_nothing_but_the_table_of_presets_names_an_agent(package: str) -> None:
    named = [path.name for path in (SOURCES / package).rglob("*.py") if "agents.claude" in path.read_text("utf-8")]
    assert named == []
