"""The record of a story: its evidence, and the documents that one commit changes with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ralphy.documents import progress
from ralphy.engine.feature import documents
from ralphy.engine.lane_use.checks import CheckResult, checked
from ralphy.engine.verify.case import Verdict
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.model import Document, Prd, Story


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


def story_files(
    w: Workspace, prd: Prd, story: Story, entry: progress.ProgressEntry, commit: str
) -> dict[str, bytes | None]:  # fmt: skip
    """prd.json, progress.txt and the story's document, by their names, as they follow those of a commit."""
    document = w.feature.story_document(story.id)
    log = progress.added(documents.text(w, "progress.txt", commit), entry, w.iso_now)
    about = progress.story_document(documents.text(w, document, commit), story, entry)
    return {"prd.json": documents.written_prd(w, prd), "progress.txt": log.encode(), document: about.encode()}
