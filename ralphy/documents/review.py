"""The review, criterion by criterion: the criteria that it is asked about, its answers, and the ids of its findings.

A criterion's id is its story and its place (US-003.2). It is done when a test of its own proves it, or when the review
answers yes. The answers stand in the workflow of prd.json, each with a digest of the criterion's text: a story's own
lines stay as its commit wrote them, so that the commit can be reverted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ralphy.documents.criteria import LISTS, Item, items_of, titled_lists
from ralphy.pipeline.model import CriterionAnswer, Document, Prd, QaReport, ReviewFinding, Story
from ralphy.pipeline.steps import names
from ralphy.pipeline.stories import proved_criteria
from ralphy.pipeline.verification import is_proved, is_unverified
from ralphy.text.plain_text import one_line

CRITERIA = "acceptanceCriteria"


@dataclass(frozen=True, slots=True)
class ReviewedCriterion:
    """The criterion at a place (from 1) of a story; `has_proof` says that a test of its own proves it."""

    story: str
    place: int
    item: Item
    has_proof: bool = False

    @property
    def id(self) -> str:
        return f"{self.story}.{self.place}"


def criteria_of(story: Story) -> list[ReviewedCriterion]:
    proved_places = proved_criteria(story) or ()
    items = enumerate(items_of(story.raw, CRITERIA), 1)
    return [ReviewedCriterion(story.id, place, item, place in proved_places) for place, item in items]


def criteria_to_review(prd: Prd) -> list[ReviewedCriterion]:
    """The criteria that a review is asked about: those of all completed stories."""
    return [one for story in prd.stories if story.is_completed for one in criteria_of(story)]


def known_answers(prd: Prd) -> dict[str, str]:
    """Criterion -> yes, no or unknown, from the last review; without criteria whose text has changed since."""
    noted = prd.step(names.QA).get("criteria")
    answers = {str(row.get("id")): row for row in noted if isinstance(row, Mapping)} if isinstance(noted, list) else {}
    known = [one for story in prd.stories for one in criteria_of(story)] if answers else ()
    return {one.id: str(answers[one.id].get("met")) for one in known
            if one.id in answers and answers[one.id].get("words") == one.item.digest}  # fmt: skip


def boxes(story: Story, answers: Mapping[str, str]) -> Iterator[tuple[str, list[Item]]]:
    """(title, items) of the story's lists, each item `done` if its box is ticked; `answers` are the `known_answers`."""
    proved = is_proved(story)
    proved_places = proved_criteria(story)
    for title, items in titled_lists(story.raw):
        if title != LISTS[CRITERIA]:
            yield title, [replace(item, done=item.done or proved) for item in items]
            continue
        verdicts = [answers.get(one.id, "") for one in criteria_of(story)]
        yield title, [replace(item, done=_is_ticked(item, met, place, proved_places, is_proved=proved))
                      for place, (item, met) in enumerate(zip(items, verdicts, strict=True), 1)]  # fmt: skip


def _is_ticked(item: Item, met: str, place: int, proved_places: Sequence[int] | None, *, is_proved: bool) -> bool:
    """`proved_places` are the criteria that their own tests prove; None for a story that is not reviewed."""
    if met in ("yes", "no"):
        return is_proved and met == "yes"
    if proved_places is None:
        return item.done or is_proved
    return is_proved and place in proved_places


def unanswered(report: QaReport, asked: Sequence[ReviewedCriterion]) -> list[str]:
    """The criteria that a report leaves out; none if it answers no criterion at all."""
    if report.criteria is None:
        return []
    answered = {answer.id for answer in report.criteria}
    return [one.id for one in asked if one.id not in answered]


def settled(
    report: QaReport,
    asked: Sequence[ReviewedCriterion],
    before: QaReport | None,
    known: Mapping[str, str] | None = None,
) -> QaReport:
    """The complete report: an answer for each criterion that was asked, and an id for each finding.

    `before` is the last round's report: its open findings that this report does not repeat are resolved. A criterion
    that is not met becomes a finding, if none names it. With a frozen scope, `known` are the answers of earlier rounds:
    they count where this report gives none, and new findings are only noted, unless they are critical or belong to a
    criterion that is not met.
    """
    answered = {answer.id: answer for answer in report.criteria or ()}
    answers = tuple(answered.get(one.id) or _left_open(one, (known or {}).get(one.id, "unknown")) for one in asked)
    criteria = answers if asked else report.criteria
    items = {one.id: one.item for one in asked}
    named = {finding.criterion for finding in report.findings if finding.is_open}
    unmet = {answer.id: answer for answer in answers if answer.met == "no"}
    all_findings = [*report.findings, *(_unmet(one, items[name]) for name, one in unmet.items() if name not in named)]
    earlier = before.findings if before else ()
    findings = _with_ids(all_findings, earlier)
    if known is None:
        return replace(report, findings=tuple(findings), criteria=criteria)
    ids = {finding.id for finding in earlier}
    findings = [_if_in_scope(one) if one.id not in ids and one.criterion not in unmet else one for one in findings]
    frozen = replace(report, findings=tuple(findings), criteria=criteria)
    return replace(frozen, verdict="fail" if frozen.blocking or unmet else "pass")


def _if_in_scope(finding: ReviewFinding) -> ReviewFinding:
    if finding.severity == "critical" or not finding.is_open:
        return finding
    return replace(finding, state="noted", note=finding.note or "found after the scope was frozen")


def _left_open(one: ReviewedCriterion, met: str) -> CriterionAnswer:
    if met == "unknown" and one.has_proof:
        return CriterionAnswer(one.id, "yes", note="a test of its own shows it")
    return CriterionAnswer(one.id, met, note="" if met == "unknown" else "as the last review said")


def _unmet(answer: CriterionAnswer, item: Item) -> ReviewFinding:
    text = one_line(str(item))
    return ReviewFinding(
        "major", f"{answer.id} is not met: {text}"[:200], detail=answer.note or text, criterion=answer.id
    )


def _with_ids(findings: Sequence[ReviewFinding], before: Sequence[ReviewFinding]) -> list[ReviewFinding]:
    """The findings of this round with their ids, and the settled ones of earlier rounds."""
    known = {finding.id: finding for finding in before if finding.id}
    by_title = {finding.title.casefold(): finding.id for finding in reversed(before) if finding.id}
    identified: list[ReviewFinding] = []
    used: set[str] = set()
    for finding in findings:
        name = finding.id if finding.id in known else by_title.get(finding.title.casefold(), "")
        if not name or name in used:
            name = _next_id({*known, *used})
        used.add(name)
        identified.append(replace(finding, id=name))
    settled_findings = [finding for name, finding in known.items() if name not in used]
    return [*identified, *(replace(old, state="resolved") if old.is_open else old for old in settled_findings)]


def _next_id(taken: set[str]) -> str:
    return f"F{1 + max((int(name[1:]) for name in taken), default=0)}"


def answered(prd: Prd, report: QaReport) -> Prd:
    """The PRD with the criteria ticked that are met, in stories that checks have verified."""
    met = {answer.id: answer.met for answer in report.criteria or ()}
    for story in prd.stories:
        listed = story.raw.get(CRITERIA)
        if not story.is_completed or is_unverified(story) or not listed:
            continue
        new = [_ticked(raw, met.get(f"{story.id}.{place}", "")) for place, raw in enumerate(listed, 1)]
        if new != listed:
            prd = prd.with_story(story.id, **{CRITERIA: new})
    return prd


def _ticked(raw: Any, met: str) -> Any:
    if not isinstance(raw, dict) or met not in ("yes", "no") or (raw.get("done") is True) == (met == "yes"):
        return raw
    return {**raw, "done": met == "yes"}


def noted(prd: Prd, report: QaReport) -> list[Document]:
    """The answers for the workflow of prd.json, each with the digest of its criterion's text."""
    digests = {one.id: one.item.digest for one in criteria_to_review(prd)}
    return [{"id": answer.id, "met": answer.met, "words": digests[answer.id]}
            for answer in report.criteria or () if answer.id in digests]  # fmt: skip
