"""All that Ralphy knows of a kind of agent; `ralphy.agents.presets` has one for each name that `agent.preset` takes.

It is read with the settings, before it is known whether any agent runs: import what is heavy inside its functions.
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
class RunSettings:
    """The settings of a run, in which an agent's own program is told what to refuse.

    `write` makes the file that a request carries, of a folder, a name, and the files and folders that may not be
    edited; `settings_at` is where the agent's program looks for a person's own settings, below its home.
    """

    write: Callable[[Path, str, Iterable[Path]], Path]
    settings_at: str


@dataclass(frozen=True, slots=True)
class OwnFolder:
    """Where an agent's program keeps its things: a folder of the home, or the one that a variable names.

    `state` are the names in it that change with each session; the rest is a person's settings. Of the state, the file
    `login` is shared with the agent, and the sessions in the folder that `sessions` names for a working folder.
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
    models: re.Pattern[str]  # names of models that it takes; any other is replaced with the setting's default,
    model: str = ""  # or with this one, where that is none either
    variables: Variables = field(default_factory=Variables)
    settings: RunSettings | None = None
    folder: OwnFolder | None = None
    keys: tuple[str, ...] = ()  # variables, one of which `strict` asks for where the program is the preset's own
    login: str = ""  # how to get a key
    asks_login: tuple[str, ...] = ()  # arguments with which the program says, for nothing, whether it is logged in
    address: str = ""  # the variable that leads to another API
    hosts: tuple[str, ...] = ()  # the default of `safety.network`
    memory: str = ""  # the repository's file for agents, where the program is started so that it does not read it
    install: str = INSTALL  # how to get the program
