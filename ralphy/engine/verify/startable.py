"""Whether a loop could begin here: the programs of the project's commands, and the walls of the level `strict`.

`ralphy doctor` reports it before a night; no check is run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ralphy.agents.preset import INSTALL
from ralphy.agents.presets import preset_of
from ralphy.config.values import Check, Config
from ralphy.documents.feature_folder import Feature
from ralphy.engine.lane_use.checks import argv
from ralphy.engine.workspace.checkout import Checkout
from ralphy.engine.workspace.environment import agent_command, agent_environment, check_environment
from ralphy.engine.workspace.workspace import Workspace, open_workspace
from ralphy.errors import EnvironmentProblem
from ralphy.git.commands import Repository
from ralphy.sandbox.bubblewrap import program_at


@dataclass(frozen=True, slots=True)
class Missing:
    """A command that cannot be started as things are; `may_come` when another command may be what makes it so."""

    why: str
    may_come: bool


@contextmanager
def without_feature(
    repository: Repository, config: Config, checks: tuple[Check, ...], env: Mapping[str, str]
) -> Iterator[tuple[Workspace, Path]]:
    """A workspace as a loop would open it, with a folder of its own in the place of a feature's."""
    with tempfile.TemporaryDirectory(prefix="ralphy-doctor-") as name:
        folder = Path(name).resolve()
        feature = Feature("doctor", folder / "feature", "doctor")
        with open_workspace(Checkout.of(repository), feature, config, checks, env) as w:
            yield w, folder


def require_agent(w: Workspace) -> None:
    """Raises EnvironmentProblem if the agent's program is missing: before the checks run, which may take long."""
    name = w.config.agent.command[0]
    if program_at(agent_command(w)[0], w.repository.root, agent_environment(w, "look")):
        return
    chosen = preset_of(w.config.agent.preset)
    fix = chosen.install if name == chosen.command[0] else INSTALL
    raise EnvironmentProblem(f"{name} {_not_there(name)}", hint=f"{fix}; ralphy doctor")


def missing(w: Workspace) -> Iterator[Missing]:
    """The commands that would not start: of `setup`, as long as it is still to be run, and of the checks."""
    env, is_ready = check_environment(w, "doctor"), not w.config.setup
    if not is_ready and (why := _why_not(w, Check("setup", w.config.setup), env)):
        yield Missing(why, may_come=False)
    for number, check in enumerate(w.checks):
        if why := _why_not(w, check, env):
            is_made_here = number > 0 and "/" in argv(check)[0]
            yield Missing(why, may_come=not is_ready or is_made_here)


def _why_not(w: Workspace, check: Check, env: Mapping[str, str]) -> str:
    """Why the command of a check cannot be started; "" if its program is there."""
    program = argv(check)[0]
    is_there = program_at(program, w.repository.root, env) is not None
    return "" if is_there else f"{check.name} needs {program}, which {_not_there(program)}"


def _not_there(program: str) -> str:
    return "is not there, or not executable" if "/" in program else "is not on PATH"
