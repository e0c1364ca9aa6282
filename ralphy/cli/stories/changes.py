"""Changing stories from the command line: at once, or queued for the Ralphy that works in this checkout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ralphy.cli.options import Invocation, require_changeable
from ralphy.documents import request_queue
from ralphy.engine.person.story_changes import keep, plan, with_queued
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import Conflict, ExitCode
from ralphy.git.run_lock import EVERY_FEATURE, Held, covers, holder, purpose_of
from ralphy.pipeline.requests import Change, Verb
from ralphy.pipeline.story_changes import Changed
from ralphy.processes.command import REPO_MARKER
from ralphy.processes.process_table import descends_from

Say = Callable[[Workspace, Changed], None]


def change_stories(
    call: Invocation, feature: str | None, change: Change, purpose: str, say: Say, *, review: bool = True
) -> int:
    """Make the change and `say` it; where another Ralphy works, queue it for that one."""
    try:
        with call.edited(feature, purpose, review=review) as (w, s):
            if change.verb is Verb.ADD:  # the ids of stories that are queued are taken
                change = replace(change, story=plan(replace(s, prd=with_queued(w, s)), change).story)
            new = plan(s, change)
            keep(w, s, new)
            say(w, new)
    except Held as held:
        return _queue(call, feature, change, held)
    return ExitCode.DONE


def _queue(call: Invocation, name: str | None, change: Change, held: Held) -> int:
    """Check the change as far as that is possible now, and leave it for the Ralphy that works here."""
    if held.purpose not in EVERY_FEATURE and not held.purpose.startswith(purpose_of("")):
        raise held
    with call.seen(name, review=False) as (w, s):
        _require_person(w)
        require_changeable(s)
        if not s.prd.stories:
            raise Conflict(f"{s.feature} has no stories yet, and Ralphy is at work", hint="add it when SPEC.md exists")
        new = plan(replace(s, prd=with_queued(w, s)), change)
        request = request_queue.queue(w.repository.state_dir, s.feature, replace(change, story=new.story))
        said = f"queued: {new.will} {_when(w)}"
    return call.output.answer("queued", said, feature=s.feature, change=change.verb.value, story=new.story or None,
                              request=request, said=said)  # fmt: skip


def _require_person(w: Workspace) -> None:
    """Raises Conflict within a run of this checkout: what agents and checks ask for is not a person's word."""
    token = w.repository.token
    if w.env.get(REPO_MARKER) == token or descends_from(REPO_MARKER, token):
        raise Conflict("an agent or a check cannot change the stories of its own run",
                       hint="ask in the report; a person decides")  # fmt: skip


def _when(w: Workspace) -> str:
    """When the request is taken: it may be another feature that is worked on, or the work may just have ended."""
    purpose = holder(w.repository.checkout_dir / "lock").get("purpose")
    return "at the next decision" if covers(purpose, w.feature.name) else f"when Ralphy next works on {w.feature.name}"
