"""What people say, taken into the record: approvals, rejections, answers, edits, and the branch they start."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ralphy.documents.questions import asked
from ralphy.engine.feature import documents
from ralphy.engine.feature.branch_tip import beginning
from ralphy.engine.feature.kept_attempts import attempt_numbers
from ralphy.engine.feature.land import adopt_edits, begin_branch, commit_documents, ensure_folder_files
from ralphy.engine.workspace.set_aside import drop_leftovers, set_aside
from ralphy.engine.workspace.workspace import Workspace, fixed_base
from ralphy.pipeline import decision as d
from ralphy.pipeline import stories
from ralphy.pipeline.events import GateAnswered, StoryFailed, Verdict
from ralphy.pipeline.gates import newest_of
from ralphy.pipeline.model import Prd, Snapshot, Status, Story
from ralphy.pipeline.split import pieces_of
from ralphy.pipeline.steps.qa import QA
from ralphy.pipeline.steps.step import CODE
from ralphy.pipeline.steps.story import SPLIT, STORY
from ralphy.pipeline.steps.table import phase_after, step_of
from ralphy.prompts.budget import clip
from ralphy.text.counted import counted

_MOST_NOTED = 300  # characters of a remark, for the report
_MOST_PRINTED = 1200  # bytes of a failing check in QUESTIONS.md


def open_gate(w: Workspace, decision: d.OpenGate, s: Snapshot) -> None:
    """Note since when a marker counts: since the artifact was there as it is now."""
    ensure_folder_files(w)
    step = step_of(decision.gate)
    newest = newest_of(s, step)
    w.record("gate", gate=decision.gate, digest=step.content(s), ctime_ns=newest[1].ctime_ns if newest else 0)


def approve(w: Workspace, decision: d.Approve, s: Snapshot) -> None:
    """Bind the approval to the bytes that are there, and consume the marker."""
    step = step_of(decision.gate)
    entry = _entry(w, s, decision.gate, "approved", decision.by)
    prd = _with_entry(s.prd, entry).with_workflow(phase=phase_after(step))
    if made := s.prd.step(step.name):
        prd = prd.with_step(step.name, {**made, "inputs": {**made.get("inputs", {}), **step.inputs_now(s)}})
    commit_documents(w, s, f"{decision.gate}-approved", f"{step.document} approved", prd=stories.canonical(prd))
    w.record("approved", durable=False, gate=decision.gate, digest=entry["digest"], by=decision.by)
    w.milestone("approval_written")
    w.feature.file("APPROVED").unlink(missing_ok=True)
    w.milestone("marker_consumed")
    w.emit(GateAnswered(gate=decision.gate, document=step.document, verdict="approved", by=decision.by))


def reject(w: Workspace, decision: d.Reject, s: Snapshot) -> None:
    """Text goes back to the step's agent; without text the feature ends here."""
    artifact = step_of(decision.gate).document
    verdict: Verdict = "revise" if decision.text else "rejected"
    entry = _entry(w, s, decision.gate, verdict, "REJECTED")
    if decision.text:
        entry["text"] = decision.text[:8000]
    w.record("reset", step=decision.gate)
    commit_documents(w, s, f"{decision.gate}-{verdict}", f"{artifact} {verdict}", prd=_with_entry(s.prd, entry))
    w.record("rejected", durable=False, gate=decision.gate, digest=entry["digest"], verdict=verdict,
             text=decision.text[:_MOST_NOTED] or None)  # fmt: skip
    w.milestone("rejection_written")
    set_aside(w, w.feature.file("REJECTED"))
    w.emit(GateAnswered(gate=decision.gate, document=artifact, verdict=verdict, by="REJECTED"))


def _entry(w: Workspace, s: Snapshot, gate: str, verdict: str, by: str) -> dict[str, Any]:
    step = step_of(gate)
    entry = {"gate": gate, "verdict": verdict, "artifact": step.document, "digest": step.content(s),
             "at": w.iso_now, "by": by}  # fmt: skip
    return {**entry, "code": s.tree.code} if CODE in step.inputs else entry


def _with_entry(prd: Prd, entry: dict[str, Any]) -> Prd:
    return prd.with_workflow(approvals=[*prd.workflow.get("approvals", ()), entry])


def set_marker_aside(w: Workspace, decision: d.SetAside, _: Snapshot) -> None:
    """A marker that is not a statement is set aside, and reported."""
    path = w.feature.file(decision.marker)
    moved = set_aside(w, path)
    w.say(f"{decision.reason}: moved to .ralphy/set-aside/{moved.name}" if moved else decision.reason)
    w.record("marker_set_aside", durable=False, marker=decision.marker, why=decision.reason)


def stop(w: Workspace, _: d.Stop, s: Snapshot) -> None:
    """Consume STOP; the session ends. It may be made while an agent works, by whom is not known: that is noted."""
    run = _run_at(s, s.markers["STOP"].ctime_ns / 1e9)
    w.feature.file("STOP").unlink(missing_ok=True)
    w.record("stopped", durable=False, during=run or None)
    if run:
        w.say("STOP was created during the run, possibly by the agent; run Ralphy again to resume")
    if w.session.in_work:
        w.say("STOP found: finishing this run, then stopping. To stop now, run `ralphy abort`")
    w.session = replace(w.session, stop_asked=True)


def _run_at(s: Snapshot, at: float) -> str:
    """The last run, if it went on at that moment; else ""."""
    end = s.history.last_end or {}
    began, ended = (s.history.calls or (at + 1,))[-1], end.get("at")
    return str(end.get("run")) if isinstance(ended, float) and began <= at <= ended else ""


def open_branch(w: Workspace, _: d.OpenBranch, s: Snapshot) -> None:
    """The feature's branch begins with a commit of the feature folder, prd.json in its canonical form."""
    ensure_folder_files(w)
    drop_leftovers(w)
    prd = stories.canonical(s.prd)
    if s.tree.base != fixed_base(w.repository, w.config):  # HEAD will not tell it any more
        prd = prd.with_workflow(base=s.tree.base)
    if not w.store.is_as_read:  # somebody has written it since the look: that is read first
        return
    prd = prd if prd is s.prd and s.has_prd_file else _with_branch(w, prd)
    if begins := beginning(w, s.tree):
        w.say(begins)
    begin_branch(w, s.tree, prd)


def _with_branch(w: Workspace, prd: Prd) -> Prd:
    return prd if prd.raw.get("branchName") else Prd({**prd.raw, "branchName": w.feature_branch}, prd.stories)


def adopt(w: Workspace, decision: d.Adopt, s: Snapshot) -> None:
    """Commit what a person changed in the feature folder, prd.json in its canonical form."""
    adopt_edits(w, s.tree.head, decision.reason)


def give_up(w: Workspace, decision: d.GiveUp, s: Snapshot) -> None:
    """The story is failed, with its last error, and a person is asked; those that depend on it are blocked by it."""
    story = s.prd.story(decision.story)
    past = s.history.of(STORY.name, story.id)
    used = stories.attempts_used(s.history, story)
    execution = {**story.execution, "attempts": used}
    last = story.execution.get("last_error") or past.last_failure or "unknown"
    execution["last_error"] = decision.error or last
    prd = s.prd.with_story(story.id, passes=False, status=Status.FAILED.value, execution=execution)
    question = _what_now(w, s, story, decision.reason, "" if decision.error else str(last))
    text = asked(documents.text(w, "QUESTIONS.md"), story.id, story.title, question)
    what = "is set aside" if decision.error else f"failed after {counted(used, 'attempt')}"
    commit_documents(w, s, f"failed {story.id}", f"{story.id} {what}", prd=prd, files={"QUESTIONS.md": text.encode()})
    w.emit(StoryFailed(story=story.id, reason=str(execution["last_error"])[:300],
                       asked_in=w.feature.in_repository("QUESTIONS.md")))  # fmt: skip


def _what_now(w: Workspace, s: Snapshot, story: Story, reason: str, error: str) -> str:
    """What a person is asked about a story that Ralphy cannot do: what was tried, and the ways on."""
    pieces = ", ".join(f"{piece.id} ({piece.status.value})" for piece in pieces_of(s.prd, story.id))
    past = s.history.of(STORY.name, story.id)
    unsplit = s.history.of(SPLIT.name, story.id).last_failure
    printed = past.last_failure.partition("\n\n")[2] if error else ""
    lines = [
        f"{reason[:300]}." + (f" The last failure: {error[:600]}" if error else ""),
        f"It printed:\n\n{_indented(clip(printed, _MOST_PRINTED, 0.7))}\n" if printed else "",
        f"It was split before: {pieces}." if pieces else "",
        f"It could not be split: {unsplit[:300]}" if unsplit else "",
        f"How should the next attempt {'get past this failure' if error else 'go on'}? Your answer reopens the story "
        "and is given to the agent word for word (where the trouble is, another way, a smaller scope; or just: again).",
        f"Or change or remove it in prd.json, or do it yourself, commit, and: "
        f"ralphy story done {w.feature.name}/{story.id}. "
        f"What was tried: ralphy {'attempts' if attempt_numbers(w, story.id) else 'logs'} {w.feature.name}/{story.id}",
    ]
    return "\n".join(line for line in lines if line)


def _indented(text: str) -> str:
    """A block of code in Markdown."""
    return "\n".join(f"    {line}".rstrip() for line in text.splitlines())


def add_fixes(w: Workspace, _: d.AddFixes, s: Snapshot) -> None:
    """The review's blocking findings become stories behind the others."""
    assert s.qa
    new = stories.fixes(s.prd, s.qa.blocking, max(1, s.history.qa_rounds))
    prd = s.prd.with_stories(stories.merged(s.prd, new))
    record = {**s.prd.step(QA.name), "fixed": s.digest(QA.document)}
    prd = prd.with_step(QA.name, record).with_workflow(phase=STORY.phase)
    commit_documents(w, s, "fixes", f"{len(new)} findings of the review become stories", prd=prd)


def accept_red(w: Workspace, _: d.AcceptRed, s: Snapshot) -> None:
    """The failing tests are known from now on; their set may only shrink."""
    assert s.baseline
    w.record("accept_red", tests=list(s.baseline.red))
