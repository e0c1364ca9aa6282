"""reconcile: observe, decide, act once, look again, until there is nothing to do for the moment.

The table at the end has the verb for each kind of act.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ralphy.engine.crew import Crew
from ralphy.engine.feature.branch_tip import work_tip
from ralphy.engine.feature.checkout_sync import catch_up
from ralphy.engine.feature.land import tip_taken_up
from ralphy.engine.feature.live_documents import show_documents
from ralphy.engine.person import answering, gate
from ralphy.engine.publish import publish
from ralphy.engine.runs.recover import close_stopped, recover_left
from ralphy.engine.verify.baseline import take_baseline
from ralphy.engine.verify.parts import prove_parts
from ralphy.engine.view.observe import branch_of, observe
from ralphy.engine.view.view import emit_decision, render_tasks
from ralphy.engine.wakeups import signature_of
from ralphy.engine.workspace.full_disk import record_shortage, wait_instead
from ralphy.engine.workspace.waiting import note_rest
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import BranchMoved, EnvironmentProblem, InvalidInput, RalphyError
from ralphy.files.disk_space import named_trouble
from ralphy.git import commands as git
from ralphy.git.tree_programs import require_programs_outside
from ralphy.pipeline import decision as d
from ralphy.pipeline.decide import decide
from ralphy.pipeline.decision import Await, Decision, Rest, RunAgent, Wait
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.preconditions import busy
from ralphy.pipeline.steps import names


def reconcile(workspace: Workspace) -> Rest:
    """Go on until a rest. Whatever interrupts an act, the control files are back before it is passed on.

    A disk that is full meanwhile is a rest, too: what there is is intact, and there may be room later.
    """
    require_programs_outside(workspace.repository)
    with Crew(workspace) as crew:
        try:
            return _until_rest(workspace, crew)
        except BaseException:
            if crew:
                crew.end()
                with suppress(Exception):  # the next start does it
                    close_stopped(workspace)
            raise


def _until_rest(w: Workspace, crew: Crew) -> Rest:
    snapshot: Snapshot | None = None
    while True:
        before = signature_of(w.feature)
        snapshot, rest = _look(w, crew, snapshot)
        decision = rest or decide(snapshot, w.config)
        if not (crew and isinstance(decision, Rest)):
            with suppress(EnvironmentProblem):
                note_rest(w, decision)  # before the event: its listener may look
            emit_decision(w, decision, snapshot)
        if isinstance(decision, (Rest, RunAgent)):
            record_shortage(w, decision)
            with suppress(EnvironmentProblem):  # a view is worth no night
                if not busy(snapshot):
                    render_tasks(w, snapshot, {getattr(decision, "story", None), *w.session.stories_in_work})
        if isinstance(decision, Rest) and not crew:
            return decision
        rest = _carry_out(decision, snapshot, w, crew, before)
        if rest:
            emit_decision(w, rest, snapshot)
            return rest


def _look(w: Workspace, crew: Crew, last: Snapshot | None) -> tuple[Snapshot, Rest | None]:
    """What there is now, and a rest if the disk has no room to keep up. A look that fails ends no running agent:
    nothing is begun, and the error is raised when the agents have ended. Ralphy waits for a person to repair a prd.json
    that was valid at the last look."""
    try:
        with named_trouble():
            rest = _keep_up_or_rest(w)
            snapshot = observe(w)
    except RalphyError as error:
        if last is not None and crew:
            return last, Await(str(error))
        if last is not None and (repair := repair_of_prd(w, error)):
            return last, repair
        raise
    return snapshot, rest


def repair_of_prd(w: Workspace, error: RalphyError) -> Wait | None:
    """The rest until a person has repaired the feature's prd.json, if that is what the error is about."""
    if not isinstance(error, InvalidInput) or not str(error).startswith(w.feature.in_repository("prd.json")):
        return None
    return Wait(f"{error}; {error.hint}" if error.hint else str(error))


def _keep_up_or_rest(w: Workspace) -> Rest | None:
    """Keep up with the branch; a rest if the disk has no room for that."""
    try:
        with named_trouble():
            keep_up(w)
    except (EnvironmentProblem, git.GitError) as error:
        rest = wait_instead(w, None, error)
        if rest is None:
            raise
        return rest
    return None


def _carry_out(decision: Decision, snapshot: Snapshot, w: Workspace, crew: Crew, before: int) -> Rest | None:
    """Act, or wait for an agent, and clear up if that is interrupted; a rest if it was the disk. Where a person has
    moved the branch meanwhile there is only something new to look at."""
    try:
        with named_trouble():
            if isinstance(decision, Rest):
                crew.wait(decision, before)
            else:
                act(decision, snapshot, w, crew)
    except BaseException as error:
        is_moved = isinstance(error, BranchMoved) and _is_elsewhere(snapshot, w)
        if is_moved and not isinstance(decision, (Rest, RunAgent)):
            return None  # nothing was done, and running agents go on
        crew.end()
        rest = wait_instead(w, decision, error)
        with suppress(Exception):
            render_tasks(w, snapshot)  # without the story that was worked on
        try:
            with named_trouble():
                close_stopped(w)
        except Exception as trouble:  # it is cleared up later, and the interruption comes first
            if rest is None and isinstance(error, Exception):
                raise
            if rest is None:
                w.say(f"the run could not be cleared up now: {trouble}; the next start retries it")
        if rest is None and not is_moved:
            raise
        return rest
    return None


def _is_elsewhere(snapshot: Snapshot, w: Workspace) -> bool:
    """Has somebody moved the feature's branch since the look? Then the work goes on from there, with a message."""
    tip = git.resolve(w.repository, f"refs/heads/{w.feature_branch}")
    if tip in ("", snapshot.tree.head):
        return False
    w.say(f"{w.feature_branch} has moved; continuing from {tip[:10]}")
    return True


Act = Callable[[Workspace, Any, Snapshot], None]


def act(decision: d.Decision, snapshot: Snapshot, workspace: Workspace, crew: Crew) -> None:
    """Do what was decided, once; the agent of a story may go on in the crew."""
    if isinstance(decision, d.RunAgent):
        crew.begin(decision, snapshot)
        if decision.step != names.STORY or workspace.config.lanes.jobs == 1:
            crew.finish_alone()
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
    d.ProveParts: prove_parts,
    d.AddFixes: gate.add_fixes,
    d.Publish: publish,
}


def until_run(w: Workspace) -> tuple[Snapshot, Decision]:
    """Do what needs no agent; gives the next run, or the rest, and the snapshot that it was decided on."""
    while True:
        keep_up(w)
        snapshot = observe(w)
        decision = decide(snapshot, w.config)
        if isinstance(decision, (Rest, RunAgent)):
            return snapshot, decision
        emit_decision(w, decision, snapshot)
        _ACTS[type(decision)](w, decision, snapshot)


def keep_up(w: Workspace) -> None:
    """Go on from where a person has put the branch, and lay out the documents; nothing before there is a branch."""
    w.branch = branch_of(w)
    tip_taken_up(w)
    tip = work_tip(w)
    if not tip or w.left_runs:
        return
    catch_up(w)
    show_documents(w, tip)
