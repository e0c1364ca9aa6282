"""The steps whose agents write a document. They hand it in through their outbox.

A killed agent's half file is never an artifact: Ralphy validates what was handed in and moves it in. What
does not validate goes back to the agent with the messages. Code that such a step changed is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ralphy.agents.protocol import Outcome
from ralphy.agents.status_report import FINISH
from ralphy.documents.feature_folder import artifact_digest
from ralphy.documents.prd_reader import PRD_SCHEMA, check_prd, read_stories_draft
from ralphy.documents.qa_report import parse_qa_report
from ralphy.documents.questions import asked, step_key
from ralphy.documents.report import matrix
from ralphy.documents.report_text import with_appendix
from ralphy.engine.feature import documents
from ralphy.engine.feature.kept_attempts import private_commit
from ralphy.engine.feature.land import commit_documents
from ralphy.engine.feature.live_documents import is_known_version
from ralphy.engine.lane_use.lane_layout import with_documents
from ralphy.engine.lane_use.take_over import candidate_from
from ralphy.engine.runs.ending import end_line
from ralphy.engine.runs.review import reviewed
from ralphy.engine.runs.running import Ran, Run
from ralphy.engine.runs.unfinished_documents import digest_of
from ralphy.engine.workspace.scan import redacted, secrets_in_document
from ralphy.engine.workspace.set_aside import free_place
from ralphy.engine.workspace.waiting import next_try
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import InvalidInput
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular
from ralphy.forge.body import parse_pr_text
from ralphy.git import commands as git
from ralphy.git.ledger import unreverted_commits
from ralphy.lanes.lane import Lane
from ralphy.pipeline.breaker import signature
from ralphy.pipeline.decision import RunAgent
from ralphy.pipeline.gates import revision
from ralphy.pipeline.model import Document, Prd, Snapshot, Status
from ralphy.pipeline.parts import recorded
from ralphy.pipeline.steps import names
from ralphy.pipeline.steps.acceptance import ACCEPTANCE
from ralphy.pipeline.steps.pr import PR
from ralphy.pipeline.steps.qa import QA
from ralphy.pipeline.steps.step import DRAFT, DocumentFormat, Handed, Step, StepOutput
from ralphy.pipeline.steps.table import step_of
from ralphy.text.plain_text import as_utf8
from ralphy.text.strict_json import dump
from ralphy.text.tone import WAITING

_PRD = "prd.json"


def begins_with(w: Workspace, decision: RunAgent, snapshot: Snapshot) -> tuple[str, str]:
    """(the tree that the step's agent finds, what people said to it)."""
    return with_documents(w, w.objects.tree_of(snapshot.tree.head)), _what_people_said(decision, snapshot)


def finish_step(w: Workspace, run: Run, ran: Ran) -> None:
    """Move in what the step's agent made, or note why not."""
    keep_code(w, run.lane, run.decision.step, run.id, run.snapshot.tree.head, run.laid_out)
    _settle(w, run.decision, run.snapshot, ran)


def _settle(w: Workspace, decision: RunAgent, snapshot: Snapshot, ran: Ran) -> None:
    """Move in what the run made, or note why not."""
    end = end_line(ran.run, ran.result, ran.result.outcome, changed="")
    if ran.claim.asks and ran.result.outcome.costs_an_attempt:
        _ask(w, decision, snapshot, redacted(w, ran.claim.asks), end)
        return
    why, digest = _why_not(ran)
    if why and digest_of(w, ran.run):
        end["outbox"] = ran.run  # the next run goes on from what it had written
    try:
        made = _read(w, decision, snapshot, ran) if not why else None
        if made:
            _require_no_secrets(w, ran, made.files)
    except InvalidInput as error:
        made, why, digest = None, f"the document is not valid: {error}", _mistakes(error)
    if made is None:
        _refuse(w, ran, why, digest, end)
    else:
        detail = made.subject or f"wrote {step_of(decision.step).document}"
        _move_in(w, decision, snapshot, made, {**end, "detail": detail})


def _what_people_said(d: RunAgent, s: Snapshot) -> str:
    """Remarks at the gate, and answers to what the step's agent asked, or the story's before its split."""
    remarks = revision(s, d.step)
    if d.step == names.ACCEPTANCE:  # it stands behind the gate of another step, whose agent has answered them
        verdicts = [a for a in s.prd.gate_verdicts if a.gate == names.SPEC][-1:]
        remarks = next((a for a in verdicts if a.verdict == "revise"), None)
    sent_back = f"The last version was sent back: {remarks.text}" if remarks else ""
    answers = [s.history.of(d.step, d.story).feedback, s.history.of(names.STORY, d.story).feedback if d.story else ""]
    return "\n\n".join(part for part in (*answers, sent_back) if part)


def _require_no_secrets(w: Workspace, ran: Ran, files: Mapping[str, bytes]) -> None:
    """Raises InvalidInput for a document, or a draft of stories, that holds a key or a token."""
    draft = ran.handed_in(DRAFT)
    for name, data in {**files, **({DRAFT: draft} if draft else {})}.items():
        for problem in secrets_in_document(w, name, data):
            raise InvalidInput(problem, hint="name it, do not write it out")


def _mistakes(error: InvalidInput) -> str:
    return f"{error}\n{error.hint}".strip()


def _why_not(ran: Ran) -> tuple[str, str]:
    """(why the run gave nothing, the message for the next run); ("", "") if its documents are to be read."""
    if ran.result.outcome is not Outcome.SUCCEEDED and not ran.claim.is_complete:
        detail = ran.result.detail or ran.result.outcome.value
        return detail, detail
    why = ran.claim.holds_back or ran.claim.leaves_open
    return (why, f"{why}: {FINISH}") if why else ("", "")


def _refuse(w: Workspace, ran: Ran, why: str, digest: str, end: dict[str, Any]) -> None:
    outcome = ran.result.outcome if ran.result.outcome is not Outcome.SUCCEEDED else Outcome.REJECTED
    if not outcome.costs_an_attempt:
        end |= next_try(w, end["run"], outcome, ran.result)
    failure = {"failure": digest[:2000], "detail": why[:2000], "error": signature(why) or None}
    w.record("end", **{**end, "outcome": outcome.value, **failure})


def keep_code(w: Workspace, lane: Lane, step: str, run: str, head: str, laid_out: str) -> None:
    """These steps write documents only: code that one changed in its lane is kept under a ref, and goes nowhere. Of
    acceptance tests, which are tried in the lane, nothing is: they may be sealed."""
    if step == names.ACCEPTANCE:
        return
    candidate = candidate_from(w, lane, w.objects.tree_of(head), laid_out)
    if not candidate.files:
        return
    ref = f"refs/ralphy/{w.feature.name}/{step}/{run}"
    if not git.resolve(w.repository, ref):
        w.checkout.refs.move([(ref, private_commit(w, candidate.tree, head, f"code changed by the {step} step"), "")])
        w.milestone("code_kept")
    changed = as_utf8(", ".join(candidate.files))
    w.say(f"the {step} agent changed code, which is not taken: {changed} (kept: git show {ref})")


def _read(w: Workspace, d: RunAgent, s: Snapshot, ran: Ran) -> StepOutput:
    """What the step makes of what was handed in. Raises InvalidInput with words for the agent."""
    step, files, drafted = step_of(d.step), dict[str, bytes](), list[Document]()
    for wanted in step.wants(s):
        data = ran.handed_in(wanted.name)
        if wanted.is_needed and (data is None or not data.strip()):
            raise InvalidInput(f"{wanted.name} was not handed in", hint=f"write it to {ran.outbox}")
        if data is None:
            continue
        if wanted.format is DocumentFormat.STORIES:
            known = [story.id for story in s.prd.stories]
            drafted = read_stories_draft(data, wanted.name, known_ids=known)
            continue
        if check := _CHECKS.get(wanted.format):
            check(data.decode("utf-8", "replace"), wanted.name)
        files[wanted.name] = data
    project = w.config.project.name or w.repository.root.name
    branch = f"{w.config.git.branch_prefix}{w.feature.name}"
    output = step.take(s, Handed(files, drafted, d.story or "", project, branch, _schema(w)))
    if step is QA:
        output = reviewed(s, output)
    output = _with_proof(w, s, output)
    prd = _recorded(step, s, output)
    if prd.stories is not s.prd.stories:
        check_prd(dump(prd.raw), DRAFT)
    return replace(output, prd=prd)


def _with_proof(w: Workspace, s: Snapshot, output: StepOutput) -> StepOutput:
    """QA_REPORT.md and PR.md with the matrix of what proves each criterion, where a criterion or a test is known."""
    files = dict(output.files)
    for name in {QA.document, PR.document} & files.keys():
        text = files[name].decode("utf-8", "replace")
        qa = parse_qa_report(text, name) if name == QA.document else s.qa
        rows = list(matrix(s.prd, qa, unreverted_commits(w.repository, w.feature.name, s.tree.head)))
        if rows:
            files[name] = with_appendix(text, rows).encode()
    return replace(output, files=files)


def _schema(w: Workspace) -> str:
    """The way from the feature's folder to the schema that `ralphy init` wrote for editors; "" if it is not there."""
    is_there = (w.repository.root / PRD_SCHEMA).is_file()
    return f"{'../' * (w.feature.path.count('/') + 1)}{PRD_SCHEMA}" if is_there else ""


# What is not a format of its own is any text.
_CHECKS: Mapping[DocumentFormat, Callable[[str, str], object]] = {
    DocumentFormat.REVIEW: parse_qa_report,
    DocumentFormat.PULL_REQUEST: lambda text, _: parse_pr_text(text),
}


def _recorded(step: Step, s: Snapshot, output: StepOutput) -> Prd:
    """The PRD with what the step's document was made of; remarks about the last one are answered."""
    if not step.document:
        return output.prd
    data = output.files.get(step.document)
    made = s.digest(step.document) if data is None else artifact_digest(data)
    approvals = [{**a, "answered": True} if a.get("gate") == step.name and a.get("verdict") == "revise" else a
                 for a in output.prd.workflow.get("approvals", ())]  # fmt: skip
    record = {"inputs": step.inputs_now(s), "outputs": {step.document: made}, **output.record}
    prd = output.prd.with_step(step.name, record)
    return prd.with_workflow(approvals=approvals)


def _move_in(w: Workspace, d: RunAgent, s: Snapshot, made: StepOutput, end: dict[str, Any]) -> None:
    step = step_of(d.step)
    prd = recorded(made.prd, w.session.parts).with_workflow(phase=step.waiting_phase or step.phase)
    files = dict(made.files)
    for name in made.files:
        if place := documents.sealed_place(w, name):
            replace_file(place, files.pop(name))
    unsealed = documents.read(w, ACCEPTANCE.document) if step is PR else None
    if unsealed and documents.sealed_place(w, ACCEPTANCE.document):  # the pull request's readers may see it
        files[ACCEPTANCE.document] = unsealed
    what = made.subject or f"{step.document} by the {d.step} step"
    end = {**end, "outcome": Outcome.SUCCEEDED.value}
    if not s.tree.is_on_branch:
        _keep_edits_aside(w, s, {**files, _PRD: dump(prd.raw)})
    commit_documents(w, s, d.step, what, prd=prd, files=files, story=d.story or "", end=end)


def _keep_edits_aside(w: Workspace, s: Snapshot, new: Mapping[str, bytes]) -> None:
    """Copy what a person has written since the run began, and the run's documents replace: there is no branch yet on
    which it could be committed."""
    for name, data in new.items():
        content = read_regular(w.feature.file(name))
        if content in (None, data) or not _is_edited(w, s, name, content or b""):
            continue
        copy = free_place(w, name)
        replace_file(copy, content or b"")
        where = w.feature.in_repository(name)
        w.say(f"{where}: replaced by the run's version; yours is in .ralphy/set-aside/{copy.name}", WAITING)


def _is_edited(w: Workspace, s: Snapshot, name: str, content: bytes) -> bool:
    """Is it another version than the one that the run began with, and none that Ralphy wrote?"""
    if is_known_version(w, name, w.objects.blob_id(content)):
        return False
    if name != _PRD:
        return artifact_digest(content) != s.digest(name)
    try:
        return not s.has_prd_file or check_prd(content, name, base_branches=(s.tree.base,)) != s.prd.raw
    except InvalidInput:
        return True


def _ask(w: Workspace, run: RunAgent, s: Snapshot, question: str, end: dict[str, Any]) -> None:
    """Keep the question where a person answers it, and end the run; nothing more is paid until then.

    What a story's split asks stands under the story's id, so that the other stories go on meanwhile.
    """
    line = {**end, "outcome": Outcome.NEEDS_INPUT.value, "failure": f"the agent asks: {question}"[:2000],
            "detail": f"the {run.step} agent asks a question: answer it in {w.feature.in_repository('QUESTIONS.md')}",
            "error": "blocked"}  # fmt: skip
    questions, prd, subject = documents.text(w, "QUESTIONS.md"), None, f"the {run.step} step asks"
    if run.story:
        story = s.prd.story(run.story)
        execution = {**story.execution, "last_error": f"the {run.step} agent asks: {question}"[:2000]}
        prd = s.prd.with_story(story.id, passes=False, status=Status.BLOCKED.value, execution=execution)
        text, subject = asked(questions, story.id, story.title, question), f"{subject} about {run.story}"
    else:
        text = asked(questions, step_key(run.step), step_of(run.step).document, question)
    commit_documents(
        w, s, "question", subject, prd=prd, files={"QUESTIONS.md": text.encode()}, story=run.story or "", end=line
    )
