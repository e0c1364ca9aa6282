"""What a step's agent asks goes into QUESTIONS.md: it is paid for once, and a person answers it.

A story's own questions go with its attempt (`ralphy.engine.runs.attempt`). What its split asks stands under the story's
id, so that the other stories go on meanwhile.
"""

from __future__ import annotations

from typing import Any

from ralphy.agents.protocol import Outcome
from ralphy.documents.questions import asked, step_key
from ralphy.engine.feature import documents
from ralphy.engine.feature.land import NewCommit, land
from ralphy.engine.feature.live_documents import ids_of, note_ours
from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.atomic import replace_file
from ralphy.pipeline.decision import RunAgent
from ralphy.pipeline.model import Snapshot, Status
from ralphy.pipeline.steps.table import step_of
from ralphy.text.strict_json import dump


def ask(w: Workspace, run: RunAgent, s: Snapshot, question: str, end: dict[str, Any]) -> None:
    """Keep the question where a person answers it, and end the run; nothing more is paid until then."""
    line = {**end, "outcome": Outcome.NEEDS_INPUT.value, "failure": f"the agent asks: {question}"[:2000],
            "detail": f"the {run.step} agent asks a question: answer it in {w.feature.in_repository('QUESTIONS.md')}",
            "error": "blocked"}  # fmt: skip
    questions, files = documents.text(w, "QUESTIONS.md"), {}
    if run.story:
        story = s.prd.story(run.story)
        execution = {**story.execution, "last_error": f"the {run.step} agent asks: {question}"[:2000]}
        prd = s.prd.with_story(story.id, passes=False, status=Status.BLOCKED.value, execution=execution)
        files["prd.json"] = dump(prd.raw)
        text = asked(questions, story.id, story.title, question)
    else:
        text = asked(questions, step_key(run.step), step_of(run.step).document, question)
    files["QUESTIONS.md"] = text.encode()
    _keep(w, run, s, files, line)


def _keep(w: Workspace, run: RunAgent, s: Snapshot, files: dict[str, bytes], end: dict[str, Any]) -> None:
    """On the feature's branch as a commit, before there is one as files."""
    if not s.tree.is_on_branch:
        note_ours(w, ids_of(w, files))
        for name, data in files.items():
            replace_file(w.feature.file(name), data)
        w.milestone("question_written")
        w.record("end", **end)
        return
    of = f"{w.feature.name}/{run.story}" if run.story else w.feature.name
    trailers = [("Ralphy-Event", f"question {of}"), ("Ralphy-Run", str(end["run"]))]
    subject = f"chore({w.feature.name}): the {run.step} step asks" + (f" about {run.story}" if run.story else "")
    head = s.tree.head
    land(w, NewCommit(subject, trailers, w.objects.tree_of(head), head, head, dict(files), end=end))
