"""spec: PRD.md becomes SPEC.md and the stories of prd.json.

One run hands in both, so a step that is to come between them also cuts this one in two.
"""

from __future__ import annotations

from collections.abc import Sequence

from ralphy.config.values import Config
from ralphy.errors import ExitCode, InvalidInput
from ralphy.pipeline import decision as d
from ralphy.pipeline import stories
from ralphy.pipeline.clarifications import DOCUMENT as CLARIFICATIONS
from ralphy.pipeline.gates import revision, verdict_on
from ralphy.pipeline.model import Prd, Snapshot
from ralphy.pipeline.steps import names
from ralphy.pipeline.steps.acceptance import ACCEPTANCE
from ralphy.pipeline.steps.step import DRAFT, Briefing, DocumentFormat, Handed, Step, StepOutput, Wanted

_PRD = "PRD.md"
_MOST_NAMED = 10


class _Spec(Step):
    """Where a person wrote SPEC.md, only the stories are left to do."""

    def rule(self, s: Snapshot, config: Config) -> d.Decision | None:
        """No agent is paid for a PRD.md that does not say what is wanted."""
        decision = super().rule(s, config)
        if not s.prd_faults or not isinstance(decision, d.RunAgent):
            return decision
        more = "to go on without: RALPHY_VERIFY_PRD=flag (verify.prd)"
        return d.Halt(f"{'; '.join(s.prd_faults)}; {more}", ExitCode.INVALID)

    def applies(self, s: Snapshot) -> bool:
        return bool(s.digest(_PRD) or s.digest(self.document))

    def why(self, s: Snapshot) -> str:
        if revision(s, self.name):
            return "SPEC.md was sent back with remarks"
        if not s.digest(self.document):
            return "PRD.md exists, SPEC.md is missing"
        if not s.prd.stories:
            return "SPEC.md exists, prd.json has no stories yet"
        made = s.prd.step(self.name).get("outputs") or {}
        untouched = made.get(self.document) == s.digest(self.document)
        is_new = self.is_outdated(s) and untouched and not verdict_on(s, self)
        return f"{self._edited(s)} changed before SPEC.md was approved" if is_new else ""

    def is_outdated(self, s: Snapshot) -> bool:
        return bool(self._edited(s))

    def _edited(self, s: Snapshot) -> str:
        """What was edited since the agent read it, "" if nothing was. What was removed leaves SPEC.md as it is."""
        read = s.prd.step(self.name).get("inputs") or {}
        return next((name for name in self.inputs if name in read and s.digest(name) not in ("", read[name])), "")

    def then(self, s: Snapshot, config: Config) -> d.Decision | None:
        if self.is_outdated(s) and not s.markers.keys() & {"APPROVED", "REJECTED"}:
            return d.Wait(f"{self._edited(s)} was edited after SPEC.md was made: `ralphy redo spec {s.feature}` writes "
                          f"it again, `ralphy approve {s.feature}` keeps it", gate=self.name)  # fmt: skip
        return ACCEPTANCE.turn(s, config)

    def notes(self, s: Snapshot) -> Sequence[str]:
        if s.acceptance is None:
            return ()
        untested = ", ".join(s.acceptance.untested(s.prd)[:_MOST_NAMED])
        return (f"read {s.acceptance.at} as well: it is approved with it",
                f"no acceptance test asks about {untested}" if untested else "")  # fmt: skip

    def wants(self, s: Snapshot) -> tuple[Wanted, ...]:
        draft = Wanted(DRAFT, DocumentFormat.STORIES, is_needed=not s.prd.stories)
        keeps_a_persons = bool(s.digest(self.document)) and not s.prd.stories
        return (draft,) if keeps_a_persons else (Wanted(self.document), draft)

    def take(self, s: Snapshot, handed: Handed) -> StepOutput:
        """Stories that exist are kept as they are."""
        root = {
            **({"$schema": handed.schema} if handed.schema else {}),
            "project": handed.project,
            "branchName": handed.branch,
            **{name: value for name, value in s.prd.raw.items() if name not in ("userStories", "workflow")},
            "userStories": stories.merged(s.prd, [stories.as_drafted(story) for story in handed.stories]),
        }
        prd = stories.canonical(Prd.of({**root, "workflow": s.prd.workflow}))
        if not prd.stories:
            raise InvalidInput(f"{DRAFT} holds no stories", hint="at least one story is needed")
        return StepOutput(handed.files, prd)


SPEC = _Spec(
    names.SPEC,
    phase="SPECIFICATION",
    timeout="specification",
    models=lambda models: (models.specification,),
    document="SPEC.md",
    inputs=(_PRD, CLARIFICATIONS),
    briefing=(Briefing.FEATURE, Briefing.STORIES),
    gate=lambda gates: gates.spec,
    beside=(ACCEPTANCE.document,),
    waiting_phase="AWAITING_SPEC_VALIDATION",
    starts_over=True,
    former_template="spec_agent.md",
)
