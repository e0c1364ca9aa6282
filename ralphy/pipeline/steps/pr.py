"""pr: the pull request's text is written, and the work is published."""

from __future__ import annotations

from ralphy.config.values import Config
from ralphy.pipeline import decision as d
from ralphy.pipeline.model import Snapshot
from ralphy.pipeline.preconditions import busy
from ralphy.pipeline.steps import names
from ralphy.pipeline.steps.step import BEFORE, CODE, DocumentFormat, Handed, Step, StepOutput
from ralphy.pipeline.verification import unverified

_WHY = "the review is approved; the pull request's text is written next"


class _Pr(Step):
    def why(self, s: Snapshot) -> str:
        return "" if _is_published(s) else super().why(s)

    def then(self, s: Snapshot, _: Config) -> d.Decision | None:
        if not _is_published(s):
            return _publish(s, "PR.md is ready to publish")
        is_there = not s.prd.pr.get("remote") or s.tree.head in (s.tree.pushed, s.session.published)
        return None if is_there else _publish(s, "the record of the publishing is not pushed yet")

    def take(self, s: Snapshot, handed: Handed) -> StepOutput:
        """Whatever the agent claims, who reads PR.md alone must know of what was not verified."""
        text, doubts = handed.files[self.document], unverified(s.prd)
        if doubts:
            text = text.rstrip() + f"\n\n## Unverified\n\nThese stories {doubts}.\n".encode()
        return StepOutput({self.document: text}, s.prd)


def _publish(s: Snapshot, why: str) -> d.Decision:
    """Publish, once in an invocation: a push that is refused is for a person."""
    reason, code = s.session.refused
    return d.Halt(reason, code) if reason else busy(s) or d.Publish(why)


def _is_published(s: Snapshot) -> bool:
    return s.prd.pr.get("code") == s.tree.code


PR = _Pr(
    names.PR,
    phase="PR",
    timeout="pr",
    models=lambda models: (models.pr,),
    document="PR.md",
    format=DocumentFormat.PULL_REQUEST,
    inputs=(CODE, BEFORE),
    why_first=_WHY,
    why_again=_WHY,
    patience=2.0,
    former_template="pr_agent.md",
)
