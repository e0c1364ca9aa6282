"""Recover: what a Ralphy that died left behind is finished if it was recorded, else cleared away and kept.

First nothing of the dead run may live; then the recorded intent is completed if its commit is there
(ruling 12); then an open run is closed as crashed: its tree goes under a ref, the checkout back to green.
"""

from __future__ import annotations

from pathlib import Path

from ralphy.adapters import git
from ralphy.adapters.proc_table import REPO_MARKER, sweep
from ralphy.core.agent import AgentResult, Outcome
from ralphy.core.report import Claim
from ralphy.engine import forgery
from ralphy.engine.attempt import Attempt, settle
from ralphy.engine.candidate import note_ignored, prepare_index, reset_to, undo_code_changes, write_candidate
from ralphy.engine.control import set_markers_aside
from ralphy.engine.land import complete_intent
from ralphy.engine.observe import committed_prd
from ralphy.engine.running import Ran
from ralphy.engine.verify import Verdict
from ralphy.engine.workspace import Workspace, repository_token

CRASHED = AgentResult(Outcome.CRASHED, detail="Ralphy or the machine ended while the agent worked")
STOPPED = AgentResult(Outcome.STOPPED, detail="stopped by a person")


def recover(w: Workspace, result: AgentResult = CRASHED) -> None:
    """Bring the feature back to a state to go on from; does nothing if nothing is open."""
    killed = sweep(REPO_MARKER, repository_token(w.repository))
    if killed:
        w.say(f"{killed} processes of the last run were still alive and have been ended")
    w.index_is_ready, w.clean_at = False, ""
    if w.intent.exists() and complete_intent(w):
        w.say("the commit that was being landed is complete")
    run = w.history.open_run
    if run is None:
        return
    set_markers_aside(w)
    w.say(f"the run {run.get('run')} is closed: {result.detail}")
    if run.get("step") == "story" and run.get("branch") == w.feature_branch:
        _close_attempt(w, result)
    else:
        _close_step(w, result)


def _close_attempt(w: Workspace, result: AgentResult) -> None:
    run = w.history.open_run
    assert run
    head = git.resolve(w.repository, f"refs/heads/{w.feature_branch}")
    expected = str(run.get("green") or head)
    tip, forged = forgery.repair_head(w, expected)
    prepare_index(w, expected)
    note_ignored(w)
    green = w.objects.tree_of(expected)
    candidate = write_candidate(w, green)
    prd = committed_prd(w)
    ran = Ran(str(run["run"]), result, Claim(), Path(w.feature.private / "outbox" / str(run["run"])), ())
    verdict = Verdict(result.outcome, forged or result.detail, result.detail)
    story = prd.story(str(run.get("story")))
    settle(w, Attempt(story, int(run.get("attempt", 1)), prd, expected, ran, candidate, verdict, tip))


def _close_step(w: Workspace, result: AgentResult) -> None:
    """A document's step died: nothing of it was moved in; code that it may have changed goes back."""
    run = w.history.open_run
    assert run
    branch, head = git.head_of(w.repository)
    green = w.objects.tree_of(str(run.get("green") or head))
    prepare_index(w, head)
    if branch == w.feature_branch:
        reset_to(w, green) if not undo_code_changes(w, green)[0] else None
    else:
        undo_code_changes(w, green)
    w.record("end", run=run["run"], outcome=result.outcome.value, detail=result.detail, failure=result.detail)


def is_unfinished(w: Workspace) -> bool:
    """Is there anything to recover from?"""
    return w.history.open_run is not None or w.intent.exists()


def close_stopped(w: Workspace) -> None:
    """After an interruption: close the open run without counting it."""
    w.journal.catch_up(w.history)
    if is_unfinished(w):
        recover(w, STOPPED)
