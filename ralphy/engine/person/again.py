"""Doing a step again, starting over, closing the circuit breaker. Nothing is deleted; stories: `story_changes`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from ralphy.documents.questions import step_key
from ralphy.engine.feature import documents
from ralphy.engine.feature.land import commit_documents
from ralphy.engine.feature.live_documents import is_tracked_here
from ralphy.engine.person.story_changes import unasked
from ralphy.engine.runs.recover import is_unfinished, recover
from ralphy.engine.view.observe import observe
from ralphy.engine.workspace.set_aside import free_place, set_aside
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import Conflict
from ralphy.files.atomic import replace_file
from ralphy.git import commands as git
from ralphy.pipeline.life import Life
from ralphy.pipeline.model import Document, Snapshot
from ralphy.pipeline.steps.clarify import CLARIFY
from ralphy.pipeline.steps.spec import SPEC
from ralphy.pipeline.steps.step import Step


def _settled(w: Workspace) -> Snapshot:
    """The feature as it is when what a dead run left has been cleared away; an invalid review does not matter."""
    if is_unfinished(w):
        recover(w)
    return observe(w, review=False)


def redo_step(w: Workspace, step: Step) -> str:
    """Set the step's document aside, so that it is made again; gives a sentence."""
    s = _settled(w)
    if s.life is Life.MERGED:
        raise Conflict(f"{s.feature} is merged into {s.tree.base} and closed; the {step.name} step will not run again",
                       hint="begin another feature, or reopen one of its stories (ralphy redo --help)")  # fmt: skip
    if step is CLARIFY:
        _require_asking(w, s)
    if step.starts_over:
        s = start_over(w, s)
    steps = {name: record for name, record in (s.prd.workflow.get("steps") or {}).items() if name != step.name}
    approvals = _without_approvals(s.prd.workflow.get("approvals", ()), step.name)
    prd = s.prd.with_workflow(steps=steps, approvals=approvals)
    if not step.starts_over:
        prd = prd.with_workflow(pr={})
    w.record("reset", step=step.name)
    moved = _set_aside(w, s, step.document)
    files: dict[str, bytes | None] = {step.document: None} if s.tree.is_on_branch and moved else {}
    files |= unasked(w, (step_key(step.name),))
    commit_documents(w, s, f"redo-{step.name}", f"{step.name} is made again", prd=prd, files=files)
    old = f"; the old one is {w.feature.path}/.ralphy/set-aside/{moved.name}" if moved else ""
    return f"{step.document} is made again at the next run{old}"


def _set_aside(w: Workspace, s: Snapshot, name: str) -> Path | None:
    """Set a document aside; of one that is left to Git in the folder, the branch's version."""
    is_elsewhere = s.tree.is_on_branch and git.current_branch(w.repository) != w.feature_branch
    if not (is_elsewhere and is_tracked_here(w, name) and s.digest(name)):
        return set_aside(w, documents.place_of(w, name))
    target = free_place(w, name)
    replace_file(target, documents.to_read(w, name))
    return target


def _require_asking(w: Workspace, s: Snapshot) -> None:
    """Raises Conflict where the next run would not ask anything about PRD.md."""
    if s.digest(SPEC.document):
        raise Conflict(
            f"{SPEC.document} exists already, so the next run asks no questions",
            hint=f"first: ralphy redo {SPEC.name} {s.feature}",
        )
    if w.config.clarify.ask == "off":
        raise Conflict("clarify.ask is off, so the next run asks no questions",
                       hint=f"ralphy config set clarify.ask on, or: rm {w.feature.in_repository(CLARIFY.document)}; "
                            f"ralphy clarify {s.feature}")  # fmt: skip


def start_over(w: Workspace, s: Snapshot) -> Snapshot:
    """A person's word that stories which are gone from prd.json are to stay gone: the feature without them."""
    if not s.lost:
        return s
    w.record("started_over", head=s.tree.head)
    set_aside(w, w.feature.file("prd.json"))
    left = [story.raw for story in s.prd.stories if story.id not in s.lost.stories]
    return replace(s, prd=s.prd.with_stories(left))


def close_breaker(w: Workspace) -> tuple[str, str]:
    """Close the circuit breaker, so that agents may run again; gives what its state was, and what it is now."""
    before = w.history.breaker.state_at(w.clock()).value
    w.record("reset_circuit")
    return before, w.history.breaker.state_at(w.clock()).value


def _without_approvals(approvals: Sequence[Document], gate: str) -> list[Document]:
    """The verdicts at all gates; of this gate only the rejections, as answered: their bytes wait for a person."""
    others = [entry for entry in approvals if entry.get("gate") != gate or entry.get("verdict") != "approved"]
    return [{**entry, "answered": True} if entry.get("gate") == gate else entry for entry in others]
