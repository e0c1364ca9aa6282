"""QA_REPORT.md: front matter that is read strictly, since its findings become stories."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.documents.prd_rules import problems
from ralphy.documents.qa_report import parse_qa_report, with_front_matter
from ralphy.errors import InvalidInput
from ralphy.pipeline.model import CriterionAnswer, QaReport, ReviewFinding
from ralphy.pipeline.stories import fixes
from ralphy.text.strict_json import dump
from tests.core.building import prd


def report(text: str) -> QaReport:
    return parse_qa_report(text, "docs/features/login/QA_REPORT.md")


def with_findings(*rows: str) -> str:
    return "---\nverdict: fail\nfindings:\n" + "".join(f"  - {row}\n" for row in rows) + "---\n\n# Review\n"


WITHOUT_FINDINGS = [
    "---\nverdict: pass\n---\n", "\ufeff---\nverdict: pass\nfindings: []\n---\nprose\n---\n",
    "---\r\nverdict: pass\r\nfindings:\r\n---\r\n", "--- \nverdict: 'pass'\nfindings: null\nauthor: me\n---",
]  # fmt: skip


def test_a_report_has_a_verdict_and_findings_if_any() -> None:
    text = with_findings(
        "{severity: critical, title: Leak, file: a.py, detail: Line 3}", "{severity: info, title: Fine}"
    )
    assert report(text) == QaReport(
        "fail", (ReviewFinding("critical", "Leak", "a.py", "Line 3"), ReviewFinding("info", "Fine"))
    )
    assert [report(text) for text in WITHOUT_FINDINGS] == [QaReport("pass")] * len(WITHOUT_FINDINGS)


@pytest.mark.parametrize(
    "text, why",
    [
        ("", "front matter is missing"),
        ("\n---\nverdict: pass\n---\n", "front matter is missing"),
        ("---\nverdict: pass\n", "does not end"),
        ("---\n---\n", "not a mapping"),
        ("---\nverdict: maybe\n---\n", "verdict is 'maybe'"),
        ("---\nverdict: yes\n---\n", "verdict is True"),
        ("---\nfindings: []\n---\n", "verdict is None"),
        ("---\nverdict: fail\nverdict: pass\n---\n", "verdict appears twice"),
        ("---\nverdict: pass\nfindings: [{severity: major, title: x}]\nfindings: []\n---\n", "findings appears twice"),
        ("---\nverdict: pass\nfindings: none\n---\n", "must be a list"),
        ("---\nverdict: [\n---\n", "not YAML"),
        ("---\nverdict: pass\nx: !!python/object/apply:os.system [id]\n---\n", "not YAML"),
        (with_findings("Leak"), r"findings\[0\]"),
        (with_findings("{severity: info, title: x}", "{severity: blocker, title: x}"), r"findings\[1\]"),
        (with_findings("{severity: major}"), "needs a title"),
        (with_findings("{severity: major, title: [a, b]}"), "needs a title"),
        (with_findings(r'{severity: major, title: "\e\u202e"}'), "needs a title"),
    ],
)
def test_what_is_not_as_it_must_be_is_said(text: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as caught:
        report(text)
    assert caught.value.where.startswith("docs/features/login/QA_REPORT.md")
    assert caught.value.hint


def test_a_finding_is_plain_text_on_one_line_that_is_bounded_and_ends_no_front_matter() -> None:
    detail = "|\n    before\n    ---\n    after"
    text = f"---\nverdict: fail\nfindings:\n- severity: major\n  title: x\n  detail: {detail}\n---\n"
    assert report(text).findings[0].detail == "before\n---\nafter"

    row = r'{severity: major, title: "red \e[31m\nalert\u202e \u2028 x", file: "a\rb", detail: "1\n2\x07"}'
    assert report(with_findings(row)).findings[0] == ReviewFinding("major", "red [31m alert x", "a b", "1\n2")

    row = f"{{severity: major, title: {'t' * 9000}, file: {'f' * 9000}, detail: {'d' * 9000}}}"
    finding = report(with_findings(row)).findings[0]
    assert (len(finding.title), len(finding.file), len(finding.detail)) == (200, 8000, 8000)


def test_a_report_of_thousands_of_criteria_is_read_as_it_was_written() -> None:
    answers = tuple(CriterionAnswer(f"US-{number:04}.1", "yes") for number in range(3000))
    text = with_front_matter(
        QaReport("pass", criteria=answers), "---\nverdict: pass\n---\n\n# Review\n", "QA_REPORT.md"
    )
    assert report(text).criteria == answers
    assert text.endswith("\n---\n\n# Review\n")


@pytest.mark.parametrize("at", ["verdict: *h", "verdict: pass\nfindings: [{severity: major, title: *h}]",
                                "verdict: pass\nfindings: [{severity: major, title: x, detail: *h}]",
                                "verdict: pass\nfindings: *h"])  # fmt: skip
def test_a_report_that_stands_for_more_than_memory_holds(at: str) -> None:
    rows = "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
    for before, name in zip("abcdefg", "bcdefgh", strict=True):
        rows += f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]\n"
    began = time.process_time()
    try:
        assert report(f"---\n{rows}{at}\n---\n").findings[0].detail == ""
    except InvalidInput as error:
        assert len(str(error)) < 500
    assert time.process_time() - began < 2.0


@given(st.text(min_size=1), st.text(), st.text())
def test_the_stories_of_any_findings_are_valid(title: str, file: str, detail: str) -> None:
    front = dump_yaml(
        {"verdict": "fail", "findings": [{"severity": "major", "title": title, "file": file, "detail": detail}]}
    )
    try:
        found = report(f"---\n{front}---\n")
    except InvalidInput:
        return
    document = {"userStories": fixes(prd(), found.blocking, 1)}
    assert problems(document) == []
    assert dump(document)


def dump_yaml(value: object) -> str:
    import yaml

    text: str = yaml.safe_dump(value)
    return text
