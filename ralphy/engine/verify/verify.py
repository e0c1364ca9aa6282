"""Verify: does this candidate tree count? JUDGES says who is asked, and in which order.

The agent's word can hold a candidate back, never pass it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ralphy.agents.protocol import AgentResult, Outcome
from ralphy.agents.status_report import FINISH, Claim
from ralphy.engine.lane_use.checks import CheckResult, failed, run_checks, unless_killed
from ralphy.engine.lane_use.hooks import Hooked, run_hook
from ralphy.engine.lane_use.lane_layout import lay_out_clean
from ralphy.engine.lane_use.open_lanes import clean_lane
from ralphy.engine.lane_use.take_over import Candidate
from ralphy.engine.verify.acceptance import acceptance_is_approved, acceptance_tests_pass, with_other_side
from ralphy.engine.verify.baseline_records import without_tests
from ralphy.engine.verify.case import Case, Verdict
from ralphy.engine.verify.compare_tests import tests_are_kept
from ralphy.engine.verify.failures_reported import checks_can_say_no
from ralphy.engine.verify.flakes import ask_again
from ralphy.engine.verify.idle_tests import tests_ask_something
from ralphy.engine.verify.old_tests import old_tests_pass
from ralphy.engine.verify.own_tests import tests_could_tell
from ralphy.engine.verify.suspicious_code import code_is_for_people
from ralphy.engine.workspace.scan import scan_policy, secrets_in
from ralphy.engine.workspace.subject import subject
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.model import Story
from ralphy.pipeline.steps import names
from ralphy.prompts.budget import digest_failure
from ralphy.testguard.findings import Kind, sentences
from ralphy.testguard.substance import why_no_work
from ralphy.text.first_few import first_few

SATISFIED = "the agent says it is already satisfied"

# It rejects the case with a verdict, or notes what is flagged and lets it pass.
Judge = Callable[[Case], Verdict | None]


def judge(
    w: Workspace, story: Story, result: AgentResult, claim: Claim, candidate: Candidate,
    judges: Sequence[Judge] | None = None, went_back: int | None = None,
) -> Verdict:  # fmt: skip
    """Ask the judges in turn (JUDGES by default); a candidate that none of them rejects counts."""
    went_back = w.history.of(names.STORY, story.id).unproved if went_back is None else went_back
    case = Case(w, story, result, claim, Hooked(candidate), w.history.known_red, went_back)
    return _first_objection(case, judges or JUDGES) or _counts(case, _doubts(case))


def judge_session(w: Workspace, story: Story, candidate: Candidate, attempts: int) -> Verdict:
    """Judge what a person's session committed, which hands in no report; `attempts` went back before."""
    result, claim = AgentResult(Outcome.SUCCEEDED), Claim(exit_signal=True)
    return judge(w, story, result, claim, candidate, OF_A_SESSION, attempts)


def judge_tree(w: Workspace, story: Story, candidate: Candidate, known_red: frozenset[str] = frozenset()) -> Verdict:
    """Judge a tree alone, by any author: there is no report, and no hook is run. `known_red` failed before."""
    result, claim = AgentResult(Outcome.SUCCEEDED), Claim(exit_signal=True)
    case = Case(w, story, result, claim, Hooked(candidate), known_red)
    return _first_objection(case, OF_THE_TREE) or _counts(case)


def _first_objection(c: Case, judges: Sequence[Judge]) -> Verdict | None:
    """The verdict of the first judge that rejects the case."""
    return next((verdict for judge in judges if (verdict := judge(c))), None)


def _counts(c: Case, doubts: Sequence[str] = ()) -> Verdict:
    """The verdict of a case that no judge rejects, with what is flagged; files that steer agents come first."""
    first = [finding for finding in c.flagged if finding.kind is Kind.STEERING]
    others = [finding for finding in c.flagged if finding not in first]
    late = dict.fromkeys(subject().late[c.late :])
    warnings = [*sentences(first), *doubts, *sentences(others), *c.notes, *c.hooked.warnings, *c.acceptance.flags,
                *late]  # fmt: skip
    return replace(c.no("", outcome=Outcome.SUCCEEDED), warnings=warnings)


def run_counts(c: Case) -> Verdict | None:
    if c.result.outcome.costs_an_attempt:
        return None
    return c.no(c.result.detail, goes_on=c.result.over_budget, outcome=c.result.outcome)


def may_be_committed(c: Case) -> Verdict | None:
    return c.no(c.candidate.refused) if c.candidate.refused else None


def asks_nothing(c: Case) -> Verdict | None:
    asks = c.claim.asks
    if not asks:
        return None
    return c.no(f"the agent asks: {asks}", outcome=Outcome.NEEDS_INPUT, asks=with_other_side(c.w, c.story, asks))


def does_something(c: Case) -> Verdict | None:
    """Nothing that counts has changed: "already satisfied" with green checks is a question to a person."""
    why = _why_nothing(c)
    if not why:
        return None
    succeeded = c.result.outcome is Outcome.SUCCEEDED
    if succeeded and c.claim.says_satisfied and not c.candidate.files:
        results = _check(c)
        if not failed(results, c.known_red, frozenset(r.name for r in results)):
            checks = "The checks are green." if results else "There are no checks."
            question = (f"The agent changed nothing and says: {c.claim.recommendation}\n{checks} "
                        "Answer yes to complete the story as it is, or say what is missing.")  # fmt: skip
            c.checks = results
            return c.no(f"{why}; {SATISFIED}", outcome=Outcome.NEEDS_INPUT, asks=question)
    if succeeded:
        return c.no(why, f"{why}: the story asks for a change of the code")
    detail = c.result.detail or c.result.outcome.value
    return c.no(f"{detail}; {why}", detail, outcome=c.result.outcome)


def _why_nothing(c: Case) -> str:
    """Why the candidate's changes do not count, "" if they do; where documents are asked for, they do."""
    why = why_no_work(c.changes)
    return "" if c.story.kind == "docs" and c.candidate.files else why


def is_not_held_back(c: Case) -> Verdict | None:
    return c.no(c.claim.holds_back, goes_on=True) if c.claim.holds_back else None


def hook_agrees(c: Case) -> Verdict | None:
    """The tree that the hook leaves is the candidate from here on."""
    before = c.candidate
    c.take(run_hook(c.w, before))
    if c.candidate.refused or c.candidate.tree == before.tree:
        return may_be_committed(c)
    why = _why_nothing(c)
    reason = f"{why} once the pre-commit hook was done"
    return c.no(reason, f"{reason}: the story asks for more") if why else None


def brings_no_secret(c: Case) -> Verdict | None:
    secrets = secrets_in(c.w, c.green, c.tree)
    if not secrets or scan_policy(c.w) != "block":
        c.notes += secrets
        return None
    why = f"{'; '.join(secrets[:5])}: a secret is not committed"
    return c.no(why, f"{why}. Read it from the environment instead", goes_on=True)


def checks_are_green(c: Case) -> Verdict | None:
    """The hook passed and, if it did, so do the checks."""
    if not failed(c.results, c.known_red, frozenset()):
        c.checks = _check(c)
    _excuse(c)
    red = failed(c.results, c.known_red, without_tests(c.w, c.w.code_of(c.green)))
    if not red:
        return None
    failures = "; ".join(result.failure() for result in red)
    output = red[0].output.replace(f"{clean_lane(c.w).at}/", "")  # files are named from the repository's root
    return c.no(failures, digest_failure([result.name for result in red], output, failures), goes_on=True)


def _excuse(c: Case) -> None:
    """Run again what failed; flaky tests do not count."""
    if failed(c.hooked.results, c.known_red, frozenset()):
        return
    if again := ask_again(c.w, c.tree, c.checks, c.known_red, c.green):
        c.checks = again.results
        c.evidence["flaky"] = again.evidence
        c.notes += again.flags


def run_ended_well(c: Case) -> Verdict | None:
    """Or a complete report came before; without an exit signal, the text sounds done."""
    is_bad, why = c.result.outcome is not Outcome.SUCCEEDED, c.claim.leaves_open
    if is_bad and not c.claim.is_complete:
        why = f"the run ended badly ({c.result.detail or c.result.outcome.value}), although the checks are green"
    no = c.no(why, f"{why}: {FINISH}", goes_on=True, outcome=c.result.outcome if is_bad else Outcome.REJECTED)
    return replace(no, lacks_report=True) if why else None


# In this order. Each rejects, but where a setting is named: that decides between rejecting and flagging.
JUDGES: tuple[Judge, ...] = (
    run_counts,
    may_be_committed,
    asks_nothing,
    does_something,
    is_not_held_back,
    hook_agrees,
    brings_no_secret,  # safety.secret_scan
    checks_are_green,
    tests_are_kept,  # verify.*
    run_ended_well,
    code_is_for_people,  # verify.suspicious_code
    checks_can_say_no,  # verify.runner_config
    acceptance_is_approved,
    acceptance_tests_pass,  # acceptance.tests
    old_tests_pass,  # verify.removed_tests, verify.changed_tests
    tests_could_tell,  # verify.unproved
    tests_ask_something,  # verify.emptied_tests
)

_OF_A_NIGHT: tuple[Judge, ...] = (does_something, hook_agrees, brings_no_secret, acceptance_is_approved)
_OF_A_REPORT: tuple[Judge, ...] = (run_counts, asks_nothing, is_not_held_back, run_ended_well)
OF_A_SESSION: tuple[Judge, ...] = tuple(each for each in JUDGES if each not in _OF_A_REPORT)
OF_THE_TREE: tuple[Judge, ...] = tuple(each for each in OF_A_SESSION if each not in _OF_A_NIGHT)


def _check(c: Case) -> list[CheckResult]:
    """The checks' results on the candidate, laid out in the lane that no agent has been in."""
    if not c.w.checks:
        return []

    def ask() -> list[CheckResult]:
        lay_out_clean(c.w, c.tree)
        # Behind a check whose failures are known, the others must be run as well.
        return run_checks(c.w, "candidate", run=f"check-{c.tree[:12]}", until_red=not c.known_red)

    return unless_killed(c.w, ask)


def _doubts(c: Case) -> tuple[str, ...]:
    """What a reader of the evidence should know although the story counts."""
    r, candidate, results = c.result, c.candidate, c.results
    unclear = f"the agent gave no report (EXIT_SIGNAL is missing); its text sounds done: {c.claim.confidence:.1f} of 1"
    doubts = (
        (c.claim.exit_signal is not True, unclear),
        (bool(candidate.tampered), f"changed in the lane, and not taken: {first_few(candidate.tampered, 5)}"),
        (bool(candidate.stands), f"changed during the run, possibly by the agent: {first_few(candidate.stands, 5)}"),
        (r.outcome is not Outcome.SUCCEEDED, f"the run ended badly after a complete report: {r.detail}"),
        (any(c.is_empty for c in results), "no tests ran"),
        (any(c.blamed and not c.is_empty for c in results), "known failures are still there"),
        (not results, "unverified: no checks are configured or detected"),
    )
    return tuple(text for is_so, text in doubts if is_so)
