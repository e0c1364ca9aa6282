"""A person's answer in QUESTIONS.md, taken back to what asked: a story, its split, or a step."""

from __future__ import annotations

from ralphy.documents.questions import step_key, without
from ralphy.engine.feature import documents
from ralphy.engine.person import gate
from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.atomic import replace_file
from ralphy.pipeline import decision as d
from ralphy.pipeline.model import Answer, Snapshot, Status
from ralphy.pipeline.steps import names
from ralphy.prompts.budget import clip
from ralphy.text.strict_json import dump

_MOST_KEPT = 6000  # bytes of a step's questions and answers that its later runs are told
_MOST_OF_A_QUESTION = 1500


def take_answer(w: Workspace, decision: d.TakeAnswer, s: Snapshot) -> None:
    """An answer reopens what asked: the step, the split of a story, or the story."""
    if decision.step:
        answer = next(a for a in s.answers if a.step == decision.step)
        _remember(w, s, decision.step, None, answer)
        text = without(documents.text(w, "QUESTIONS.md"), step_key(decision.step))
        _write(w, s, f"answered {decision.step}", f"the {decision.step} step answered in QUESTIONS.md",
               {"QUESTIONS.md": text.encode()})  # fmt: skip
    elif s.history.of(names.SPLIT, decision.story).asks:
        _take_for_split(w, decision.story, s)
    else:
        gate.take_answer(w, decision, s)


def _take_for_split(w: Workspace, story_id: str, s: Snapshot) -> None:
    """The story keeps its used attempts, so what comes next is its split again, with the answer."""
    _remember(w, s, names.SPLIT, story_id, next(a for a in s.answers if a.story == story_id))
    text = without(documents.text(w, "QUESTIONS.md"), story_id)
    prd = s.prd.with_story(story_id, passes=False, status=Status.PENDING.value)
    _write(w, s, f"answered {story_id}", f"the split of {story_id} answered in QUESTIONS.md",
           {"prd.json": dump(prd.raw), "QUESTIONS.md": text.encode()})  # fmt: skip


def _remember(w: Workspace, s: Snapshot, step: str, story: str | None, answer: Answer) -> None:
    """The journal's line goes first: the same once more after a kill does no harm."""
    said = f"You asked: {clip(answer.question, _MOST_OF_A_QUESTION)}\nThe answer: {answer.text}"
    known = s.history.of(step, story).feedback
    together = known if said in known else "\n\n".join(part for part in (known, said) if part)
    w.record("reset", step=step, story=story, feedback=clip(together, _MOST_KEPT, 0.0))


def _write(w: Workspace, s: Snapshot, event: str, subject: str, files: dict[str, bytes | None]) -> None:
    if s.tree.is_on_branch:
        gate.commit_files(w, s, event, subject, files)
        return
    for name, data in files.items():
        replace_file(w.feature.file(name), data or b"")
