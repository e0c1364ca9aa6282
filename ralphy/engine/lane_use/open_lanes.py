"""The lanes of a workspace: opened once for a repository, with the walls that its level asks for.

What is asked for and not to be had ends the run (fail closed). What is merely wished for is said once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ralphy.engine.lane_use.strict import require_closed
from ralphy.engine.workspace.safety_level import AS_YOU, MINIMAL, STRICT, open_program, own_place
from ralphy.errors import EnvironmentProblem
from ralphy.files.atomic import read_regular
from ralphy.lanes.lanes_folder import lanes_folder
from ralphy.lanes.pool import Pool
from ralphy.pipeline.acceptance import SEALED

if TYPE_CHECKING:
    from ralphy.engine.workspace.workspace import Workspace
    from ralphy.lanes.lane import Lane

_MOST_LANES = 80  # more than agents at the same time


def lanes_of(w: Workspace) -> Pool:
    """Where agents and checks work, opened once. EnvironmentProblem where the walls that are asked for cannot stand."""
    if w.checkout.lanes is None:
        w.checkout.lanes = _opened(w)
    return w.checkout.lanes


def clean_lane(w: Workspace) -> Lane:
    """The lane that checks run in, and that no agent enters."""
    return lanes_of(w).clean()


def _opened(w: Workspace) -> Pool:
    program, folder = bubblewrap_for(w), lanes_folder(w.repository, w.config.lanes, w.env)
    features = w.config.project.features_dir
    return Pool(w.repository, folder, program, w.config.safety.level, control=(features,), objects=w.objects)


def agent_lane(w: Workspace) -> Lane:
    """The lane of the workspace's next agent: the first in which nobody works, and that holds no work of another
    feature's dead run."""
    in_use = {run.get("lane") for run in w.history.open_runs}
    for slot in range(1, _MOST_LANES + 1):
        if str(slot) in in_use:
            continue
        lane = lanes_of(w).agent(slot)
        if lane.kept_for() in ("", w.feature.name):
            return lane
    raise EnvironmentProblem(f"all {_MOST_LANES} lanes hold work that was cut off", hint="ralphy loop; ralphy lanes")


def laid_out_in(lane: Lane) -> str:
    """The tree that was last laid out in a lane; "" if it was made again since."""
    return (read_regular(lane.home / "laid-out") or b"").decode()


def bubblewrap_for(w: Workspace) -> str | None:
    """Where bubblewrap is, if this level wants it and it works here; None for no sandbox, which is said."""
    level = w.config.safety.level
    if level == MINIMAL:
        _require_unsealed(w)
        _say_once(w, "safety: minimal: no sandbox, the agent can do whatever you can")
        return None
    if level == STRICT:
        closed = require_closed(w)
        _say_once(w, "safety: strict, in a closed bubblewrap sandbox")
        return closed
    program, why = open_program(w)
    if not program:
        _require_unsealed(w)
    kind = "in a bubblewrap sandbox" if program else f"WITHOUT a sandbox, so {AS_YOU}: {why}"
    _say_once(w, f"safety: {level}, {kind}{own_place(w)}")
    return program


def _require_unsealed(w: Workspace) -> None:
    """Without a sandbox nothing is sealed."""
    if w.config.acceptance.tests == SEALED:
        raise EnvironmentProblem("acceptance.tests: sealed is not possible without a sandbox",
                                 hint="install bubblewrap, or set acceptance.tests: visible")  # fmt: skip


def _say_once(w: Workspace, sentence: str) -> None:
    if sentence not in w.checkout.said:
        w.checkout.said.add(sentence)
        w.say(sentence)
