"""Recover: what a Ralphy that died left behind is finished if it was recorded, else cleared away and kept.

First nothing of the dead run may live; then the recorded intent is completed if its commit is there;
then open runs are closed: what lies in their lanes is kept under a ref. The death of Ralphy or of the
machine costs no attempt, and the next run resumes from what was kept.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

from ralphy.agents.outbox import Outbox
from ralphy.agents.protocol import AgentResult, Outcome
from ralphy.agents.status_report import Claim
from ralphy.engine.feature.branch_tip import tip_of, work_tip
from ralphy.engine.feature.documents import committed_prd
from ralphy.engine.feature.edits_in_a_run import set_edits_aside
from ralphy.engine.feature.land import complete_intent, read_intent
from ralphy.engine.feature.live_documents import lay_out
from ralphy.engine.lane_use.open_lanes import lanes_of
from ralphy.engine.lane_use.take_over import Candidate, candidate_from
from ralphy.engine.runs.attempt import Attempt, settle
from ralphy.engine.runs.authoring import keep_code
from ralphy.engine.runs.ending import end_line, with_known_cost
from ralphy.engine.runs.running import Ran
from ralphy.engine.runs.unfinished_documents import digest_of
from ralphy.engine.verify.case import Verdict
from ralphy.engine.workspace.scan import redact_run
from ralphy.engine.workspace.subject import Subject, working_on
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import BranchMoved, Conflict
from ralphy.files.tree_walk import children, remove
from ralphy.lanes.lane import Lane
from ralphy.pipeline.history import Entry
from ralphy.pipeline.steps import names
from ralphy.processes.command import REPO_MARKER
from ralphy.processes.process_table import await_orphans, sweep
from ralphy.processes.supervision import SCRIPT

DIED = AgentResult(Outcome.DIED, detail="Ralphy or the machine died during the run")
STOPPED = AgentResult(Outcome.STOPPED, detail="interrupted")
WORKED_IN_CHECKOUT = "an older Ralphy ran its agent in the checkout: what it left there stays; see git status"


def recover(w: Workspace, result: AgentResult = DIED) -> None:
    """Bring the feature back to a state to go on from; does nothing if nothing is open.

    Raises Conflict if the feature is being worked on in another checkout.
    """
    if place := w.worked_on_in:
        raise Conflict(f"feature {w.feature.name} is being worked on in {place}", hint="git worktree list")
    _end_what_lives(w)
    w.session = replace(w.session, in_work=())
    _redact_runs(w)
    dead = w.history.open_runs
    if read_intent(w) and complete_intent(w):
        w.say("the commit that was being landed is complete")
    for run in dead:
        if w.history.is_open(run.get("run")):
            _recover_run(w, run, result)
        _clear_outbox(w, run)


def _redact_runs(w: Workspace) -> None:
    """No secret stays in what a run without an end has printed."""
    open_runs, folder = tuple(f"{run.get('run')}-" for run in w.history.open_runs), w.feature.private / "runs"
    for entry in children(w.repository.root, folder) if open_runs else ():
        if entry.is_folder and entry.name.startswith(open_runs):
            redact_run(w, folder / entry.name)


def _recover_run(w: Workspace, run: Entry, result: AgentResult) -> None:
    of = f"{run.get('story') or run.get('step')}, attempt {run.get('attempt', 1)}"
    w.say(f"stopped {of}" if result is STOPPED else f"closed {of}: {result.detail}")
    if "lane" not in run:
        w.say(WORKED_IN_CHECKOUT)
    result = with_known_cost(w, run, result)
    lane = lanes_of(w).agent(_slot(run))
    with working_on(Subject(run.get("story"), lane.name)):
        _close(w, lane, run, result)
    lane.note(w.feature.name)


def _clear_outbox(w: Workspace, run: Entry) -> None:
    """What a dead run had handed in goes, unless the next run of its step begins with it."""
    name = str(run["run"])
    if not w.history.hands_on(name):
        remove(w.feature.private / "outbox" / name, below=w.repository.root)


def _slot(run: Entry) -> int:
    """The number of the lane that a run worked in; runs of an older Ralphy worked in none."""
    name = str(run.get("lane") or "1")
    return int(name) if name.isdecimal() else 1


def _close(w: Workspace, lane: Lane, run: Entry, result: AgentResult) -> None:
    """A run in a lane ended without a word: its work is taken out of the lane and kept."""
    base = str(run.get("green") or "") or tip_of(w)
    green, name = w.objects.tree_of(base), str(run["run"])
    if run.get("sandbox") == "none":
        set_edits_aside(w, run.get("edits") or {})
    laid_out = str(run.get("laid_out") or green)
    is_there = lane.laid_out == laid_out
    if run.get("step") != names.STORY:
        if is_there:
            keep_code(w, lane, str(run.get("step")), name, base, laid_out)
        made = digest_of(w, name)
        lay_out(w, work_tip(w))
        _note_end(w, run, result, outbox=name if made else None, work=made or None)
        return
    prd = committed_prd(w, tip_of(w))
    story = next((one for one in prd.stories if one.id == run.get("story")), None)
    lay_out(w, work_tip(w))
    if story is None or story.is_completed:
        _note_end(w, run, result)
        return
    empty = Candidate(green, w.code_of(green), green, ())  # the lane was let go: nothing of the run is left
    candidate = candidate_from(w, lane, green, laid_out) if is_there else empty
    ran = Ran(name, result, Claim(), Outbox(w.feature.private / "outbox" / name), ())
    verdict = Verdict(result.outcome, result.detail, result.detail, goes_on=True)
    settle(w, Attempt(story, int(run.get("attempt", 1)), prd, base, ran, candidate, verdict,
                      was_cut_off=True, saved_commit=w.history.saved_commit_of(name)))  # fmt: skip


def _end_what_lives(w: Workspace) -> None:
    """Nothing of the dead run goes on, and nothing that was known of the checkout holds any more."""
    killed = sweep({REPO_MARKER: w.repository.token})
    if killed:
        w.say(f"{killed} processes of the last run were still alive; ended them")
    await_orphans(SCRIPT)
    w.checkout.close()  # Ctrl-C ends the readers of Git, too


def _note_end(w: Workspace, run: Entry, result: AgentResult, **more: Any) -> None:
    line = end_line(str(run["run"]), result, result.outcome, detail=result.detail, failure=result.detail, **more)
    w.record("end", **line)


def recover_left(w: Workspace) -> None:
    """The same for what was left open: a run that the full disk cut short is not counted, one that died is."""
    cut = w.session.cut_short
    recover(w, replace(STOPPED, detail=cut) if cut else DIED)
    w.session = replace(w.session, cut_short="")


def is_unfinished(w: Workspace) -> bool:
    """Is there anything to recover from?"""
    return bool(w.history.open_runs or read_intent(w))


def close_stopped(w: Workspace) -> None:
    """After an interruption: close the open runs, not counted. An error that is being passed on is the cause."""
    w.journal.catch_up(w.history)
    if is_unfinished(w):
        error = sys.exception()
        if isinstance(error, BranchMoved):
            stopped = replace(STOPPED, detail="somebody moved the branch while the agent worked; the run is repeated")
        elif isinstance(error, Exception):
            stopped = replace(STOPPED, detail=f"it ended with an error: {error}"[:300])
        else:
            stopped = STOPPED
        recover(w, stopped)
