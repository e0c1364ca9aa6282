"""The lanes of a workspace: opened once for a repository, with the walls that its safety level requires.

A wall that is required and not possible ends the run (fail closed); one that is only preferred is reported once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ralphy.config.values import MINIMAL, STRICT
from ralphy.engine.lane_use.strict import missing, require_closed, view_of
from ralphy.engine.workspace.environment import agent_command, agent_environment
from ralphy.engine.workspace.safety_level import AS_YOU, open_program, own_place
from ralphy.errors import EnvironmentProblem
from ralphy.lanes.lanes_folder import lanes_folder
from ralphy.lanes.pool import SYSTEM, Pool
from ralphy.pipeline.acceptance import SEALED
from ralphy.sandbox.bubblewrap import Sandbox, program_at, run_inside

if TYPE_CHECKING:
    from ralphy.engine.workspace.workspace import Workspace
    from ralphy.lanes.lane import Lane
    from ralphy.pipeline.events import Tone

_MOST_LANES = 80  # more than agents at the same time
_ANSWER_S = 10.0


def lanes_of(w: Workspace) -> Pool:
    """Where agents and checks work, opened once. EnvironmentProblem if the walls that are required are not possible."""
    if w.checkout.lanes is None:
        program, folder = bubblewrap_for(w), lanes_folder(w.repository, w.config.lanes, w.env)
        control = (w.config.project.features_dir,)
        w.checkout.lanes = Pool(w.repository, folder, program, w.config.safety.level, control=control,
                                objects=w.objects)  # fmt: skip
    return w.checkout.lanes


def clean_lane(w: Workspace) -> Lane:
    """The lane that checks run in, and that no agent enters."""
    return lanes_of(w).clean()


def agent_lane(w: Workspace) -> Lane:
    """The lane of the workspace's next agent: the first in which no agent works, and that holds no work of a dead run
    of another feature."""
    in_use = {run.get("lane") for run in w.history.open_runs}
    for slot in range(1, _MOST_LANES + 1):
        if str(slot) in in_use:
            continue
        lane = lanes_of(w).agent(slot)
        if lane.holds_work_of() in ("", w.feature.name):
            return lane
    raise EnvironmentProblem(f"all {_MOST_LANES} lanes hold work that was cut off", hint="ralphy loop; ralphy lanes")


def bubblewrap_for(w: Workspace) -> str | None:
    """Where bubblewrap is, if this level uses it and it works here; None for no sandbox. Either is reported."""
    level = w.config.safety.level
    if level == MINIMAL:
        _require_unsealed(w)
        say_once(w, f"safety: minimal; no sandbox: {AS_YOU}")
        return None
    if level == STRICT:
        closed = require_closed(w)
        say_once(w, "safety: strict; agents and checks run in a closed bubblewrap sandbox")
        return closed
    program, why = open_program(w)
    if not program:
        _require_unsealed(w)
    how = "agents and checks run in a bubblewrap sandbox" if program else f"WITHOUT a sandbox, so {AS_YOU}: {why}"
    say_once(w, f"safety: {level}; {how}{own_place(w)}")
    return program


def require_agent_starts(w: Workspace) -> None:
    """EnvironmentProblem if the agent's program does not start in a closed sandbox around an empty tree."""
    with TemporaryDirectory(prefix="ralphy-lane-") as name:
        home = Path(name).resolve()
        for part in ("tree", "git"):
            (home / part).mkdir()
        closed = lanes_of(w).sandbox(view_of(w, networked=True))
        if closed and (problem := _why_not_started(w, closed.around(home))):
            raise missing([problem])


def _why_not_started(w: Workspace, agent: Sandbox) -> tuple[str, str] | None:
    """(why the agent does not start in its sandbox, what to do); None if it starts."""
    program = w.config.agent.command[0]
    env = agent_environment(w, "strict")
    words = agent_command(w)
    at = program_at(words[0], w.repository.root, env)
    if at is None:
        return f"{program} is not on PATH", "install it, or set agent.command"
    try:
        tried = run_inside(agent, (*words, "--version"), env, timeout_s=_ANSWER_S)
    except subprocess.TimeoutExpired:
        return f"{program} does not answer in the sandbox within {_ANSWER_S:.0f} s", f"try: {program} --version"
    if not tried.returncode:
        return None
    stderr = tried.stderr.decode("utf-8", "replace").strip()[-300:]
    return f"{program} does not start in the sandbox: {stderr}", _how_to_show(at, env)


def _how_to_show(program: Path, env: Mapping[str, str]) -> str:
    """What to do about a program that does not start: show the interpreter of a script, if the sandbox hides it."""
    with program.open("rb") as file:
        line = os.fsdecode(file.readline(512))
    words = line.removeprefix("#!").split() if line.startswith("#!") else []
    name = words[1] if len(words) > 1 and Path(words[0]).name == "env" else "".join(words[:1])
    interpreter = shutil.which(name, path=env.get("PATH"))
    if not interpreter or any(Path(interpreter).is_relative_to(folder) for folder in SYSTEM):
        return "name the folders that it needs in safety.ro_paths"
    folder = Path(interpreter).parent
    folder = folder.parent if folder.name == "bin" else folder
    return f"it is a script for {interpreter}: add {folder}, and what else it needs, to safety.ro_paths"


def _require_unsealed(w: Workspace) -> None:
    """EnvironmentProblem for sealed acceptance tests: without a sandbox the agent can read them."""
    if w.config.acceptance.tests == SEALED:
        raise EnvironmentProblem("acceptance.tests: sealed is not possible without a sandbox",
                                 hint="install bubblewrap, or set acceptance.tests: visible")  # fmt: skip


def say_once(w: Workspace, sentence: str, tone: Tone = "") -> None:
    """Print a sentence, unless it was printed before for any feature of the checkout."""
    if sentence not in w.checkout.reported:
        w.checkout.reported.add(sentence)
        w.say(sentence, tone)
