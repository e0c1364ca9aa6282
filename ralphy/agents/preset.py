"""All that Ralphy knows of a kind of agent; `ralphy.agents.presets` has the one of each name in `agent.preset`.

Every command reads it with the settings, even if no agent runs: import what is heavy inside of functions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ralphy.agents.protocol import Agent, Log
from ralphy.agents.variables import Variables

if TYPE_CHECKING:
    from ralphy.agents.program import Conditions


INSTALL = "put it on PATH, or set agent.command"


@dataclass(frozen=True, slots=True)
class OwnFolder:
    """The folder of an agent's program: `name` in the home, or the value of `variable`.

    `state` are the entries that change with each session; the rest are a person's settings. Of the state, the agent
    shares the file `login`, and the folder that `sessions` returns for a working folder.
    """

    name: str
    variable: str
    state: frozenset[str]
    login: str
    sessions: Callable[[str], str]

    def path(self, env: Mapping[str, str]) -> Path:
        return Path(env.get(self.variable) or Path(env.get("HOME", "/"), self.name))


@dataclass(frozen=True, slots=True)
class Preset:
    """A kind of agent. Only the first four are needed."""

    command: tuple[str, ...]  # the program, where `agent.command` names none
    make: Callable[[tuple[str, ...], Conditions], Agent]  # what runs a command under these conditions
    log: Callable[[], Log]  # what reads its output
    models: re.Pattern[str]  # names of its models; any other is replaced with the setting's default,
    model: str = ""  # or with this one, if the default is unknown as well
    variables: Variables = field(default_factory=Variables)
    # Writes the settings of a run, by which the program refuses some calls: from a folder, a name, and the files and
    # folders that may not be edited.
    write_settings: Callable[[Path, str, Iterable[Path]], Path] | None = None
    settings_at: str = ""  # the path of a person's own settings, below the home
    folder: OwnFolder | None = None
    keys: tuple[str, ...] = ()  # variables, one of which `strict` requires if the program is the preset's own
    login: str = ""  # how to get a key
    asks_login: tuple[str, ...] = ()  # arguments with which the program tells, at no cost, whether it is logged in
    address: str = ""  # the variable with the address of another API
    hosts: tuple[str, ...] = ()  # the default of `safety.network`
    memory: str = ""  # the repository's file for agents, if the program as started does not read it by itself
    install: str = INSTALL  # how to get the program
