"""act: carry out one decision. A table from the kind of decision to the verb that does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ralphy.engine.crew import Crew
from ralphy.engine.person import answering, gate
from ralphy.engine.person.story_changes import take_request
from ralphy.engine.publish import publish
from ralphy.engine.runs.attempt import run_story
from ralphy.engine.runs.authoring import run_step
from ralphy.engine.runs.recover import recover_left
from ralphy.engine.runs.running import complete
from ralphy.engine.verify.baseline import take_baseline
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline import decision as d
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.steps import names

Act = Callable[[Workspace, Any, Snapshot], None]


def act(decision: d.Decision, snapshot: Snapshot, workspace: Workspace, crew: Crew) -> None:
    """Do what was decided, once; the agent of a story may go on in the crew."""
    if isinstance(decision, d.RunAgent):
        flight = (run_story if decision.step == names.STORY else run_step)(workspace, decision, snapshot)
        is_alone = decision.step != names.STORY or workspace.config.lanes.jobs == 1
        complete(flight) if is_alone else crew.begin(flight)
    else:
        _ACTS[type(decision)](workspace, decision, snapshot)


_ACTS: dict[type[d.Decision], Act] = {
    d.Recover: lambda w, _, __: recover_left(w),
    d.SetAside: gate.set_marker_aside,
    d.Stop: gate.stop,
    d.Adopt: gate.adopt,
    d.Approve: gate.approve,
    d.Reject: gate.reject,
    d.OpenGate: gate.open_gate,
    d.OpenBranch: gate.open_branch,
    d.TakeBaseline: lambda w, _, s: take_baseline(w, s),
    d.AcceptRed: gate.accept_red,
    d.GiveUp: gate.give_up,
    d.TakeAnswer: answering.take_answer,
    d.TakeRequest: take_request,
    d.AddFixes: gate.add_fixes,
    d.Publish: publish,
}
