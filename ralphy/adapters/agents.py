"""The agents that `agent.preset` can name: each preset's way to make an `Agent` of a command and what stands around it.

The engine knows the protocol only (`ralphy.core.agent`); what speaks another stream than Claude Code's is a row here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ralphy.adapters.bounds import Room
from ralphy.adapters.claude import Claude, Question
from ralphy.adapters.process import Supervisor
from ralphy.adapters.sandbox import Sandbox
from ralphy.core.agent import Agent
from ralphy.core.watchdog import Thresholds


@dataclass(frozen=True, slots=True)
class Setting:
    """What stands around an agent: who holds its processes, when it is stopped, what it may take, and its walls.

    `should_stop` is asked about four times a second while it runs.
    """

    supervisor: Supervisor
    startup_s: float
    thresholds: Thresholds | None
    room: Room
    sandbox: Sandbox | None
    should_stop: Question | None = None


def _claude(command: tuple[str, ...], at: Setting) -> Agent:
    return Claude(command, at.supervisor, startup_s=at.startup_s, thresholds=at.thresholds, room=at.room,
                  sandbox=at.sandbox, should_stop=at.should_stop)  # fmt: skip


# The rehearsal agent stands where `claude` stands and speaks its stream.
AGENTS: Mapping[str, Callable[[tuple[str, ...], Setting], Agent]] = {"claude": _claude, "rehearsal": _claude}


def agent(preset: str, command: tuple[str, ...], at: Setting) -> Agent:
    """The agent of a preset; the settings accept no other than those in AGENTS."""
    return AGENTS[preset](command, at)
