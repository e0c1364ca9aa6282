"""The report: every criterion of a landed story in one table with the tests that show it, and what there is to do."""

from __future__ import annotations

from typing import Any

from ralphy.documents.report import in_markdown, matrix, report_of, with_appendix
from ralphy.pipeline import decision as d
from ralphy.pipeline.history import History
from ralphy.pipeline.menu import Dish, dish
from ralphy.pipeline.model import CriterionAnswer, Prd, QaReport, Snapshot, Tree

RED = {"number": 2, "tests": ["tests/test_pay.py::test_total", "tests/test_pay.py::test_tax"]}
COMMITS = {"US-001": "0123456789abcdef"}
QA = QaReport("fail", (), (
    CriterionAnswer("US-001.1", "yes", ("test_total",)), CriterionAnswer("US-001.2", "no", (), "no test rounds"),
))  # fmt: skip


def prd(**evidence: Any) -> Prd:
    landed = {"id": "US-001", "title": "Pay", "status": "completed", "acceptanceCriteria": ["Adds up", "Rounds"],
              "evidence": {"verified": True, "tests": {"red_first": RED}, **evidence}}  # fmt: skip
    failed = {"id": "US-002", "title": "Refund", "status": "failed", "execution": {"attempts": 3, "last_error": "red"}}
    return Prd.of({"userStories": [landed, failed]})


def cells(found: Prd, qa: QaReport | None) -> list[tuple[str, ...]]:
    return [(row.id, row.criterion, row.test, row.before, row.after) for row in matrix(found, qa, COMMITS)]


def test_the_matrix_has_each_criterion_with_the_tests_that_the_review_names_and_the_rest_behind() -> None:
    assert cells(prd(), QA) == [
        ("US-001.1", "Adds up", "test_total", "red", "green"),
        ("US-001.2", "Rounds", "", "", ""),
        ("US-001", "", "tests/test_pay.py::test_tax", "red", "green"),
    ]


def test_a_criterion_has_the_tests_that_were_written_for_it() -> None:
    row = {"criterion": 2, "test": "tests/test_acc.py::test_rounds", "before": "red", "after": "green"}
    found = cells(prd(acceptance=[row]), None)
    assert found[1] == ("US-001.2", "Rounds", "tests/test_acc.py::test_rounds", "red", "green")


def test_the_report_says_what_waits_what_failed_what_is_doubtful_and_what_comes_next() -> None:
    parts = {"proved": 1, "of": 2, "unproved": ["pay.py:3"], "left": 0}
    history = History("login", cost_usd=0.5, costs={("US-001", "sonnet"): 0.5})
    s = Snapshot("login", 0.0, prd(parts=parts), Tree("c", "ralph/login", "main", "ralph/login", "t"), history, qa=QA)
    menu = [Dish("US-001"), dish("US-002", ["t::a"], {"t::a": "US-001"})]

    text = in_markdown(report_of(s, d.Wait("QA_REPORT.md is ready for review", gate="qa"), COMMITS, menu))

    for said in (
        "# login: 1 of 2 stories landed", "- QA_REPORT.md is ready for review",
        "| US-001.1 Adds up | test_total | red | green | 0123456789 |",
        "| US-001.2 Rounds (not met: no test rounds) | none |", "- US-002 Refund: failed after 3 attempts: red",
        "- US-001 Pay: 1 of 2 parts proved; no test would miss pay.py:3", "- US-001.2: the review says: not met",
        "| US-001 | can be dropped alone |", "| US-002 | needed by US-001 |", "| US-001 | sonnet | $0.50 |",
        "    ralphy approve login",
    ):  # fmt: skip
        assert said in text


def test_an_appendix_takes_the_place_of_the_one_before() -> None:
    rows = list(matrix(prd(), None, {}))
    once = with_appendix("# Report\n\nWell done.\n", rows)
    assert once.startswith("# Report\n\nWell done.\n\n## Appendix: What proves each criterion\n\n| Criterion |")
    assert with_appendix(once, rows) == once
