"""Changes of the stories by a person's command."""

from __future__ import annotations

from dataclasses import replace

from ralphy.documents.prd_reader import check_prd
from ralphy.documents.questions import without
from ralphy.engine.feature import documents, land
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.stories import canonical
from ralphy.pipeline.story_changes import Changed, StoryChange, changed
from ralphy.text.strict_json import dump


def change_stories(w: Workspace, s: Snapshot, change: StoryChange) -> Changed:
    """Make the change: commit it, or write it where there is no branch; nothing if prd.json says it already.

    Raises what `changed` raises, and InvalidInput where prd.json would not be valid afterwards.
    """
    new = _checked(s, changed(s.prd, s.feature, change))
    if new.reset is not None:
        w.record("reset", **new.reset)  # first: once more after a kill does no harm
    withdrawn = unasked(w, new.reopened)
    if new.prd.raw != s.prd.raw or withdrawn:
        land.commit_documents(w, s, new.event, new.subject, prd=new.prd, files=withdrawn)
    return new


def _checked(s: Snapshot, new: Changed) -> Changed:
    """The change with its prd.json in canonical form, checked as if it were read from the disk."""
    if new.prd is s.prd:
        return new
    prd = canonical(new.prd)
    check_prd(dump(prd.raw), "the changed prd.json", base_branches=(s.tree.base,))
    return replace(new, prd=prd)


def unasked(w: Workspace, keys: tuple[str, ...]) -> dict[str, bytes | None]:
    """QUESTIONS.md without what was asked about these stories and steps; nothing if nothing was."""
    before = after = documents.text(w, "QUESTIONS.md")
    for key in keys:
        after = without(after, key)
    return {"QUESTIONS.md": after.encode()} if after != before else {}
