"""acceptance: the criteria become tests before anybody writes code, approved with SPEC.md at the first gate.

`SPEC.then` gives it its turn: its document stands behind the same gate.
"""

from __future__ import annotations

from ralphy.config.values import Config
from ralphy.pipeline import decision as d
from ralphy.pipeline.acceptance import DOCUMENT, OFF, read_acceptance, require_known
from ralphy.pipeline.life import is_done
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.steps import names
from ralphy.pipeline.steps.step import DocumentFormat, Handed, Step, StepOutput

_REMARKS = "remarks"  # an input: how often the specification was sent back


class _Acceptance(Step):
    def applies(self, _: Snapshot) -> bool:
        return False

    def turn(self, s: Snapshot, config: Config) -> d.RunAgent | None:
        """Its run, if its document is to be made. An approved document stays, even if SPEC.md changes."""
        if config.acceptance.tests == OFF or is_done(s.prd):
            return None
        if not s.digest(self.document):
            return d.RunAgent("SPEC.md and the stories are there, their acceptance tests are missing", self.name)
        made = (s.prd.step(self.name).get("outputs") or {}).get(self.document)
        is_approved = any(a.gate == names.SPEC and a.verdict == "approved" for a in s.prd.gate_verdicts)
        if is_approved or s.markers.keys() & {"APPROVED", "REJECTED"} or made != s.digest(self.document):
            return None
        why = "SPEC.md changed since its acceptance tests were written"
        return d.RunAgent(why, self.name) if self.is_outdated(s) else None

    def inputs_now(self, s: Snapshot) -> dict[str, str]:
        sent_back = sum(a.gate == names.SPEC and a.verdict == "revise" for a in s.prd.gate_verdicts)
        return {**super().inputs_now(s), **({_REMARKS: str(sent_back)} if sent_back else {})}

    def take(self, s: Snapshot, handed: Handed) -> StepOutput:
        text = handed.files[self.document].decode("utf-8", "replace")
        require_known(read_acceptance(text), s.prd)
        return StepOutput(handed.files, s.prd)


ACCEPTANCE = _Acceptance(
    names.ACCEPTANCE,
    phase="SPECIFICATION",
    timeout="specification",
    models=lambda models: (models.specification,),
    document=DOCUMENT,
    format=DocumentFormat.TEXT,
    inputs=("SPEC.md", _REMARKS),
    waiting_phase="AWAITING_SPEC_VALIDATION",
)
