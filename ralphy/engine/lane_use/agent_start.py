"""Whether the agent's program starts in a closed sandbox (`strict`): tried before the first agent."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from ralphy.engine.lane_use.open_lanes import lanes_of
from ralphy.engine.lane_use.strict import NO_SETTINGS, SYSTEM, missing, view_with
from ralphy.engine.workspace.environment import agent_command, agent_environment
from ralphy.engine.workspace.workspace import Workspace
from ralphy.sandbox.bubblewrap import Sandbox, program_at, run_inside

_ANSWER_S = 10.0


def require_agent_starts(w: Workspace) -> None:
    """EnvironmentProblem if the agent's program does not start in a closed sandbox around an empty tree."""
    with TemporaryDirectory(prefix="ralphy-lane-") as name:
        home = Path(name).resolve()
        for part in ("tree", "git"):
            (home / part).mkdir()
        (home / NO_SETTINGS).write_bytes(b"{}")  # a look: in the repository nothing is written
        closed = lanes_of(w).sandbox(view_with(w, home / NO_SETTINGS, networked=True))
        if closed and (lacking := list(_no_start(w, closed.around(home)))):
            raise missing(lacking)


def _no_start(w: Workspace, agent: Sandbox) -> Iterator[tuple[str, str]]:
    """Does the agent start in there at all?"""
    program = w.config.agent.command[0]
    env = agent_environment(w, "strict", {})
    words = agent_command(w)
    at = program_at(words[0], w.repository.root, env)
    if at is None:
        yield f"{program} is not on PATH", "install it, or set agent.command"
        return
    try:
        tried = run_inside(agent, (*words, "--version"), env, timeout_s=_ANSWER_S)
    except subprocess.TimeoutExpired:
        yield f"{program} does not answer in the sandbox within {_ANSWER_S:.0f} s", f"try: {program} --version"
        return
    if tried.returncode:
        said = tried.stderr.decode("utf-8", "replace").strip()[-300:]
        yield f"{program} does not start in the sandbox: {said}", _needs(at, env)


def _needs(program: Path, env: Mapping[str, str]) -> str:
    """What to do about a program that does not start: name the interpreter of a script, if the sandbox hides it."""
    with program.open("rb") as file:
        line = os.fsdecode(file.readline(512))
    words = line.removeprefix("#!").split() if line.startswith("#!") else []
    name = words[1] if len(words) > 1 and Path(words[0]).name == "env" else "".join(words[:1])
    found = shutil.which(name, path=env.get("PATH"))
    if not found or any(Path(found).is_relative_to(folder) for folder in SYSTEM):
        return "name the folders that it needs in safety.ro_paths"
    folder = Path(found).parent
    folder = folder.parent if folder.name == "bin" else folder
    return f"it is a script for {found}: add {folder}, and what else it needs, to safety.ro_paths"
