"""All that Ralphy knows of a kind of agent; `ralphy.agents.presets` has one for each name that `agent.preset` takes.

It is read with the settings, before it is known whether any agent runs: import what is heavy inside its functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ralphy.agents.protocol import Agent, Log, Thresholds
from ralphy.agents.variables import Variables

if TYPE_CHECKING:
    from ralphy.processes.resource_limits import Allowance
    from ralphy.processes.supervision import Supervisor
    from ralphy.sandbox.bubblewrap import Sandbox


INSTALL = "put it on PATH, or set agent.command"


@dataclass(frozen=True, slots=True)
class Conditions:
    """What stands around an agent: who holds its processes, when it is stopped, what it may take, and its walls.

    `should_stop` is asked about four times a second while it runs; a reason that it gives ends the run.
    """

    supervisor: Supervisor
    startup_s: float
    thresholds: Thresholds | None
    allowed: Allowance
    sandbox: Sandbox | None
    should_stop: Callable[[], str | None] | None = None


@dataclass(frozen=True, slots=True)
class Guard:
    """A program that an agent asks before each of its tool calls.

    `write` makes the settings that turn it on, of a folder, a name and the policy, and gives the file that a request
    carries; `script` is the guard, to be seen inside a closed sandbox; `settings_at` is where the agent's program looks
    for a person's own settings, below its home.
    """

    write: Callable[[Path, str, dict[str, Any]], Path]
    script: Path
    settings_at: str


@dataclass(frozen=True, slots=True)
class Preset:
    """A kind of agent. Only the first four are needed."""

    command: tuple[str, ...]  # the program, where `agent.command` names none
    make: Callable[[tuple[str, ...], Conditions], Agent]  # what runs a command under these conditions
    log: Callable[[], Log]  # what reads its output
    models: re.Pattern[str]  # names of models that it takes; any other is replaced with the setting's default,
    model: str = ""  # or with this one, where that is none either
    variables: Variables = field(default_factory=Variables)
    guard: Guard | None = None
    keys: tuple[str, ...] = ()  # variables, one of which `strict` asks for where the program is the preset's own
    login: str = ""  # how to get a key
    asks_login: tuple[str, ...] = ()  # arguments with which the program says, for nothing, whether it is logged in
    address: str = ""  # the variable that leads to another API
    hosts: tuple[str, ...] = ()  # the default of `safety.network`
    memory: str = ""  # the repository's file for agents, where the program is started so that it does not read it
    install: str = INSTALL  # how to get the program
