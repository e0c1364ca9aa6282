"""What was found of the parts of landed stories rides along with the next commit: it has none of its own."""

from __future__ import annotations

from ralphy.documents.progress import with_parts_line
from ralphy.engine.feature import documents
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.model import Prd
from ralphy.pipeline.parts import due, parts_in_words, with_parts


def with_noted_parts(w: Workspace, prd: Prd, head: str) -> tuple[Prd, dict[str, bytes | None]]:
    """prd.json with what was found, and the documents of those stories."""
    known = w.session.parts
    files: dict[str, bytes | None] = {}
    for story in due(prd, {}) if known else ():
        if said := parts_in_words({"parts": known.get(story.id)}, 20):
            name = w.feature.story_document(story.id)
            files[name] = with_parts_line(documents.text(w, name, head), said).encode()
    return with_parts(prd, known), files
