"""A person's answer in QUESTIONS.md, taken back to what asked: a story, its split, or a step."""

from __future__ import annotations

from ralphy.documents.questions import step_key, without
from ralphy.engine.feature import documents
from ralphy.engine.feature.land import commit_documents
from ralphy.engine.verify.verify import SATISFIED
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline import decision as d
from ralphy.pipeline import stories
from ralphy.pipeline.acceptance import with_dropped
from ralphy.pipeline.model import Answer, Prd, Snapshot, Status, Story
from ralphy.pipeline.steps import names
from ralphy.prompts.budget import clip

_MOST_KEPT = 6000  # bytes of a step's questions and answers that its later runs are told
_MOST_OF_A_QUESTION = 1500


def take_answer(w: Workspace, decision: d.TakeAnswer, s: Snapshot) -> None:
    """An answer reopens what asked: the step, the split of a story, or the story."""
    step, story = decision.step, decision.story
    if step:
        _remember(w, s, step, None, next(a for a in s.answers if a.step == step))
        _keep(w, s, step, f"the {step} step", step_key(step))
    elif s.history.of(names.SPLIT, story).asks:  # the story keeps its used attempts: what comes next is its split again
        _remember(w, s, names.SPLIT, story, next(a for a in s.answers if a.story == story))
        prd = s.prd.with_story(story, passes=False, status=Status.PENDING.value)
        _keep(w, s, story, f"the split of {story}", story, prd)
    else:
        _take_for_story(w, s.prd.story(story), s)


def _remember(w: Workspace, s: Snapshot, step: str, story: str | None, answer: Answer) -> None:
    """The journal's line goes first: repeating it after a kill does no harm."""
    note = f"You asked: {clip(answer.question, _MOST_OF_A_QUESTION)}\nThe answer: {answer.text}"
    known = s.history.of(step, story).feedback
    together = known if note in known else "\n\n".join(part for part in (known, note) if part)
    w.record("reset", step=step, story=story, feedback=clip(together, _MOST_KEPT, 0.0))


def _take_for_story(w: Workspace, story: Story, s: Snapshot) -> None:
    """Yes to "already satisfied" completes the story; any other answer goes to its next attempt."""
    answer = next(a for a in s.answers if a.story == story.id)
    asked_whether_done = str(story.execution.get("last_error") or "").endswith(SATISFIED)
    if answer.is_yes and asked_whether_done:
        reason = "a person said that it is already satisfied"
        evidence = {"tree": s.tree.code, "base": s.tree.head, "accepted": reason}
        fields = stories.completed(story, {"completed_at": w.iso_now}, evidence, [])
    else:
        fields = stories.reopened(story)
    w.record("reset", story=story.id, feedback=answer.text[:4000])  # first: once more after a kill does no harm
    prd = with_dropped(s.prd, answer.text, answer.question)
    _keep(w, s, story.id, story.id, story.id, prd.with_story(story.id, **fields))


def _keep(w: Workspace, s: Snapshot, asker: str, label: str, key: str, prd: Prd | None = None) -> None:
    """Remove the question from QUESTIONS.md; `asker` is a step or a story, `label` what people call it."""
    text = without(documents.text(w, "QUESTIONS.md"), key)
    subject, files = f"{label} answered in QUESTIONS.md", {"QUESTIONS.md": text.encode()}
    commit_documents(w, s, f"answered {asker}", subject, prd=prd, files=files)
