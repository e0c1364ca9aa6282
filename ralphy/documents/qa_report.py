"""QA_REPORT.md: front matter with a verdict, findings and an answer to each criterion, then prose for people."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import yaml

from ralphy.errors import InvalidInput
from ralphy.pipeline.model import CriterionAnswer, QaReport, ReviewFinding
from ralphy.text.markdown import split_front_matter
from ralphy.text.plain_text import one_line, replace_unprintable

_SEVERITIES = ("critical", "major", "minor", "info")
_STATES = ("open", "resolved", "dropped", "noted")
# YAML 1.1 reads a bare yes or no as a truth value.
_MET: dict[object, str] = {True: "yes", False: "no", "yes": "yes", "no": "no", "unknown": "unknown"}
_KEYS = ("verdict", "findings", "criteria")
_MOST_TEXT, _MOST_NOTE, _MOST_TESTS = 8000, 500, 20
_HINT = "start the file with ---, verdict: pass or fail, findings: a list with severity and title, ---"


def parse_qa_report(text: str, where: str) -> QaReport:
    """The verdict, the findings and the answers. Raises InvalidInput with the line of a mistake."""
    matter = _front_matter(text, where)
    verdict = matter.get("verdict")
    if verdict not in ("pass", "fail"):
        verdict_text = repr(verdict) if isinstance(verdict, str | bool | int | None) else f"a {type(verdict).__name__}"
        raise InvalidInput(f"verdict is {verdict_text[:80]} but must be pass or fail", where=f"{where}:2", hint=_HINT)
    findings = matter.get("findings") or []
    if not isinstance(findings, list):
        raise InvalidInput("findings must be a list", where=where, hint=_HINT)
    criteria = matter.get("criteria")
    answers = tuple(_answers(criteria)) if isinstance(criteria, list) else None
    return QaReport(verdict, tuple(_finding(item, n, where) for n, item in enumerate(findings)), answers)


def _answers(listed: list[Any]) -> Iterator[CriterionAnswer]:
    """The valid answers; the caller treats criteria without one as missing."""
    for item in listed:
        matter = item if isinstance(item, dict) else {}
        name, met = _plain(matter.get("id"))[:80], matter.get("met")
        if name and isinstance(met, str | bool) and met in _MET:
            tests = matter.get("tests")
            named = [_plain(test)[:200] for test in tests[:_MOST_TESTS]] if isinstance(tests, list) else []
            yield CriterionAnswer(name, _MET[met], tuple(filter(None, named)), _plain(matter.get("note"))[:_MOST_NOTE])


def with_front_matter(report: QaReport, text: str, where: str) -> str:
    """The text of a valid report with the values of `report` in its front matter; other texts and numbers stay."""
    matter = _front_matter(text, where)
    more = {name: value for name, value in matter.items()
            if name not in _KEYS and isinstance(name, str) and isinstance(value, str | int | float)}  # fmt: skip
    extra = yaml.safe_dump(more, sort_keys=False, allow_unicode=True) if more else ""
    _, rest = split_front_matter(text) or ("", text)
    return "---\n" + "".join(_written(report)) + extra + "---\n" + rest


def _written(report: QaReport) -> Iterator[str]:
    """The front matter, a line for each criterion."""
    yield f"verdict: {report.verdict}\n"
    findings = [{name: value for name, value in asdict(one).items() if value} for one in report.findings]
    yield yaml.safe_dump({"findings": findings}, sort_keys=False, allow_unicode=True, width=120)
    if report.criteria is not None:
        yield "criteria:\n" if report.criteria else "criteria: []\n"
    for answer in report.criteria or ():
        entry = {name: list(value) if name == "tests" else value for name, value in asdict(answer).items() if value}
        row = yaml.safe_dump([entry], default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**9)
        yield f"- {row.strip()[1:-1]}\n"


def _front_matter(text: str, where: str) -> dict[str, Any]:
    parts = split_front_matter(text)
    if parts is None:
        problem = "does not end" if text.lstrip("\ufeff").startswith("---") else "is missing"
        raise InvalidInput(f"the front matter {problem}", where=f"{where}:1", hint=_HINT)
    front, _ = parts
    for key in _KEYS:
        if sum(line.startswith(f"{key}:") for line in front.splitlines()) > 1:
            raise InvalidInput(f"{key} appears twice", where=f"{where}:2", hint=_HINT)
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        matter = yaml.load(front, Loader=loader)  # noqa: S506  # a safe loader, in C if there is one
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the front matter is not YAML: {' '.join(str(error).split())[:200]}",
                           where=f"{where}:2", hint=_HINT) from error  # fmt: skip
    if not isinstance(matter, dict):
        raise InvalidInput("the front matter is not a mapping", where=f"{where}:2", hint=_HINT)
    return matter


def _finding(item: object, number: int, where: str) -> ReviewFinding:
    matter = item if isinstance(item, dict) else {}
    title = one_line(_plain(matter.get("title")))[:200]
    if matter.get("severity") not in _SEVERITIES or not title:
        raise InvalidInput(f"findings[{number}] needs a title and a severity of {', '.join(_SEVERITIES)}",
                           where=where, hint=_HINT)  # fmt: skip
    name, state = matter.get("id"), matter.get("state")
    return ReviewFinding(
        matter["severity"], title, _plain(matter.get("file")), _plain(matter.get("detail")),
        name if isinstance(name, str) and re.fullmatch(r"F[1-9]\d{0,3}", name) else "",
        _plain(matter.get("criterion"))[:80], state if state in _STATES else "open",
        _plain(matter.get("note"))[:_MOST_NOTE],
    )  # fmt: skip


def _plain(value: object) -> str:
    """A scalar as text for prd.json; "" for anything else: aliases can make a list larger than memory."""
    text = str(value)[:_MOST_TEXT] if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    return replace_unprintable(text, "\n").strip()
