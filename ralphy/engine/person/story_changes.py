"""Changes of the stories by a person: made by a command, or by the loop that takes a queued request.

A request is made once: its id is written into prd.json together with the change (`workflow.request`), so that
after a kill between the commit and the removal of its file, the file alone goes.
"""

from __future__ import annotations

from dataclasses import replace

from ralphy.documents import request_queue
from ralphy.documents.prd_reader import check_prd
from ralphy.documents.questions import without
from ralphy.engine.feature import documents, land
from ralphy.engine.workspace.set_aside import set_aside
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import Conflict, InvalidInput, NotFound
from ralphy.pipeline import decision as d
from ralphy.pipeline.model import Prd, Snapshot
from ralphy.pipeline.requests import Change
from ralphy.pipeline.stories import canonical
from ralphy.pipeline.story_changes import Changed, changed
from ralphy.text.strict_json import dump
from ralphy.text.tone import WAITING

_MISFITS = (Conflict, InvalidInput, NotFound)


def plan(s: Snapshot, change: Change) -> Changed:
    """What the change makes of prd.json, checked as if it were read from the disk. Raises what speaks against it."""
    new = changed(s.prd, s.feature, change)
    if new.prd is s.prd:
        return new
    prd = canonical(new.prd)
    check_prd(dump(prd.raw), "the changed prd.json", base_branches=(s.tree.base,))
    return replace(new, prd=prd)


def keep(w: Workspace, s: Snapshot, new: Changed, request: str = "") -> None:
    """Commit the change, or write it where there is no branch; nothing if prd.json says it already."""
    if new.reset is not None:
        w.record("reset", **new.reset)  # first: once more after a kill does no harm
    withdrawn = unasked(w, new.reopened)
    if new.prd.raw == s.prd.raw and not withdrawn:
        return
    prd = new.prd.with_workflow(request=request) if request else new.prd
    land.commit_documents(w, s, new.event, new.subject, prd=prd, files=withdrawn)


def unasked(w: Workspace, keys: tuple[str, ...]) -> dict[str, bytes | None]:
    """QUESTIONS.md without what was asked about these stories and steps; nothing if nothing was."""
    before = after = documents.text(w, "QUESTIONS.md")
    for key in keys:
        after = without(after, key)
    return {"QUESTIONS.md": after.encode()} if after != before else {}


def take_request(w: Workspace, _: d.TakeRequest, s: Snapshot) -> None:
    """Make the change that was queued, then remove its request; one that no longer fits is set aside, and said."""
    assert s.request
    request, state = s.request, w.repository.state_dir
    if request.id != s.prd.workflow.get("request"):
        try:
            new = _fitting(s)
        except _MISFITS as error:
            _set_aside(w, s, str(error))
            return
        keep(w, s, new, request.id)
        w.milestone("request_kept")
        w.say(f"queued while Ralphy worked: {new.said}")
    request_queue.forget(state, w.feature.name, request.id)
    w.milestone("request_removed")


def _fitting(s: Snapshot) -> Changed:
    assert s.request
    if s.request.change is None:
        raise InvalidInput(f"the request {s.request.invalid}")
    return plan(s, s.request.change)


def _set_aside(w: Workspace, s: Snapshot, why: str) -> None:
    assert s.request
    moved = set_aside(w, request_queue.path_of(w.repository.state_dir, w.feature.name, s.request.id))
    kept = f"; it is kept as {moved.name} in set-aside" if moved else ""
    w.say(f"a queued change is not made: {why}{kept}", WAITING)
    w.record("request_set_aside", durable=False, request=s.request.id, why=why)


def with_queued(w: Workspace, s: Snapshot) -> Prd:
    """prd.json as it will be when the requests that wait are taken; those that do not fit change nothing."""
    for request in request_queue.queued(w.repository.state_dir, w.feature.name):
        if request.change and request.id != s.prd.workflow.get("request"):
            try:
                s = replace(s, prd=plan(s, request.change).prd)
            except _MISFITS:
                continue
    return s.prd
