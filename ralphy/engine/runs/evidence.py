"""A story's evidence: what was verified of its code, for the review, the report and the pull request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ralphy.engine.lane_use.checks import CheckResult, checked
from ralphy.engine.verify.case import Verdict
from ralphy.pipeline.model import Document


def evidence_of(code: str, base: str, checks: Sequence[CheckResult], more: Mapping[str, Any]) -> Document:
    """The evidence of code (the id of its tree), made on top of the commit `base`; of `more`, what is not empty."""
    return {
        "tree": code,
        "base": base,
        "checks": [checked(check) for check in checks],
        "verified": any(not check.is_empty for check in checks),
        **{name: value for name, value in more.items() if value not in ("", [], {})},
    }


def of_verdict(verdict: Verdict) -> Document:
    """What a verdict adds to the evidence."""
    return {
        "tests": dict(verdict.tests),
        "acceptance": list(verdict.acceptance.rows),
        "warnings": list(verdict.warnings),
    }
