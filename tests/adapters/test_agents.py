"""Every preset has an agent, and the engine knows nothing of any but the protocol."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from ralphy.agents.presets import AGENTS, Setting, agent
from ralphy.agents.protocol import Agent
from ralphy.config.values import PRESETS
from ralphy.processes.resource_limits import Allowance
from ralphy.processes.supervision import Supervisor

ENGINE = Path(__file__).parents[2] / "ralphy" / "engine"


def test_every_preset_of_the_settings_has_an_agent() -> None:
    assert set(AGENTS) == set(PRESETS)


@pytest.mark.parametrize("preset", AGENTS)
def test_an_agent_has_what_the_protocol_names(preset: str) -> None:
    made = agent(preset, ("program",), Setting(Supervisor(), 1.0, None, Allowance(), None))
    wanted = inspect.signature(Agent.prepared).parameters
    assert list(inspect.signature(type(made).prepared).parameters) == list(wanted)


def test_the_engine_names_no_agent() -> None:
    named = [
        path.name for path in ENGINE.glob("*.py") if "agents.claude.cli import" in path.read_text(encoding="utf-8")
    ]
    assert named == []
