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
class Setting:
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
    """A kind of agent. Only the first four are needed.

    `command` is the program where `agent.command` names none, `make` what runs it, `log` what reads its output.
    `models` are the names of models that its command line takes; in the place of any other stands the setting's
    default, or `model` where that is none either. `keys` are variables, one of which `strict` asks for when the program
    is the preset's own, and `login` how to get one; `address` is the variable that leads to another API, `hosts` the
    default of `safety.network`. `memory` is the file of the repository that it is told by Ralphy, because it is started
    in a way that does not read it. `install` says how to get the program.
    """

    command: tuple[str, ...]
    make: Callable[[tuple[str, ...], Setting], Agent]
    log: Callable[[], Log]
    models: re.Pattern[str]
    model: str = ""
    variables: Variables = field(default_factory=Variables)
    guard: Guard | None = None
    keys: tuple[str, ...] = ()
    login: str = ""
    address: str = ""
    hosts: tuple[str, ...] = ()
    memory: str = ""
    install: str = INSTALL
