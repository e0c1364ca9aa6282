"""The prompt of a run and its values, bounded for features of any size."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ralphy.documents.report_text import without_appendix
from ralphy.engine.feature import documents
from ralphy.engine.runs.unfinished_documents import UNFINISHED
from ralphy.engine.verify.acceptance import acceptance_of
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.ledger import unreverted_commits
from ralphy.pipeline.acceptance import dropped_of
from ralphy.pipeline.decision import RunAgent
from ralphy.pipeline.model import Prd, Snapshot, Story
from ralphy.pipeline.parts import parts_in_words, with_parts
from ralphy.pipeline.split import MOST_PIECES
from ralphy.pipeline.steering import steering_of
from ralphy.pipeline.steps.clarify import CLARIFY
from ralphy.pipeline.steps.qa import QA, round_of
from ralphy.pipeline.steps.spec import SPEC
from ralphy.pipeline.steps.step import Briefing
from ralphy.pipeline.steps.story import STORY
from ralphy.pipeline.steps.table import step_of
from ralphy.pipeline.verification import verified_by
from ralphy.prompts.budget import pick_progress
from ralphy.prompts.context_documents import Reference, read_document, references
from ralphy.prompts.render import TEXTS, render
from ralphy.prompts.review_brief import stories_for_review, unproved_parts
from ralphy.prompts.spec_section import pick_spec_section


def prompt_for(w: Workspace, run: RunAgent, snapshot: Snapshot, outbox: Path, feedback: str) -> str:
    """The prompt of a run; warnings about templates that were not used are reported."""
    # A run that ended at the size of its context is followed by one that begins with half of the texts.
    share = 0.5 if snapshot.history.of(run.step, run.story).too_large else 1.0
    values = {
        **_common(w, run, snapshot, outbox),
        **_documents(w, snapshot, share),
        "feedback": feedback,
    }
    for part in step_of(run.step).briefing:
        values |= _BRIEFINGS[part](w, run, snapshot, share)
    rendered = render(run.step, values, _folders(w), share=share)
    for warning in rendered.warnings:
        w.say(f"warning: {warning}")
    return rendered.text


def _folders(w: Workspace) -> list[Path]:
    """Where a project's own templates are, the feature's before the repository's; only folders that are there."""
    places = (w.feature.private / "prompts", w.repository.root / ".ralphy" / "prompts")
    return [place for place in places if place.is_dir()]


def _common(w: Workspace, run: RunAgent, s: Snapshot, outbox: Path) -> dict[str, object]:
    return {
        "feature": w.feature.name,
        "feature_dir": w.feature.path,
        "outbox": str(outbox),
        "attempt": run.attempt,
        "project_name": w.config.project.name or w.repository.root.name,
        "language": w.config.stack.language,
        "test_command": w.config.stack.test_command or next((c.run for c in w.checks if c.name == "test"), ""),
        "checks": w.checks,
        "branch_name": s.tree.feature_branch,
        "base": s.tree.base,
        "mistakes": s.history.of(run.step, run.story).last_failure if run.step != STORY.name else "",
        "resume_instruction": _resume(run, s),
    }


def _documents(w: Workspace, s: Snapshot, share: float) -> dict[str, object]:
    """The feature's documents, which every template may name; the values of a briefing replace them."""
    room = int(TEXTS["tasks_content"][1] * share)
    return {
        "prd_content": documents.text(w, "PRD.md"),
        "spec_content": documents.text(w, SPEC.document),
        "tasks_content": stories_for_review(s.prd.stories, room, w.feature.in_repository("prd.json")),
        "qa_report": documents.text(w, QA.document),
    }


def _resume(run: RunAgent, s: Snapshot) -> str:
    """What a later attempt should know from the start, and a run that goes on with one that was not finished."""
    past = s.history.of(run.step, run.story)
    sentences = [f"This is attempt {run.attempt}; earlier ones did not count."] if run.attempt > 1 else []
    if past.too_large:
        sentences.append("The last one's context overflowed: read in small parts, print little, keep outputs short.")
    if past.cut_off:
        sentences.append(f"The last run was cut off: {past.cut_off}.")
    if past.cut_off or past.outbox:
        where = "in the tree" if run.step == STORY.name else f"in {UNFINISHED}/ in the outbox"
        sentences.append(f"What it left is {where}: check it, and go on from it.")
    return " ".join(sentences)


def _feature(w: Workspace, _: RunAgent, s: Snapshot, __: float) -> Mapping[str, object]:
    spec = documents.text(w, SPEC.document)
    return {
        "prd_content": documents.text(w, "PRD.md"),
        "clarifications": documents.text(w, CLARIFY.document),
        "most_questions": w.config.clarify.most,
        "spec_content": spec,
        "keep_spec": bool(spec) and not s.prd.stories,
        "granularity": w.config.stories.granularity,
    }


def _stories(_: Workspace, __: RunAgent, s: Snapshot, ___: float) -> Mapping[str, object]:
    return {"existing_stories": _story_lines(s.prd), "most_pieces": MOST_PIECES}


def _story(w: Workspace, run: RunAgent, s: Snapshot, _: float) -> Mapping[str, object]:
    story = s.prd.story(run.story or "")
    progress = documents.text(w, "progress.txt")
    return {
        "story": story.raw,
        "heal": run.mode != "fresh",
        **context_texts(w, story),
        "failure": s.history.of(STORY.name, story.id).last_failure or str(story.execution.get("last_error") or ""),
        "progress": pick_progress(progress, [story.id, *story.depends_on]),
        "acceptance": w.config.acceptance.tests if acceptance_of(w).of({story.id}, dropped_of(s.prd)) else "",
        "max_rounds": w.config.limits.max_attempts,
    }


def _review(w: Workspace, _: RunAgent, s: Snapshot, share: float) -> Mapping[str, object]:
    room = int(TEXTS["tasks_content"][1] * share)
    commits = unreverted_commits(w.repository, w.feature.name, s.tree.head)
    now = round_of(s)
    prd = with_parts(s.prd, w.session.parts)
    return {
        "spec_content": documents.text(w, SPEC.document),
        "tasks_content": stories_for_review(s.prd.stories, room, w.feature.in_repository("prd.json"), commits),
        "unproved": unproved_parts(prd.stories),
        "reviewed_commit": now.since,
        "scope_is_frozen": now.is_frozen,
        "evidence": "\n".join([*_steering(s.prd), *map(_evidence, prd.stories)]),
        "qa_report": without_appendix(documents.text(w, QA.document)),
    }


_BRIEFINGS = {Briefing.FEATURE: _feature, Briefing.STORIES: _stories, Briefing.STORY: _story, Briefing.REVIEW: _review}


def _story_lines(prd: Prd) -> str:
    """The stories, a line each."""
    return "\n".join(f"- {s.id} [{s.status.value}] {s.title}" for s in prd.stories)


def _steering(prd: Prd) -> list[str]:
    """What a review must see first."""
    lines = steering_of(prd)
    head = "Review these files first. They steer agents, CI or what people run, before anybody reads the diff:"
    return [head, *(f"- {line}" for line in lines), ""] if lines else []


def _evidence(story: Story) -> str:
    evidence = story.raw.get("evidence") or {}
    summary = verified_by(evidence) or "no checks"
    warnings = [str(text)[:300] for text in evidence.get("warnings") or ()]
    parts = parts_in_words(evidence)
    summary = f"{summary}; {parts}" if parts else summary
    flagged = f"; flagged: {'; '.join(warnings[:10])}" if warnings else ""
    return f"- {story.id}: {story.status.value}; {summary}{flagged}"


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
    document = read_document(reference, w.feature.folder, w.repository.root)
    if document.problem:
        return _reported(w, story, document.problem)
    section = pick_spec_section(document.text, story_id, f"#{reference.section}")
    if reference.is_own_spec and story_id:
        return section
    if section or not reference.section:
        return f"({reference.path})\n\n{section or document.text}"
    problem = f"{reference}, which has no section {reference.section[:80]!r}"
    return f"{_reported(w, story, problem)}\n\n{document.text}"


def _reported(w: Workspace, story: Story, problem: str) -> str:
    """The problem as the agent reads it; a person gets it as a warning."""
    w.say(f"warning: {story.id}: {problem}")
    return f"({problem})"
