"""Verify: does this candidate tree count? The agent's word can hold it back, never pass it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ralphy.agents.protocol import AgentResult, Outcome
from ralphy.agents.status_report import Claim
from ralphy.engine.lane.candidate import Candidate, file_changes
from ralphy.engine.lane.checks import CheckResult, failed, run_checks, unless_killed
from ralphy.engine.lane.hooks import Hooked, run_hook
from ralphy.engine.lane.lane_pool import clean_lane, lay_out_clean
from ralphy.engine.verify.baseline import listed, record_baseline, without_tests
from ralphy.engine.verify.identity import removes_of, tests_kept, with_old
from ralphy.engine.verify.old_tests import old_tests_fail
from ralphy.engine.workspace.scan import scan_policy, secrets_in
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.model import Story
from ralphy.prompts.budget import digest_failure
from ralphy.testguard.findings import Finding
from ralphy.testguard.substance import why_no_work

SATISFIED = "the agent says it is already satisfied"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`failure` says why an attempt does not count ("" if it does); `question` is what a person must answer.

    `goes_on` says that the tree is worth keeping for the next attempt (heal in place). `tests` is what the
    evidence says of the tests.
    """

    outcome: Outcome
    failure: str = ""
    digest: str = ""
    checks: Sequence[CheckResult] = ()
    warnings: Sequence[str] = field(default_factory=tuple)
    question: str = ""
    goes_on: bool = False
    candidate: Candidate | None = None
    tests: Mapping[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.SUCCEEDED and not self.failure


def judge(w: Workspace, story: Story, result: AgentResult, claim: Claim, candidate: Candidate) -> Verdict:
    """Ask in turn: may it be committed, does it do anything, what does the agent say, are the checks green,
    are the tests all there?"""
    if not result.outcome.costs_an_attempt:
        return Verdict(result.outcome, result.detail, goes_on=result.over_budget)
    if candidate.refused:
        return Verdict(Outcome.REJECTED, candidate.refused, candidate.refused)
    if claim.asks:
        return Verdict(Outcome.NEEDS_INPUT, f"the agent asks: {claim.asks}", question=claim.asks)
    why = _why_nothing(w, story, candidate)
    if why:
        return _no_work(w, result, claim, candidate, why)
    if claim.holds_back:
        return Verdict(Outcome.REJECTED, claim.holds_back, claim.holds_back, goes_on=True)
    hooked = run_hook(w, candidate)
    made = hooked.candidate
    why = _why_nothing(w, story, made) if made.tree != candidate.tree and not made.refused else ""
    if why:
        why = f"{why} once the pre-commit hook was done"
        return Verdict(Outcome.REJECTED, why, f"{why}: the story asks for more", hooked.results, candidate=made)
    return replace(_judge_code(w, story, result, claim, hooked), candidate=made)


def _why_nothing(w: Workspace, story: Story, candidate: Candidate) -> str:
    """Why the candidate's changes do not count, "" if they do; where documents are asked for, they do."""
    why = why_no_work(file_changes(w, candidate.green, candidate.tree))
    return "" if story.kind == "docs" and candidate.files else why


def _judge_code(w: Workspace, story: Story, result: AgentResult, claim: Claim, hooked: Hooked) -> Verdict:
    """Is what would be committed free of secrets, and what do the hook and the checks say of it?"""
    candidate = hooked.candidate
    if candidate.refused:
        return Verdict(Outcome.REJECTED, candidate.refused, candidate.refused, hooked.results)
    secrets = secrets_in(w, candidate.green, candidate.tree)
    if secrets and scan_policy(w) == "block":
        why = f"{'; '.join(secrets[:5])}: a secret is not committed"
        return Verdict(Outcome.REJECTED, why, f"{why}. Read it from the environment instead", goes_on=True)
    stops = failed(hooked.results, w.history.known_red, frozenset())
    checks = [] if stops else _check(w, candidate)
    results = [*hooked.results, *checks]
    failure, digest = _why_red(w, candidate, results)
    if failure:
        return Verdict(Outcome.REJECTED, failure, digest, results, goes_on=True)
    kept = tests_kept(w, story, candidate, checks)
    if kept.rejected:
        return Verdict(Outcome.REJECTED, kept.failure, kept.digest, results, goes_on=True, tests=kept.evidence)
    if results:
        record_baseline(w, candidate.code, results)
    if result.outcome is not Outcome.SUCCEEDED and not claim.is_complete:
        why = f"the run ended badly ({result.detail or result.outcome.value}), although the checks are green"
        return Verdict(result.outcome, why, f"{why}: finish the work and report", results, goes_on=True)
    old = list(old_tests_fail(w, candidate, removes_of(story), listed(checks)))
    kept = with_old(w, kept, [found for found in old if isinstance(found, Finding)])
    if kept.rejected:
        return Verdict(Outcome.REJECTED, kept.failure, kept.digest, results, goes_on=True, tests=kept.evidence)
    shown = (*kept.warnings, *secrets, *(said for said in old if isinstance(said, str)), *hooked.warnings)
    found = [*_warnings(result, claim, candidate, results), *shown]
    warnings = sorted(found, key=lambda said: said not in kept.read_first)
    return Verdict(Outcome.SUCCEEDED, checks=results, warnings=warnings, tests=kept.evidence)


def checks_of(w: Workspace, candidate: Candidate) -> tuple[Sequence[CheckResult], str, str]:
    """(what the checks say of a candidate, why it is red, the digest for the next attempt); "" where it is green."""
    results = _check(w, candidate)
    return results, *_why_red(w, candidate, results)


def _why_red(w: Workspace, candidate: Candidate, results: Sequence[CheckResult]) -> tuple[str, str]:
    red = failed(results, w.history.known_red, without_tests(w, w.code_of(candidate.green)))
    if not red:
        return "", ""
    said = "; ".join(r.failure() for r in red)
    return said, digest_failure([r.name for r in red], _from_root(w, red[0].output), said)


def _from_root(w: Workspace, output: str) -> str:
    """What a check printed, with files named from the repository's root."""
    return output.replace(f"{clean_lane(w).at}/", "")


def _no_work(w: Workspace, result: AgentResult, claim: Claim, candidate: Candidate, why: str) -> Verdict:
    """Nothing that counts changed. "Already satisfied" with green checks is a question to a person."""
    if claim.says_satisfied and result.outcome is Outcome.SUCCEEDED and not candidate.files:
        results = _check(w, candidate)
        if not failed(results, w.history.known_red, frozenset(r.name for r in results)):
            checks = "The checks are green." if results else "There are no checks."
            question = (f"The agent changed nothing and says: {claim.recommendation}\n{checks} "
                        "Answer yes to complete the story as it is, or say what is missing.")  # fmt: skip
            return Verdict(
                Outcome.NEEDS_INPUT,
                f"{why}; {SATISFIED}",
                "",
                results,
                question=question,
            )
    if result.outcome is Outcome.SUCCEEDED:
        return Verdict(Outcome.REJECTED, why, f"{why}: the story asks for a change of the code")
    detail = result.detail or result.outcome.value
    return Verdict(result.outcome, f"{detail}; {why}", detail)


def _check(w: Workspace, candidate: Candidate) -> list[CheckResult]:
    """What the checks say of the candidate, laid out in the lane that no agent has been in."""
    # Behind a check whose failures are known, the others must be run as well.
    run, until_red = f"check-{candidate.tree[:12]}", not w.history.known_red

    if not w.checks:
        return []

    def ask() -> list[CheckResult]:
        lay_out_clean(w, candidate.tree)
        return run_checks(w, run, until_red=until_red)

    return unless_killed(w, ask)


def _warnings(r: AgentResult, claim: Claim, candidate: Candidate, results: Sequence[CheckResult]) -> tuple[str, ...]:
    """What a reader of the evidence should know although the story counts."""
    doubts = (
        (
            not _is_explicit(claim),
            f"the agent gave no report (EXIT_SIGNAL is missing); its text sounds done: {claim.confidence:.1f} of 1",
        ),
        (
            bool(candidate.tampered),
            f"changed in the lane, and not taken: {', '.join(candidate.tampered[:5])}",
        ),
        (
            bool(candidate.stands),
            f"changed during the run, possibly by the agent: {', '.join(candidate.stands[:5])}",
        ),
        (r.outcome is not Outcome.SUCCEEDED, f"the run ended badly after a complete report: {r.detail}"),
        (bool(r.unguarded), f"the guard gave no answer to {r.unguarded} tool calls: they were not checked"),
        (any(c.is_empty for c in results), "no tests ran"),
        (any(not c.is_green and not c.is_empty for c in results), "known failures are still there"),
        (not results, "unverified: no checks are configured or detected"),
    )
    return tuple(text for is_so, text in doubts if is_so)


def _is_explicit(claim: Claim) -> bool:
    """Did the agent say explicitly that it is done?"""
    return claim.exit_signal is True
