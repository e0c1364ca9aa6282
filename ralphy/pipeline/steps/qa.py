"""qa: the code of all stories is reviewed; what blocks becomes stories."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from ralphy.config.values import Config
from ralphy.pipeline import decision as d
from ralphy.pipeline.gates import revision
from ralphy.pipeline.model import Prd, QaReport, Snapshot
from ralphy.pipeline.parts import due
from ralphy.pipeline.steering import steering_notice
from ralphy.pipeline.steps import names
from ralphy.pipeline.steps.step import CODE, DocumentFormat, Step
from ralphy.pipeline.stories import flagged
from ralphy.pipeline.verification import unverified
from ralphy.text.first_few import first_few

# Reviews of the same stories after which only what is open is looked at.
_OPEN_ROUNDS = 2
_MOST_NAMED = 8


@dataclass(frozen=True, slots=True)
class Round:
    """A review of the same stories, from 1 on; fixes of findings are part of them. `since` is the commit that the last
    one read, "" in the first."""

    number: int
    since: str = ""
    is_frozen: bool = False


def round_of(s: Snapshot) -> Round:
    """The round that a review would be now. What a person adds or remarks begins a full review."""
    last = s.prd.step(names.QA)
    known = last.get("stories")
    if not isinstance(known, list):
        return Round(1)
    at, number = str(last.get("at") or ""), last.get("round")
    others = [story for story in s.prd.stories if story.is_completed and story.kind != "fix" and story.id not in known]
    if others or not isinstance(number, int) or not at:
        return Round(1, at)
    return Round(number + 1, at, is_frozen=number >= _OPEN_ROUNDS and not revision(s, names.QA))


# The input that is not a document: the completed stories with the words of their criteria.
CRITERIA = "criteria"


def _criteria_digest(prd: Prd) -> str:
    asked = [(story.id, [_words(raw) for raw in story.raw.get("acceptanceCriteria") or ()])
             for story in prd.stories if story.is_completed]  # fmt: skip
    return sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()


def _words(raw: object) -> object:
    return {name: value for name, value in raw.items() if name != "done"} if isinstance(raw, Mapping) else raw


def _unknown(report: QaReport | None) -> str:
    """Of which criteria the review cannot tell whether they are met; "" if it answers all."""
    open_ = [answer.id for answer in (report.criteria or () if report else ()) if answer.met == "unknown"]
    return f"the review does not say whether these are met: {first_few(open_, _MOST_NAMED)}" if open_ else ""


class _Qa(Step):
    def rule(self, s: Snapshot, config: Config) -> d.Decision | None:
        """Review code once, after a search for changes that no test needs: the reviewer gets the list."""
        decision = super().rule(s, config)
        if not isinstance(decision, d.RunAgent):
            return decision
        open_ = due(s.prd, s.session.parts) if config.proof.parts == "on" else []
        if not open_:
            return decision
        return d.ProveParts(f"Ralphy looks for untested changes of {open_[0].id} before the review", open_[0].id)

    def is_outdated(self, s: Snapshot) -> bool:
        read = s.prd.step(self.name).get("inputs") or {}
        return super().is_outdated(s) or (CRITERIA in read and read[CRITERIA] != _criteria_digest(s.prd))

    def inputs_now(self, s: Snapshot) -> dict[str, str]:
        return {**super().inputs_now(s), CRITERIA: _criteria_digest(s.prd)}

    def then(self, s: Snapshot, config: Config) -> d.Decision | None:
        if not s.qa or not s.qa.blocking or s.prd.step(self.name).get("fixed") == s.digest(self.document):
            return None
        if s.history.qa_rounds >= config.limits.max_qa_rounds:
            return d.Halt(f"the review still finds {len(s.qa.blocking)} blocking findings after {s.history.qa_rounds} "
                          f"rounds: see QA_REPORT.md, then run `ralphy redo qa {s.feature}`")  # fmt: skip
        return d.AddFixes(f"{len(s.qa.blocking)} blocking findings of the review become stories")

    def refuses(self, s: Snapshot) -> bool:
        return s.qa is not None and (s.qa.verdict != "pass" or bool(s.qa.blocking or s.qa.unmet))

    def notes(self, s: Snapshot) -> Sequence[str]:
        return _unknown(s.qa), steering_notice(s.prd), unverified(s.prd), flagged(s.prd)


QA = _Qa(
    names.QA,
    phase="QA",
    timeout="qa",
    models=lambda models: (models.qa,),
    document="QA_REPORT.md",
    format=DocumentFormat.REVIEW,
    inputs=("SPEC.md", CODE),
    gate=lambda gates: gates.qa,
    waiting_phase="AWAITING_QA_VALIDATION",
    why_first="all stories are completed; the code is reviewed next",
    why_again="the code, SPEC.md or a criterion changed since the last review",
    former_template="qa_agent.md",
)
