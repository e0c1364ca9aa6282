"""clarify: before the specification, an agent asks what PRD.md leaves open, and a person answers in the document.

Its gate is open once every question has an answer; an approval leaves the others to the agent of the specification.
"""

from __future__ import annotations

from dataclasses import replace

from ralphy.config.values import Config
from ralphy.pipeline import decision as d
from ralphy.pipeline.clarifications import DOCUMENT, require_questions
from ralphy.pipeline.gates import revision
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.steps import names
from ralphy.pipeline.steps.step import Briefing, Handed, Step, StepOutput

_PRD, _SPEC = "PRD.md", "SPEC.md"


class _Clarify(Step):
    def rule(self, s: Snapshot, config: Config) -> d.Decision | None:
        """What the step asks for. A PRD.md that does not say what is wanted at all is refused by the next step."""
        if s.session.last_step == self.name and s.digest(_SPEC):
            return d.Done(f"{_SPEC} exists already, so no questions are asked")
        decision = None if s.prd_faults else super().rule(s, config)
        if not (isinstance(decision, d.Wait) and s.unclear):
            return decision
        asks = f"{DOCUMENT} asks {', '.join(s.unclear)}"
        answer = f"write after each `Answer:` in {s.typed_folder}/{DOCUMENT}"
        reason = f"{asks}: {answer}, or `ralphy approve {s.feature}` leaves it to agents"
        return replace(decision, reason=reason, brief=asks)

    def applies(self, s: Snapshot) -> bool:
        """Before there is a specification, while there is something to ask or to answer."""
        is_early = s.digest(_PRD) and not s.digest(_SPEC) and s.unclear is not None
        return bool(is_early and (s.unclear or self.why(s)))

    def why(self, s: Snapshot) -> str:
        """A document that a person has written or answered is made again for remarks alone."""
        made = s.prd.step(self.name).get("outputs") or {}
        is_a_persons = s.digest(self.document) and made.get(self.document) != s.digest(self.document)
        return "" if is_a_persons and not revision(s, self.name) else super().why(s)

    def take(self, s: Snapshot, handed: Handed) -> StepOutput:
        require_questions(handed.files[DOCUMENT].decode("utf-8", "replace"), s.most_questions)
        return StepOutput(handed.files, s.prd)


CLARIFY = _Clarify(
    names.CLARIFY,
    phase="CLARIFICATION",
    timeout="specification",
    models=lambda models: (models.specification,),
    document=DOCUMENT,
    inputs=(_PRD,),
    briefing=(Briefing.FEATURE,),
    gate=lambda gates: gates.clarify,
    waiting_phase="AWAITING_CLARIFICATION",
    why_first=f"no agent has asked yet what {_PRD} leaves open",
)
