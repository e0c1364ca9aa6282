"""Changing stories from the command line, where no other Ralphy works in the checkout."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ralphy.cli.options import Invocation
from ralphy.engine.person.story_changes import change_stories
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.run_lock import LockBusy
from ralphy.pipeline.story_changes import Changed, StoryChange

_MEANWHILE = ("for a new story, another order or other words edit prd.json: Ralphy takes that at its next decision; "
              "or stop it with: ralphy abort")  # fmt: skip


@contextmanager
def stories_changed(
    call: Invocation, feature: str | None, change: StoryChange, purpose: str, *, review: bool = True
) -> Iterator[tuple[Workspace, Changed]]:
    """Make the change. Raises LockBusy where another Ralphy works; the error says what can be done meanwhile."""
    try:
        with call.edited(feature, purpose, review=review) as (w, s):
            yield w, change_stories(w, s, change)
    except LockBusy as busy:
        busy.hint = _MEANWHILE
        raise
