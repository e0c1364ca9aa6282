"""QA_REPORT.md: front matter with a verdict and findings, then prose for people."""

from __future__ import annotations

from typing import Any

from ralphy.errors import InvalidInput
from ralphy.pipeline.model import Finding, QaReport

_SEVERITIES = ("critical", "major", "minor", "info")
_MOST_TEXT = 8000
_HINT = "start the file with ---, verdict: pass or fail, findings: a list with severity and title, ---"


def parse_qa_report(text: str, where: str) -> QaReport:
    """The verdict and the findings; InvalidInput says which line is not as it must be."""
    matter = _front_matter(text, where)
    verdict = matter.get("verdict")
    if verdict not in ("pass", "fail"):
        shown = repr(verdict) if isinstance(verdict, str | bool | int | None) else f"a {type(verdict).__name__}"
        raise InvalidInput(f"verdict is {shown[:80]}, must be pass or fail", where=f"{where}:2", hint=_HINT)
    findings = matter.get("findings") or []
    if not isinstance(findings, list):
        raise InvalidInput("findings must be a list", where=where, hint=_HINT)
    return QaReport(verdict, tuple(_finding(item, n, where) for n, item in enumerate(findings)))


def _front_matter(text: str, where: str) -> dict[str, Any]:
    import yaml

    lines = text.removeprefix("﻿").replace("\r\n", "\n").split("\n")
    if lines[0].rstrip() != "---":
        raise InvalidInput("the front matter is missing", where=f"{where}:1", hint=_HINT)
    end = next((i for i in range(1, len(lines)) if lines[i].rstrip() == "---"), 0)
    if not end or end > 2000:
        raise InvalidInput("the front matter does not end", where=f"{where}:1", hint=_HINT)
    for key in ("verdict", "findings"):
        if sum(line.startswith(f"{key}:") for line in lines[1:end]) > 1:
            raise InvalidInput(f"{key} appears twice", where=f"{where}:2", hint=_HINT)
    try:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        matter = yaml.load("\n".join(lines[1:end]), Loader=loader)  # noqa: S506  # a safe loader, in C if there is one
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the front matter is not YAML: {' '.join(str(error).split())[:200]}",
                           where=f"{where}:2", hint=_HINT) from error  # fmt: skip
    if not isinstance(matter, dict):
        raise InvalidInput("the front matter is not a mapping", where=f"{where}:2", hint=_HINT)
    return matter


def _finding(item: object, number: int, where: str) -> Finding:
    matter = item if isinstance(item, dict) else {}
    title = " ".join(_plain(matter.get("title")).split())[:200]
    if matter.get("severity") not in _SEVERITIES or not title:
        raise InvalidInput(f"findings[{number}] needs a title and a severity of {', '.join(_SEVERITIES)}",
                           where=where, hint=_HINT)  # fmt: skip
    return Finding(matter["severity"], title, _plain(matter.get("file")), _plain(matter.get("detail")))


def _plain(value: object) -> str:
    """A scalar as text that may stand in prd.json; "" for all else: a list may stand for more than memory holds."""
    text = str(value)[:_MOST_TEXT] if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text).strip()
