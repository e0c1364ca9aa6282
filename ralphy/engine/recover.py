"""Recover: what a Ralphy that died left behind is finished if it was recorded, else cleared away and kept.

First nothing of the dead run may live; then the recorded intent is completed if its commit is there;
then an open run is closed: its tree goes under a ref, the checkout back to green. The death of Ralphy or of the
machine costs no attempt, and the next run resumes from what was kept.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ralphy.agents.outbox import Outbox
from ralphy.agents.protocol import AgentResult, Outcome
from ralphy.agents.status_report import Claim
from ralphy.documents.prd_reader import check_prd
from ralphy.engine import forgery, git_state
from ralphy.engine.attempt import Attempt, kept_work_on, settle
from ralphy.engine.authoring import keep_code, put_back
from ralphy.engine.candidate import Candidate, load_index, write_candidate
from ralphy.engine.changes import note_ignored
from ralphy.engine.control import drop_leftovers, mend_folders, set_aside, set_markers_aside
from ralphy.engine.ending import end_line
from ralphy.engine.land import complete_intent, read_intent
from ralphy.engine.lane_candidate import candidate_from
from ralphy.engine.lane_tree import put_prd_back, tip_of
from ralphy.engine.restore import put_control_back
from ralphy.engine.running import Ran
from ralphy.engine.scan import redact_run
from ralphy.engine.spent import has_spoken, with_known_cost
from ralphy.engine.unfinished_documents import digest_of
from ralphy.engine.verify import Verdict
from ralphy.engine.workspace import Workspace, repository_token
from ralphy.errors import Conflict
from ralphy.files.atomic import read_regular
from ralphy.files.tree_walk import children
from ralphy.git import commands as git
from ralphy.git import untouched
from ralphy.pipeline.history import Entry
from ralphy.pipeline.model import Prd, Status
from ralphy.pipeline.stories import canonical
from ralphy.processes.process_table import REPO_MARKER, await_orphans, sweep
from ralphy.processes.supervisor_link import SCRIPT
from ralphy.text.strict_json import dump

if TYPE_CHECKING:
    from ralphy.lanes.lane import Lane

DIED = AgentResult(Outcome.DIED, detail="Ralphy or the machine died while the agent worked")
STOPPED = AgentResult(Outcome.STOPPED, detail="it was stopped before its end")


def recover(w: Workspace, result: AgentResult = DIED) -> None:
    """Bring the feature back to a state to go on from; does nothing if nothing is open.

    Raises Conflict if the feature is being worked on in another checkout.
    """
    if place := w.worked_on_in:
        raise Conflict(f"feature {w.feature.name} is being worked on in {place}", hint="git worktree list")
    _end_what_lives(w)
    run = w.history.open_run
    if run:
        runs = w.feature.private / "runs"
        for found in children(w.repository.root, runs):
            if found.is_folder and found.name.startswith(f"{run.get('run')}-"):
                redact_run(w, runs / found.name)
        forgery.drop_locks(w, str(run.get("branch") or ""), float(run.get("at") or 0.0))
    elif read_intent(w):
        forgery.drop_locks(w, w.feature_branch, w.intent.stat().st_mtime)
    if read_intent(w) and complete_intent(w):
        w.say("the commit that was being landed is complete")
        run = w.history.open_run
    if run is None:
        _mend_index(w)
        return
    w.say(f"the run {run.get('run')} is closed: {result.detail}")
    result = with_known_cost(w, str(run.get("run")), result)
    if w.lanes:
        _close_in_lane(w, w.lanes.agent(), run, result)
        return
    if forgery.person_left(w, str(run.get("branch") or "")) and git_state.head_moved_later(w):
        _leave_alone(w, run, result)
        return
    mend_folders(w)
    drop_leftovers(w)
    if early := set_markers_aside(w):
        w.say(f"{', '.join(early)}: made before the dead run was cleared, set aside; make it again when a gate waits")
    base = _base(w, run)
    load_index(w, base)
    if run.get("step") == "story" and run.get("branch") == w.feature_branch:
        _close_attempt(w, run, result, base)
    else:
        _close_step(w, run, result, base)


def _close_in_lane(w: Workspace, lane: Lane, run: Entry, result: AgentResult) -> None:
    """A run in a lane ended without a word: its work is taken out of the lane and kept."""
    base = str(run.get("green") or "") or tip_of(w)
    green, name = w.objects.tree_of(base), str(run["run"])
    if run.get("step") != "story":
        keep_code(w, lane, str(run.get("step")), name, base, green)
        made = digest_of(w, name)
        put_prd_back(w, tip_of(w))
        _note_end(w, run, result, outbox=name if made else None, work=made or None)
        return
    prd = committed(w, tip_of(w))
    story = next((found for found in prd.stories if found.id == run.get("story")), None)
    put_prd_back(w, tip_of(w))
    if story is None or story.is_completed:
        _note_end(w, run, result)
        return
    candidate = candidate_from(w, lane, green, green)
    ran = Ran(name, result, Claim(), Outbox(w.feature.private / "outbox" / name), ())
    kept = w.history.kept_of(name)
    kept = kept if kept and _is_part_of(w, candidate, w.objects.tree_of(kept)) else ""
    verdict = Verdict(result.outcome, result.detail, result.detail, goes_on=True)
    settle(w, Attempt(story, int(run.get("attempt", 1)), prd, base, ran, candidate, verdict, base,
                      was_cut_off=True, kept=kept))  # fmt: skip


def committed(w: Workspace, commit: str) -> Prd:
    """prd.json as a commit has it; no stories if it has none."""
    path = w.feature.in_repository("prd.json")
    data = w.objects.read(f"{commit}:{path}")
    return canonical(Prd.of(check_prd(data, f"{commit[:10]}:{path}"))) if data else Prd.of({"userStories": []})


def _leave_alone(w: Workspace, run: Entry, result: AgentResult) -> None:
    """A person has switched the branch since: what the run left in the checkout is noted, and stays."""
    w.say("HEAD was moved elsewhere since: what is there now is left alone")
    left = [path for code, path in w.checkout.changed(w.config.project.features_dir) if code != "!!"]
    w.record("left", run=run.get("run"), paths=left[:100])
    _note_end(w, run, result)


def _end_what_lives(w: Workspace) -> None:
    """Nothing of the dead run goes on, and nothing that was known of the checkout holds any more."""
    killed = sweep(REPO_MARKER, repository_token(w.repository))
    if killed:
        w.say(f"{killed} processes of the last run were still alive and have been ended")
    await_orphans((SCRIPT, untouched.__file__))
    if not w.lanes:
        git_state.put_back_after_kill(w)
    w.checkout.close()  # Ctrl-C ends what was kept warm, too
    w.checkout.index_at = ""
    w.checkout.look_anew()


def _base(w: Workspace, run: Entry) -> str:
    """The commit to go back to: where the run began, or where a person has moved the branch since (a revert stands)."""
    branch, green = str(run.get("branch") or ""), str(run.get("green") or "")
    if green and not _is_moved_since(w, run, branch, green):
        return green
    return git.resolve(w.repository, f"refs/heads/{branch}") or git.head_of(w.repository)[1]


def _is_moved_since(w: Workspace, run: Entry, branch: str, green: str) -> bool:
    """Has a person moved the branch? Git's log alone is no proof on the feature's branch: an agent can write it."""
    if not forgery.person_moved(w, branch, green):
        return False
    if branch != w.feature_branch or git_state.moved_later(w, branch, float(run.get("at") or 0.0)):
        return True
    tip = git.resolve(w.repository, f"refs/heads/{branch}")
    w.say(f"{branch} was moved while the agent worked, possibly by it: it is back at {green[:10]}. What was there is "
          f"kept; if it was you: git merge --ff-only {tip[:12]}")  # fmt: skip
    return False


def _close_attempt(w: Workspace, run: Entry, result: AgentResult, base: str) -> None:
    prd = _set_prd_aside(w, base, str(run.get("story")))
    story = next((found for found in prd.stories if found.id == run.get("story")), None)
    if story is None or story.is_completed:  # a person has rewound to before it, or it was landed and its end is lost
        _close_step(w, run, result, base)
        return
    tip, forged = forgery.repair_head(w, base)
    note_ignored(w)
    candidate = write_candidate(w, w.objects.tree_of(base))
    ran = Ran(str(run["run"]), result, Claim(), Outbox(w.feature.private / "outbox" / str(run["run"])), ())
    kept = w.history.kept_of(ran.run)
    kept = kept if kept and _is_part_of(w, candidate, w.objects.tree_of(kept)) else ""
    goes_on = not forged and (bool(kept) or not _is_half_laid_out(w, run, candidate))
    verdict = Verdict(result.outcome, forged or result.detail, result.detail, goes_on=goes_on)
    settle(w, Attempt(story, int(run.get("attempt", 1)), prd, base, ran, candidate, verdict, tip,
                      was_cut_off=True, kept=kept))  # fmt: skip
    if result.outcome is Outcome.DIED and any(name.endswith(".ralphy/config.yaml") for name in candidate.tampered):
        raise Conflict("the dead run had changed .ralphy/config.yaml; it is put back as it was committed",
                       hint="start again: only then are these settings the ones in force")  # fmt: skip


def _is_half_laid_out(w: Workspace, run: Entry, candidate: Candidate) -> bool:
    """Did the run die before its agent, while the kept work was being laid out? Then the kept work is still the whole.

    What is there is a part of that work, and the agent has not said a word.
    """
    kept = w.history.of("story", str(run.get("story"))).tree
    if run.get("mode") == "fresh" or not kept or has_spoken(w, str(run.get("run"))):
        return False
    return _is_part_of(w, candidate, kept_work_on(w, candidate.green, kept))


def _is_part_of(w: Workspace, candidate: Candidate, tree: str) -> bool:
    """Is all that the candidate changes changed in the same way in a tree?"""
    whole = {path: new for path, _, new in w.objects.changes(candidate.green, tree)}
    there = w.objects.changes(candidate.green, candidate.tree)
    return all(path in whole and whole[path] == new for path, _, new in there)


def _set_prd_aside(w: Workspace, base: str, story_id: str) -> Prd:
    """The committed prd.json; one that is neither this nor what a run makes of it is set aside, and said."""
    path = w.feature.in_repository("prd.json")
    committed = w.objects.read(f"{base}:{path}")
    if committed is None:
        return Prd.of({"userStories": []})
    prd, known = canonical(Prd.of(check_prd(committed, f"{base[:10]}:{path}"))), [committed]
    if any(story.id == story_id for story in prd.stories):
        known.append(dump(prd.with_story(story_id, status=Status.IN_PROGRESS.value).raw))
    if read_regular(w.feature.file("prd.json")) not in known and set_aside(w, w.feature.file("prd.json")):
        w.say(f"changed during the run and put back: {path}")
    return prd


def _close_step(w: Workspace, run: Entry, result: AgentResult, base: str) -> None:
    """A document's step died: nothing of it was moved in; code that it may have changed goes back."""
    branch = str(run.get("branch") or "")
    put_back(w, str(run.get("step")), str(run["run"]), branch, base)
    if branch == w.feature_branch:
        put_control_back(w, w.objects.tree_of(base))
        w.install_index()
    made = digest_of(w, str(run["run"]))
    _note_end(w, run, result, outbox=str(run["run"]) if made else None, work=made or None)


def _note_end(w: Workspace, run: Entry, result: AgentResult, **more: Any) -> None:
    line = end_line(str(run["run"]), result, result.outcome, detail=result.detail, failure=result.detail, **more)
    w.record("end", **line)


def _mend_index(w: Workspace) -> None:
    """Bring up the checkout's index that somebody's lock left behind, unless a person has staged something in it."""
    if not w.lagging_index.exists() or (w.repository.git_dir / "index.lock").exists():
        return
    w.lagging_index.unlink()
    try:
        staged = w.repository.text("write-tree")
    except git.GitError:  # a person is at a merge
        return
    if staged in w.repository.text("log", "--first-parent", "--format=%T", "--max-count=1000").split():
        load_index(w, git.head_of(w.repository)[1])
        w.install_index()
        w.checkout.look_anew()


def recover_left(w: Workspace) -> None:
    """The same for what was left open: a run that the full disk cut short is not counted, one that died is."""
    cut = w.session.cut_short
    recover(w, replace(STOPPED, detail=cut) if cut else DIED)
    w.session = replace(w.session, cut_short="")


def is_unfinished(w: Workspace) -> bool:
    """Is there anything to recover from?"""
    return w.history.open_run is not None or bool(read_intent(w)) or (not w.lanes and git_state.is_open(w))


def close_stopped(w: Workspace) -> None:
    """After an interruption: close the open run without counting it. An error that is being passed on is its cause."""
    if not git_state.is_there(w):
        return  # the run's end has said so; there is nothing to write to
    w.journal.catch_up(w.history)
    if is_unfinished(w):
        error = sys.exception()
        failed = isinstance(error, Exception)
        recover(w, replace(STOPPED, detail=f"it ended with an error: {error}"[:300]) if failed else STOPPED)
