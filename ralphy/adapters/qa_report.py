"""QA_REPORT.md: front matter with a verdict and findings, then prose for people."""

from __future__ import annotations

from typing import Any

from ralphy.core.errors import InvalidInput
from ralphy.core.model import Finding, QaReport

_SEVERITIES = ("critical", "major", "minor", "info")
_HINT = "the file begins with ---, verdict: pass or fail, findings: a list with severity and title, ---"


def parse_qa_report(text: str, where: str) -> QaReport:
    """The verdict and the findings; InvalidInput says which line is not as it must be (ruling 15)."""
    matter = _front_matter(text, where)
    verdict = matter.get("verdict")
    if verdict not in ("pass", "fail"):
        raise InvalidInput(f"verdict is {verdict!r}, must be pass or fail", where=f"{where}:2", hint=_HINT)
    findings = matter.get("findings") or []
    if not isinstance(findings, list):
        raise InvalidInput("findings must be a list", where=where, hint=_HINT)
    return QaReport(verdict, tuple(_finding(item, n, where) for n, item in enumerate(findings)))


def _front_matter(text: str, where: str) -> dict[str, Any]:
    import yaml

    lines = text.lstrip("﻿").splitlines()
    if not lines or lines[0].strip() != "---":
        raise InvalidInput("there is no front matter", where=f"{where}:1", hint=_HINT)
    end = next((i for i in range(1, len(lines)) if lines[i].strip() == "---"), 0)
    if not end or end > 2000:
        raise InvalidInput("the front matter has no end", where=f"{where}:1", hint=_HINT)
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        matter = yaml.load("\n".join(lines[1:end]), Loader=loader)  # noqa: S506  # a safe loader, in C if there is one
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the front matter is no YAML: {' '.join(str(error).split())[:200]}",
                           where=f"{where}:2", hint=_HINT) from error  # fmt: skip
    if not isinstance(matter, dict):
        raise InvalidInput("the front matter is not a mapping", where=f"{where}:2", hint=_HINT)
    return matter


def _finding(item: object, number: int, where: str) -> Finding:
    if (
        not isinstance(item, dict)
        or item.get("severity") not in _SEVERITIES
        or not str(item.get("title") or "").strip()
    ):
        raise InvalidInput(f"findings[{number}] needs a title and a severity of {', '.join(_SEVERITIES)}",
                           where=where, hint=_HINT)  # fmt: skip
    title = " ".join(str(item["title"]).split())[:200]
    return Finding(item["severity"], title, str(item.get("file") or ""), str(item.get("detail") or ""))
