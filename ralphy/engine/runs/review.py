"""What a review becomes: answers to criteria, ticked boxes, findings with ids, and a record for the next round."""

from __future__ import annotations

from dataclasses import replace

from ralphy.documents import review
from ralphy.documents.qa_report import parse_qa_report, with_front_matter
from ralphy.errors import InvalidInput
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.steps.qa import QA, round_of
from ralphy.pipeline.steps.step import StepOutput


def reviewed(s: Snapshot, output: StepOutput) -> StepOutput:
    """The review as it counts. Raises InvalidInput, once, for criteria that it leaves out."""
    text = output.files[QA.document].decode("utf-8", "replace")
    report, asked, now = parse_qa_report(text, QA.document), review.criteria_to_review(s.prd), round_of(s)
    known = review.known_answers(s.prd) if now.is_frozen else None
    missing = [name for name in review.unanswered(report, asked) if name not in (known or {})]
    if missing and not s.history.of(QA.name, None).attempts:
        raise InvalidInput(f"the criteria have no answer for {', '.join(missing[:20])}", where=QA.document,
                           hint="add {id: US-001.1, met: yes, no or unknown, tests: [names]} for each")  # fmt: skip
    counts = review.settled(report, asked, s.qa, known)
    text = with_front_matter(counts, text, QA.document)
    stories = [story.id for story in s.prd.stories if story.is_completed]
    record = {"at": s.tree.head, "round": now.number, "since": now.since, "frozen": now.is_frozen, "stories": stories,
              "criteria": review.noted(s.prd, counts)}  # fmt: skip
    prd = review.answered(output.prd, counts)
    return replace(output, files={**output.files, QA.document: text.encode()}, prd=prd, record=record)
