"""The next attempt's text about a conflict: what both sides wanted, and what both changed in the same files."""

from __future__ import annotations

from collections.abc import Sequence

from ralphy.documents.criteria import titled_lists
from ralphy.engine.feature.documents import committed_prd
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.model import Story
from ralphy.text.first_few import first_few
from ralphy.text.plain_text import as_utf8

_MOST_CHARS = 6000  # of each side's diff
_MOST_STORIES = 5


def conflict_digest(w: Workspace, own: tuple[str, str], theirs: tuple[str, str], paths: Sequence[str]) -> str:
    """The digest: `own` and `theirs` are each what was there before, and after the change."""
    names = ", ".join(map(as_utf8, paths[:20]))
    parts = (
        f"The last attempt's work conflicts with {named_between(w, *theirs)}, in {names}. In these files the tree has "
        "what was committed; the rest of the work is in place. Do your story on top of it, so that both hold.",
        landed_between(w, *theirs),
        f"What was committed meanwhile in these files:\n\n{_diff(w, theirs, paths)}",
        f"What your last attempt changed in these files:\n\n{_diff(w, own, paths)}",
    )
    return "\n\n".join(part for part in parts if part)


def landed_between(w: Workspace, base: str, tip: str) -> str:
    """The stories that landed from one commit to another, with what they were to do; "" if none did."""
    descriptions = "\n".join(map(_title_and_criteria, _stories_landed(w, base, tip)[:_MOST_STORIES]))
    return f"These stories were completed meanwhile:\n\n{descriptions}" if descriptions else ""


def named_between(w: Workspace, base: str, tip: str) -> str:
    """What came from one commit to another, for a sentence: its stories by their ids, if any landed."""
    ids = [story.id for story in _stories_landed(w, base, tip)]
    return f"{first_few(ids, _MOST_STORIES)}, which landed meanwhile" if ids else "what was committed meanwhile"


def _stories_landed(w: Workspace, base: str, tip: str) -> list[Story]:
    form = "--format=%(trailers:key=Ralphy-Story,valueonly,separator=)"
    mine = f"{w.feature.name}/"
    landed = w.repository.text("log", form, f"{base}..{tip}").split()
    ids = {name.removeprefix(mine) for name in landed if name.startswith(mine)}
    return [story for story in committed_prd(w, tip).stories if story.id in ids]


def _title_and_criteria(story: Story) -> str:
    criteria = [item.bullet("  -") for _, items in titled_lists(story.raw) for item in items]
    return "\n".join([f"- {story.id}: {story.title}", *criteria])


def _diff(w: Workspace, between: tuple[str, str], paths: Sequence[str]) -> str:
    plain = ("--no-ext-diff", "--no-textconv")
    where = [f":(top,literal){path}" for path in paths[:20]]
    text = w.repository.run("diff", *plain, *between, "--", *where).decode("utf-8", "replace")
    return text if len(text) <= _MOST_CHARS else f"{text[:_MOST_CHARS]}\n(the rest is left out)\n"
