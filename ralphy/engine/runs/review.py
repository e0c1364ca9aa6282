"""What a review becomes: answers to criteria, ticked boxes, findings with ids, and a record for the next round."""

from __future__ import annotations

from dataclasses import replace

from ralphy.documents import review
from ralphy.documents.qa_report import parse_qa_report, with_front_matter
from ralphy.engine.feature import documents
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import InvalidInput
from ralphy.pipeline import decision as d
from ralphy.pipeline.model import QaReport, Snapshot
from ralphy.pipeline.steps.qa import QA, Round, round_of
from ralphy.pipeline.steps.step import Taken


def reviewed(w: Workspace, run: d.RunAgent, s: Snapshot, taken: Taken) -> Taken:
    """The review as it counts. Raises InvalidInput, once, for criteria that it leaves out."""
    text = taken.files[QA.document].decode("utf-8", "replace")
    report, asked, now = parse_qa_report(text, QA.document), review.criteria_to_review(s.prd), round_of(s, w.config)
    known = review.known_answers(s.prd) if now.is_frozen else None
    missing = [name for name in review.unanswered(report, asked) if name not in (known or {})]
    if missing and not s.history.of(QA.name, None).attempts:
        raise InvalidInput(f"the criteria have no answer for {', '.join(missing[:20])}", where=QA.document,
                           hint="add {id: US-001.1, met: yes, no or unknown, tests: [names]} for each")  # fmt: skip
    before, disagree, first = _before(w, s, now), "", s.prd.step(QA.name)
    counts = review.settled(report, asked, before, known)
    record = {"model": run.model, "at": s.tree.head}
    if now.read and s.qa:
        text = documents.text(w, QA.document)
        who = (str(first.get("model")), run.model)
        counts, disagree = review.combined(s.qa, counts, before, who)
        record = {"model": who[0], "second": run.model, "at": now.read}
    text = with_front_matter(counts, review.with_table(text, counts, asked, disagree), QA.document)
    stories = [story.id for story in s.prd.stories if story.is_completed]
    more = {"round": now.number, "since": now.since, "frozen": now.is_frozen, "stories": stories,
            "criteria": review.noted(s.prd, counts)}  # fmt: skip
    prd = review.answered(taken.prd, counts)
    return replace(taken, files={**taken.files, QA.document: text.encode()}, prd=prd, record={**record, **more})


def _before(w: Workspace, s: Snapshot, now: Round) -> QaReport | None:
    """The report of the round before."""
    if not now.read:
        return s.qa
    text = documents.text(w, QA.document, now.read)
    return parse_qa_report(text, QA.document) if text else None
