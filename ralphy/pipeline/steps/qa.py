"""qa: the code of all stories is reviewed; what blocks becomes stories."""

from __future__ import annotations

from collections.abc import Sequence

from ralphy.config.values import Config
from ralphy.pipeline import decision as d
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.steering import steering_notice, steering_of
from ralphy.pipeline.steps import names
from ralphy.pipeline.steps.step import CODE, Format, Step
from ralphy.pipeline.stories import flagged
from ralphy.pipeline.verification import unverified


class _Qa(Step):
    def then(self, s: Snapshot, config: Config) -> d.Decision | None:
        if not s.qa or not s.qa.blocking or s.prd.step(self.name).get("fixed") == s.digest(self.document):
            return None
        if s.history.qa_rounds >= config.limits.max_qa_rounds:
            return d.Halt(f"the review still finds {len(s.qa.blocking)} blocking findings after "
                          f"{s.history.qa_rounds} rounds: see QA_REPORT.md, `ralphy redo qa`")  # fmt: skip
        return d.AddFixes(f"{len(s.qa.blocking)} blocking findings of the review become stories")

    def refuses(self, s: Snapshot) -> bool:
        return s.qa is not None and (s.qa.verdict != "pass" or bool(s.qa.blocking))

    def notes(self, s: Snapshot) -> Sequence[str]:
        return steering_notice(steering_of(s.prd)), unverified(s.prd), flagged(s.prd)


QA = _Qa(
    names.QA,
    phase="QA",
    timeout="qa",
    models=lambda models: (models.qa,),
    document="QA_REPORT.md",
    format=Format.REVIEW,
    inputs=("SPEC.md", CODE),
    gate=lambda gates: gates.qa,
    waiting_phase="AWAITING_QA_VALIDATION",
    why_first="all stories are completed; the code is reviewed next",
    why_again="the code or SPEC.md changed since the last review",
    former_template="qa_agent.md",
)
