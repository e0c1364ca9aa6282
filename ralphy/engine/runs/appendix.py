"""What Ralphy puts behind the text of QA_REPORT.md and PR.md: what proves each criterion."""

from __future__ import annotations

from dataclasses import replace

from ralphy.documents.qa_report import parse_qa_report
from ralphy.documents.report import matrix
from ralphy.documents.report_text import with_appendix
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.ledger import commits_of
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.steps.pr import PR
from ralphy.pipeline.steps.qa import QA
from ralphy.pipeline.steps.step import StepOutput


def with_proof(w: Workspace, s: Snapshot, taken: StepOutput) -> StepOutput:
    """What is taken in, with the matrix behind these two documents; nothing where no criterion and no test is known."""
    files = dict(taken.files)
    for name in {QA.document, PR.document} & files.keys():
        text = files[name].decode("utf-8", "replace")
        qa = parse_qa_report(text, name) if name == QA.document else s.qa
        rows = list(matrix(s.prd, qa, commits_of(w.repository, w.feature.name, s.tree.head)))
        if rows:
            files[name] = with_appendix(text, rows).encode()
    return replace(taken, files=files)
