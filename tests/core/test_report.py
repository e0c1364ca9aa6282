"""The report: every criterion of a landed story in one table with the tests that show it, and what there is to do."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from ralphy.documents.report import CriterionRow, Report, matrix, report_of
from ralphy.documents.report_page import in_html
from ralphy.documents.report_text import in_markdown, with_appendix, without_appendix
from ralphy.pipeline import decision as d
from ralphy.pipeline.history import History
from ralphy.pipeline.model import CriterionAnswer, Prd, QaReport, ReviewFinding, Snapshot, Tree
from ralphy.pipeline.nights import Past, interrupted, nights_of, past_of
from tests.core.building import a_run, an_end

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


def clock(at: float) -> str:
    return f"day {at // 86400:.0f} {at % 86400 // 3600:02.0f}:{at % 3600 // 60:02.0f}"


def a_night() -> Past:
    """US-002 is refused at 01:00 in lane 1 while US-001 lands in lane 2; then a limit, a gate, and an answer."""
    hour = 3600.0
    tokens = {"input": 1000, "output": 20, "cache_read": 3, "cache_creation": 4}
    return past_of([
        a_run("US-001", "r1", at=0.0, lane="2", model="sonnet", attempt=1),
        a_run("US-002", "r2", at=0.0, lane="1", model="opus", attempt=3),
        an_end("rejected", "r2", at=hour, detail="check test exit 1\nFAILED t::a", cost=0.25, seconds=3000.0, kept=3),
        an_end("succeeded", "r1", at=1.5 * hour, landed=True, cost=0.5, seconds=5000.0, tokens=tokens),
        a_run(None, "r3", at=2 * hour, step="qa", lane="1", model="sonnet"),
        an_end("limited", "r3", at=2.25 * hour, retry_at=3.5 * hour, detail="the usage limit is reached"),
        a_run(None, "r4", at=4 * hour, step="qa", lane="1", model="sonnet"),
        an_end("succeeded", "r4", at=4.5 * hour, detail="QA_REPORT.md is made"),
        {"ev": "gate", "feature": "login", "gate": "spec", "at": 4.5 * hour},
        {"ev": "approved", "feature": "login", "gate": "spec", "by": "APPROVED", "at": 5 * hour},
    ], "login")  # fmt: skip


def a_report(**stories: str) -> Report:
    parts = {"proved": 1, "of": 2, "unproved": ["pay.py:3"], "left": 0}
    runs = {"whole": 1, "narrowed": 3, "asked": {"candidate": 1, "old_tests": 1, "red_first": 2}}
    plan = prd(parts=parts, warnings=["edited tests: tests/test_pay.py"], cost_usd=0.5, check_runs=runs)
    for story, title in stories.items():
        plan = plan.with_story(story.replace("_", "-"), title=title)
    qa = QaReport(
        QA.verdict, (ReviewFinding("major", "No lock", id="F1", state="dropped", note="it has one"),), QA.criteria
    )
    tree = Tree("c", "ralph/login", "main", "ralph/login", "t")
    s = Snapshot("login", 0.0, plan, tree, History("login", cost_usd=0.75), qa=qa)
    decision = d.Wait("QA_REPORT.md is ready for review", gate="qa")
    return report_of(s, decision, COMMITS, a_night(), "docs/features/login")


def test_the_report_says_what_waits_what_failed_what_is_doubtful_who_worked_when_and_what_comes_next() -> None:
    text = in_markdown(a_report(), clock)

    for said in (
        "# login: 1 of 2 stories landed",
        "stories landed\n\n## What waits for you\n\n- QA_REPORT.md is ready for review\n  - ralphy approve login\n",
        "- US-002 Refund failed: say what to do\n  - write after `Answer:` in docs/features/login/QUESTIONS.md, then ",
        "| US-001 Pay |  | 0123456789 | 0 |  | 0 | 1 h 23 min | $0.50 |",
        "| US-001.1 Adds up | test_total | red | green | 0123456789 |",
        "| US-001.2 Rounds (not met: no test rounds) | none |", "- US-002 Refund: failed after 3 attempts: red",
        "- US-002 Refund, attempt 3 (opus): rejected: check test exit 1 FAILED t::a (ralphy attempts diff login/US-002",
        "## How it was checked\n\n- US-001 Pay: the checks, old versions of edited tests, its tests without its code "
        "(1 whole run and 3 narrowed); proved by tests/test_pay.py::test_total, tests/test_pay.py::test_tax",
        "## What was flagged\n\n- US-001 Pay: edited tests: tests/test_pay.py",
        "- US-001 Pay: 1 of 2 changes untested: pay.py:3", "- US-001.2: the review says: not met",
        "- day 0 05:00 spec approved (APPROVED)\n- review: F1 No lock dropped: it has one",
        "From day 0 00:00 to day 0 04:30: 4 runs in 4 h 30 min.",
        "| day 0 00:00 | day 0 01:30 | 2 | US-001 Pay | 1 | sonnet | landed |",
        "| day 0 02:15 | day 0 03:30 |  | waited: the usage limit is reached |",
        "| day 0 04:30 | day 0 05:00 |  | waited for you, at the spec gate |",
        "| US-001 | sonnet | 1 | 1 h 23 min | 1,000 | 20 | 3 | 4 | $0.50 |", "| in all |  | 4 |",
        "    ralphy approve login",
    ):  # fmt: skip
        assert said in text


class Page(HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_page_shows_the_same_by_itself_and_names_its_parts_for_a_screen_reader() -> None:
    page = Page(in_html(a_report(), clock))
    names = {tag for tag, _ in page.tags}
    assert names.isdisjoint({"script", "iframe", "object", "img", "form"})
    assert not [value for _, attrs in page.tags for name in ("src", "href", "xlink:href", "action")
                if (value := attrs.get(name)) and value != "data:,"]  # fmt: skip
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    labels = {attrs["aria-labelledby"] for _, attrs in page.tags if "aria-labelledby" in attrs}
    assert labels <= ids
    assert all(attrs.get("scope") == "col" for tag, attrs in page.tags if tag == "th")
    for said in ("What waits for you", "ralphy approve login", "1 h 23 min", "From day 0 00:00 to day 0 04:30: 4 runs"):
        assert said in page.text


def test_agents_words_make_no_code_no_link_and_no_section() -> None:
    hostile = "<script>alert(1)</script> [x](javascript:x) ![y](http://evil/y)\n# Owned | *now* &lt;b&gt;"
    report = a_report(US_001=hostile, US_002=hostile)

    tags = [tag for tag, _ in Page(in_html(report, clock)).tags]
    assert tags == [tag for tag, _ in Page(in_html(a_report(), clock)).tags]

    text = in_markdown(report, clock)
    shown = r"\<script>alert(1)\</script> \[x](javascript:x) !\[y](http://evil/y) # Owned \| \*now\* \&lt;b\&gt;"
    assert f"| US-001 {shown} |" in text
    assert "\n# Owned" not in text
    assert "<script>" not in text.replace(r"\<", "")


def test_a_night_ends_where_nobody_worked_for_hours_unless_the_provider_was_waited_for() -> None:
    day = 86400.0
    waited = [a_run("US-001", "r0", at=1.0), an_end("limited", "r0", at=2.0, retry_at=day)]
    lines = [a_run("US-001", "r1", at=day), an_end("rejected", "r1", at=day + 9),
             a_run("US-001", "r2", at=2 * day), a_run("US-001", "r3", at=2 * day + 5)]  # fmt: skip
    nights = nights_of(past_of([*waited, *lines]))
    assert [[turn.run for turn in night.turns] for night in nights] == [["r0", "r1"], ["r2", "r3"]]
    assert nights[1].turns[0].outcome == "died", "a run whose lane another one got"
    assert [turn.outcome for turn in nights[1].turns] == ["died", ""]
    assert [turn.outcome for turn in interrupted(nights[1]).turns] == ["died", "died"], "nobody works any more"
    assert nights[0].pauses[0].ended == day


def test_a_decision_has_the_remarks_that_a_person_wrote() -> None:
    said = {"ev": "rejected", "feature": "login", "gate": "spec", "verdict": "revise", "at": 1.0}
    past = past_of([{**said, "text": "Name\nthe rates"}, said, {**said, "verdict": "rejected"}])
    assert [one.text for one in past.decisions] == [
        "spec sent back: Name the rates", "spec sent back with remarks", "spec rejected",
    ]  # fmt: skip


def test_an_appendix_takes_the_place_of_the_one_before() -> None:
    rows = list(matrix(prd(), None, {}))
    once = with_appendix("# Report\n\nWell done.\n", rows)
    assert once.startswith("# Report\n\nWell done.\n\n## Appendix: What proves each criterion\n\n| Criterion |")
    assert with_appendix(once, rows) == once
    assert without_appendix(once) == "# Report\n\nWell done."


def test_what_a_review_could_not_tell_stands_beside_its_criterion() -> None:
    rows = [
        CriterionRow("US-001.1", "Adds | up", "", "", "", "c1", met="unknown"),
        CriterionRow("US-001.2", "Rounds", "t", "", "", "c1", met="no", note="never"),
    ]
    shown = with_appendix("# Report\n", rows)
    assert "| US-001.1 Adds \\| up (unknown) | none |" in shown
    assert "| US-001.2 Rounds (not met: never) | t |" in shown
