"""Whether a loop could begin here: the programs of the project's commands, and the walls of the level `strict`.

A person is told before the night, by what decides in it; no check is run.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
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
from ralphy.files.atomic import names_in, read_text
from ralphy.git.commands import Repository
from ralphy.processes.program_paths import lies_in
from ralphy.sandbox.bubblewrap import program_at

_ANSWER_S = 10.0
_PYTHON = re.compile(r"(python|pypy)[0-9.]*")
_IS_THERE = "import importlib.util, sys; sys.exit(importlib.util.find_spec(sys.argv[1]) is None)"
_ABSENT = 1
_HARMLESS_PTH = {"_virtualenv.pth", "distutils-precedence.pth"}


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
    """Raises EnvironmentProblem where the agent's program is not there: whoever waits for checks hears it first."""
    name = w.config.agent.command[0]
    if program_at(agent_command(w)[0], w.repository.root, agent_environment(w, "look", {})):
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
    """Why the command of a check cannot be started; "" if it can, as far as that is known without running it."""
    words, root = argv(check), w.repository.root
    if program_at(words[0], root, env) is None:
        where = _not_there(words[0])
        return f"{check.name} needs {words[0]}, which {where}"
    module = _module_of(words)
    if module and _lacks(words, module, root, env):
        return f"{check.name} needs the Python module {module}, which {words[0]} does not have"
    return ""


def _module_of(words: Sequence[str]) -> str:
    """The module that `python -m` names; "" for any other command."""
    at = words.index("-m") if "-m" in words[:-1] else 0
    is_plain = at and _PYTHON.fullmatch(Path(words[0]).name) and all(word.startswith("-") for word in words[1:at])
    return words[at + 1].partition(".")[0] if is_plain else ""


def _lacks(words: Sequence[str], module: str, root: Path, env: Mapping[str, str]) -> bool:
    """Is it known that the interpreter has no such module? One that an agent could have written is not started."""
    program = program_at(words[0], root, env)
    if program is None or _is_in_folder(root, module):
        return False
    if lies_in(str(program), str(root)):
        return _is_missing_in_venv(program.parent.parent, module)
    if env.get("PYTHONPATH"):
        return False
    question = (str(program), "-E", *words[1 : words.index("-m")], "-c", _IS_THERE, module)
    try:
        asked = subprocess.run(question, cwd="/", env=dict(env), capture_output=True, timeout=_ANSWER_S, check=False,
                               stdin=subprocess.DEVNULL)  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return False  # what is not known is not said
    return asked.returncode == _ABSENT and not asked.stderr


def _is_missing_in_venv(venv: Path, module: str) -> bool:
    """Is a module not in a virtual environment that is closed: no packages of the system, none that lie elsewhere?"""
    settings = read_text(venv / "pyvenv.cfg", 64 * 1024)
    if not settings or re.search(r"include-system-site-packages\s*=\s*true", settings, re.I):
        return False
    folders = list(venv.glob("lib*/python*/site-packages"))
    found = {name for folder in folders for name in names_in(folder)}
    leads_elsewhere = any(name.endswith(".pth") for name in found - _HARMLESS_PTH)
    return bool(folders) and not leads_elsewhere and not any(_is_in_folder(folder, module) for folder in folders)


def _is_in_folder(folder: Path, module: str) -> bool:
    return any(name == module or name.startswith(f"{module}.") for name in names_in(folder))


def _not_there(program: str) -> str:
    return "is not there, or not executable" if "/" in program else "is not on PATH"
