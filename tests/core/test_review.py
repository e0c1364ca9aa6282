"""The review criterion by criterion: names, answers, ticked boxes, and findings that keep their ids."""

from __future__ import annotations

from typing import Any

import pytest

from ralphy.documents.qa_report import parse_qa_report, with_front_matter
from ralphy.documents.review import answered, boxes, criteria_to_review, known_answers, noted, settled, unanswered
from ralphy.pipeline.model import CriterionAnswer, Prd, QaReport, ReviewFinding
from ralphy.pipeline.parts import due
from ralphy.pipeline.parts import noted as noted_parts
from ralphy.pipeline.steps.qa import Round, round_of
from ralphy.pipeline.stories import completed
from tests.core.building import done, one, prd, snapshot, story

BOXED = {"id": "AC2", "description": "Unique", "done": False}
ITEMS = ["Hashed | salted", BOXED]
RAN = {"run": "r1", "checks": [{"name": "test", "exit": 0}], "verified": True}


def landed(**evidence: Any) -> Prd:
    """US-001 with two criteria, landed with a review ahead of it; US-002 is open."""
    fields = completed(one(acceptanceCriteria=ITEMS), {}, {**RAN, **evidence}, [], review_follows=True)
    return prd(story("US-001", **{"acceptanceCriteria": ITEMS, **fields}), story("US-002", acceptanceCriteria=["More"]))


def reviewed(found: Prd, *answers: CriterionAnswer) -> Prd:
    report = QaReport("pass", (), answers)
    return answered(found, report).with_step("qa", {"criteria": noted(found, report)})


def ticks(found: Prd) -> list[bool]:
    ((_, items),) = boxes(found.stories[0], known_answers(found))
    return [item.done for item in items]


def test_the_criteria_of_completed_stories_are_asked_by_story_and_place() -> None:
    assert [one.id for one in criteria_to_review(landed())] == ["US-001.1", "US-001.2"]


def test_a_story_that_lands_ticks_only_what_a_test_of_its_own_shows() -> None:
    assert ticks(landed()) == [False, False]
    rows = [{"criterion": 2, "test": "t", "before": "red", "after": "green"}]
    found = landed(acceptance=[*rows, {"criterion": 1, "test": "u", "before": "green", "after": "green"}])
    assert ticks(found) == [False, True]
    assert found.stories[0].raw["acceptanceCriteria"][1]["done"] is True
    assert (
        ticks(landed(acceptance=[*rows, {"criterion": 2, "test": "v", "before": "red", "after": "red"}])) == [False] * 2
    )


def test_the_review_ticks_each_criterion_that_it_finds_met() -> None:
    found = reviewed(landed(), CriterionAnswer("US-001.1", "yes"), CriterionAnswer("US-001.2", "no"))
    assert ticks(found) == [True, False]
    again = reviewed(found, CriterionAnswer("US-001.1", "unknown"), CriterionAnswer("US-001.2", "yes"))
    assert ticks(again) == [False, True]
    assert again.stories[0].raw["acceptanceCriteria"] == [ITEMS[0], {**BOXED, "done": True}]
    assert again.stories[0].raw["evidence"] == found.stories[0].raw["evidence"]  # so that its commit can be reverted


def test_an_answer_holds_for_the_words_that_were_reviewed() -> None:
    found = reviewed(landed(), CriterionAnswer("US-001.1", "yes"), CriterionAnswer("US-001.2", "yes"))
    reworded = found.with_story("US-001", acceptanceCriteria=["Hashed twice", ITEMS[1]])
    assert known_answers(reworded) == {"US-001.2": "yes"}
    assert ticks(reworded) == [False, True]


def test_what_landed_unverified_or_before_reviews_answered_is_as_it_was() -> None:
    unverified = prd(story("US-001", acceptanceCriteria=ITEMS, **completed(one(), {}, {**RAN, "verified": False}, [])))
    assert ticks(reviewed(unverified, CriterionAnswer("US-001.2", "yes"))) == [False, False]
    assert ticks(prd(done("US-001", acceptanceCriteria=ITEMS, evidence=RAN))) == [True, True]
    assert ticks(prd(story("US-001", acceptanceCriteria=[{"text": "a", "done": True}, "b"]))) == [True, False]


def test_only_a_report_that_answers_one_by_one_leaves_answers_out() -> None:
    asked = criteria_to_review(landed())
    assert unanswered(QaReport("pass"), asked) == []
    assert unanswered(QaReport("pass", (), (CriterionAnswer("US-001.2", "no"),)), asked) == ["US-001.1"]


def test_a_criterion_that_is_not_met_is_a_finding() -> None:
    asked = criteria_to_review(landed())
    no = CriterionAnswer("US-001.2", "no", (), "two accounts with one address")
    found = settled(QaReport("pass", (), (no,)), asked, None)
    assert found.findings == (
        ReviewFinding("major", "US-001.2 is not met: AC2: Unique", detail=no.note, id="F1", criterion="US-001.2"),
    )
    assert found.criteria == (CriterionAnswer("US-001.1", "unknown"), no)
    told = ReviewFinding("critical", "Two accounts", criterion="US-001.2")
    assert [f.title for f in settled(QaReport("fail", (told,), (no,)), asked, None).findings] == ["Two accounts"]


def test_findings_keep_their_ids_and_those_that_are_not_repeated_are_resolved() -> None:
    first = settled(
        QaReport("fail", tuple(ReviewFinding("major", title) for title in ("Leak", "Slow", "Odd"))), [], None
    )
    assert [f.id for f in first.findings] == ["F1", "F2", "F3"]
    second = settled(
        QaReport("fail", (ReviewFinding("minor", "New"), ReviewFinding("major", "Still slow", id="F2"),
                          ReviewFinding("major", "leak"),
                          ReviewFinding("info", "Other", id="F9"))), [], first)  # fmt: skip
    assert [(f.id, f.state) for f in second.findings] == [
        ("F4", "open"), ("F2", "open"), ("F1", "open"), ("F5", "open"), ("F3", "resolved"),
    ]  # fmt: skip
    dropped = ReviewFinding("major", "Leak", id="F1", state="dropped", note="it is closed by the caller")
    third = settled(QaReport("pass", (dropped,)), [], second)
    assert [f.id for f in third.blocking] == [] and {f.state for f in third.findings[1:]} == {"resolved"}


def test_where_the_scope_is_frozen_only_what_is_open_blocks() -> None:
    asked = criteria_to_review(landed())
    before = QaReport("fail", (ReviewFinding("major", "Leak", id="F1"),))
    late = (
        ReviewFinding("major", "Could be shorter"),
        ReviewFinding("critical", "Loses data"),
        ReviewFinding("major", "leak"),
    )
    frozen = settled(QaReport("fail", late), asked, before, {"US-001.1": "yes"})
    assert [(f.id, f.state) for f in frozen.findings] == [("F2", "noted"), ("F3", "open"), ("F1", "open")]
    assert frozen.criteria and [answer.met for answer in frozen.criteria] == ["yes", "unknown"]
    assert settled(QaReport("fail", late[:1]), asked, before, {}).verdict == "pass"
    no = CriterionAnswer("US-001.1", "no")
    assert settled(QaReport("pass", (), (no,)), asked, before, {}).verdict == "fail"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_is_written_is_read_again(end: str) -> None:
    text = end.join(["---", "verdict: pass", "score: 7", "criteria: [{id: US-001.1, met: yes}]", "---", "# Fine", ""])
    found = settled(
        QaReport("fail", (ReviewFinding("major", "a: b", "x.py:1", "one\n---\ntwo\n# three", note="'"),),
                 (CriterionAnswer("US-001.1", "yes", ("tests/a.py::test_x[a, b]",), "yes"),)),
        criteria_to_review(landed()), None,
    )  # fmt: skip
    written = with_front_matter(found, text, "QA_REPORT.md")
    assert parse_qa_report(written, "QA_REPORT.md") == found
    assert "score: 7" in written and written.endswith("---\n# Fine\n")


def test_a_story_that_no_review_has_read_begins_the_rounds_anew() -> None:
    workflow = {"approvals": [], "steps": {"qa": {"stories": ["US-001"], "at": "c1", "round": 1}}}
    for kind, expected in (("feature", Round(1, "c1")), ("fix", Round(2, "c1"))):
        read = snapshot(done(), done("US-002", kind=kind), workflow=workflow)
        assert round_of(read) == expected


def test_a_review_waits_for_the_parts_of_what_a_test_or_a_check_has_shown() -> None:
    proofs: tuple[tuple[dict[str, Any], bool], ...] = (
        ({"tests": ["test_a"]}, True), ({"checks": ["test"]}, True), ({}, False)
    )  # fmt: skip
    for proof, is_due in proofs:
        assert bool(due(prd(done(evidence={"change": "c1", "tests": {"red_first": proof}})), {})) is is_due
    assert noted_parts("c1", 5, ["a.py:1"], 2)["of"] == 8
