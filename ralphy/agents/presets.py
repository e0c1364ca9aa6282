"""The kinds of agents that `agent.preset` can name."""

from __future__ import annotations

from dataclasses import replace

from ralphy.agents.claude.preset import CLAUDE
from ralphy.agents.preset import INSTALL, Preset

PRESETS: dict[str, Preset] = {
    "claude": CLAUDE,
    # A stand-in for `claude` that plays scenarios and prints the same stream.
    "rehearsal": replace(CLAUDE, command=("ralphy-rehearsal",), keys=(), install=INSTALL),
}


def preset_of(name: object) -> Preset:
    """The preset of that name; Claude Code's for an unknown name."""
    return PRESETS.get(str(name), CLAUDE)
