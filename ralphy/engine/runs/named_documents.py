"""What a story's prompt gets of the documents that its `context` names; what cannot be read is said to both sides."""

from __future__ import annotations

from collections.abc import Mapping

from ralphy.engine.feature import documents
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.model import Story
from ralphy.prompts.budget import pick_spec_section
from ralphy.prompts.context_documents import Reference, read_document, references


def context_texts(w: Workspace, story: Story) -> Mapping[str, str]:
    """`spec_section` and `brief` for a story's prompt; without a reference, what SPEC.md says under the story's id."""
    named = {reference.field: reference for reference in references(story.raw)}
    spec, brief = named.get("parent_spec"), named.get("parent_brief")
    own = pick_spec_section(documents.text(w, "SPEC.md"), story.id)
    return {
        "spec_section": _text(w, story, spec, story.id) if spec else own,
        "brief": _text(w, story, brief, "") if brief else "",
    }


def _text(w: Workspace, story: Story, reference: Reference, story_id: str) -> str:
    """The section that is named, or that names the story; else all of it, unless it is the feature's SPEC.md."""
    found = read_document(reference, w.feature.folder, w.repository.root)
    if found.problem:
        return _said(w, story, found.problem)
    section = pick_spec_section(found.text, story_id, f"#{reference.section}")
    if reference.is_own_spec and story_id:
        return section
    if section or not reference.section:
        return f"({reference.path})\n\n{section or found.text}"
    return f"{_said(w, story, f'{reference}, which has no section {reference.section[:80]!r}')}\n\n{found.text}"


def _said(w: Workspace, story: Story, problem: str) -> str:
    """The problem for the agent; a person is told it as a warning."""
    w.say(f"warning: {story.id}: {problem}")
    return f"({problem})"
