"""The agents that `agent.preset` can name: each preset's way to make an `Agent` of a command and what stands around it.

The engine knows the protocol only (`ralphy.agents.protocol`); what speaks another stream than Claude Code's is a
row here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ralphy.agents.claude.cli import Claude, Question
from ralphy.agents.claude.watchdog import Thresholds
from ralphy.agents.protocol import Agent
from ralphy.processes.resource_limits import Allowance
from ralphy.processes.supervision import Supervisor
from ralphy.sandbox.bubblewrap import Sandbox


@dataclass(frozen=True, slots=True)
class Setting:
    """What stands around an agent: who holds its processes, when it is stopped, what it may take, and its walls.

    `should_stop` is asked about four times a second while it runs.
    """

    supervisor: Supervisor
    startup_s: float
    thresholds: Thresholds | None
    allowed: Allowance
    sandbox: Sandbox | None
    should_stop: Question | None = None


def _claude(command: tuple[str, ...], at: Setting) -> Agent:
    return Claude(command, at.supervisor, startup_s=at.startup_s, thresholds=at.thresholds, allowed=at.allowed,
                  sandbox=at.sandbox, should_stop=at.should_stop)  # fmt: skip


# The rehearsal agent stands where `claude` stands and speaks its stream.
AGENTS: Mapping[str, Callable[[tuple[str, ...], Setting], Agent]] = {"claude": _claude, "rehearsal": _claude}


def agent(preset: str, command: tuple[str, ...], at: Setting) -> Agent:
    """The agent of a preset; the settings accept no other than those in AGENTS."""
    return AGENTS[preset](command, at)
