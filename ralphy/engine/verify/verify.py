"""Verify: does this candidate tree count? JUDGES says who is asked, and in which order.

The agent's word can hold a candidate back, never pass it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ralphy.agents.protocol import AgentResult, Outcome
from ralphy.agents.status_report import FINISH, Claim
from ralphy.engine.lane_use.checks import CheckResult, failed, run_checks, unless_killed
from ralphy.engine.lane_use.hooks import Hooked, run_hook
from ralphy.engine.lane_use.lane_layout import lay_out_clean
from ralphy.engine.lane_use.open_lanes import clean_lane
from ralphy.engine.lane_use.take_over import Candidate, file_changes
from ralphy.engine.verify.acceptance import (
    MOST_REFUSALS,
    Found,
    ask_acceptance,
    is_as_approved,
    question_about,
    with_other_side,
)
from ralphy.engine.verify.baseline_records import (
    is_known_green,
    known_tests,
    listed,
    names_tests,
    record_baseline,
    without_tests,
)
from ralphy.engine.verify.flakes import Again, Before, ask_again
from ralphy.engine.verify.identity import Kept, tests_kept, with_more
from ralphy.engine.verify.idle_tests import idle_tests
from ralphy.engine.verify.old_tests import old_tests_fail
from ralphy.engine.verify.own_tests import code_in_documents, evidence_of, own_tests, unproved
from ralphy.engine.verify.still_red import can_hear_tests, deaf_checks
from ralphy.engine.verify.suspicious_code import suspicious_code
from ralphy.engine.workspace.scan import scan_policy, secrets_in
from ralphy.engine.workspace.subject import subject
from ralphy.engine.workspace.workspace import Workspace
from ralphy.pipeline.model import Story
from ralphy.pipeline.steps import names
from ralphy.prompts.budget import digest_failure
from ralphy.testguard.findings import Finding, Kind, listed_names
from ralphy.testguard.substance import why_no_work
from ralphy.testguard.written.red_first import RedFirst

MOST_UNPROVED = 2  # refusals of a story for want of a proof
SATISFIED = "the agent says it is already satisfied"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`failure` says why an attempt does not count ("" if it does); `question` is what a person must answer.

    `goes_on` says that the tree is worth keeping for the next attempt (heal in place), `lacks_report` that nothing
    else is wrong with it, `is_unproved` that no test could tell the difference. `tests` is what the evidence says of
    them, `acceptance` what the acceptance tests said.
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
    acceptance: Found = field(default_factory=Found)
    lacks_report: bool = False
    is_unproved: bool = False

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.SUCCEEDED and not self.failure


@dataclass(slots=True)
class Case:
    """What is judged, and what the judges have found so far. `old` is what is only flagged of tests, `own` what the
    story's own ones prove, `late` how many runs had come to no end before, `went_back` how often no test proved it."""

    w: Workspace
    story: Story
    result: AgentResult
    claim: Claim
    hooked: Hooked
    checks: Sequence[CheckResult] = ()
    kept: Kept = field(default_factory=Kept)
    secrets: Sequence[str] = ()
    old: Sequence[str] = ()
    flaky: Again | None = None
    own: RedFirst | None = None
    late: int = 0
    went_back: int = 0
    acceptance: Found = field(default_factory=Found)

    @property
    def candidate(self) -> Candidate:
        """As the hook left it, once that was run."""
        return self.hooked.candidate

    @property
    def results(self) -> list[CheckResult]:
        return [*self.hooked.results, *self.checks]

    def no(
        self, why: str, digest: str = "", *, outcome: Outcome = Outcome.REJECTED, goes_on: bool = False, asks: str = ""
    ) -> Verdict:
        """The verdict that ends the case."""
        return Verdict(outcome, why, digest or why, self.results, (), asks, goes_on, self.candidate, self.kept.evidence,
                       self.acceptance)  # fmt: skip


# It speaks against the case with a verdict, or notes what is flagged and lets it pass.
Judge = Callable[[Case], Verdict | None]


def judge(
    w: Workspace, story: Story, result: AgentResult, claim: Claim, candidate: Candidate,
    judges: Sequence[Judge] | None = None, went_back: int | None = None,
) -> Verdict:  # fmt: skip
    """Ask the judges in turn (JUDGES by default); what none of them speaks against counts."""
    went_back = w.history.of(names.STORY, story.id).unproved if went_back is None else went_back
    case = Case(w, story, result, claim, Hooked(candidate), late=len(subject().late), went_back=went_back)
    for each in judges or JUDGES:
        if verdict := each(case):
            return verdict
    found = [*_warnings(case), *case.kept.warnings, *case.secrets, *case.old, *case.hooked.warnings, *_flags(case)]
    warnings = sorted(found, key=lambda said: said not in case.kept.read_first)
    return replace(case.no("", outcome=Outcome.SUCCEEDED), warnings=warnings)


def judge_session(w: Workspace, story: Story, candidate: Candidate, attempts: int) -> Verdict:
    """The same of what a person's session committed, which hands in no report; `attempts` went back before."""
    result, claim = AgentResult(Outcome.SUCCEEDED), Claim(exit_signal=True)
    return judge(w, story, result, claim, candidate, OF_A_SESSION, attempts)


def judge_tree(w: Workspace, story: Story, candidate: Candidate) -> Verdict:
    """The same of a tree alone, by any author: nobody reports, and no hook is run."""
    result, claim = AgentResult(Outcome.SUCCEEDED), Claim(exit_signal=True)
    case = Case(w, story, result, claim, Hooked(candidate), late=len(subject().late))
    for each in OF_THE_TREE:
        if verdict := each(case):
            return verdict
    return replace(case.no("", outcome=Outcome.SUCCEEDED), warnings=[*case.kept.warnings, *case.old, *_flags(case)])


def _flags(c: Case) -> list[str]:
    return [*(c.flaky.flags if c.flaky else ()), *c.acceptance.flags, *dict.fromkeys(subject().late[c.late :])]


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
        results = _check(c.w, c.candidate)
        if not failed(results, c.w.history.known_red, frozenset(r.name for r in results)):
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
    why = why_no_work(file_changes(c.w, c.candidate.green, c.candidate.tree))
    return "" if c.story.kind == "docs" and c.candidate.files else why


def is_not_held_back(c: Case) -> Verdict | None:
    return c.no(c.claim.holds_back, goes_on=True) if c.claim.holds_back else None


def hook_agrees(c: Case) -> Verdict | None:
    """What the hook changed is the candidate from here on."""
    before = c.candidate
    c.hooked = run_hook(c.w, before)
    if c.candidate.refused or c.candidate.tree == before.tree:
        return may_be_committed(c)
    why = _why_nothing(c)
    said = f"{why} once the pre-commit hook was done"
    return c.no(said, f"{said}: the story asks for more") if why else None


def brings_no_secret(c: Case) -> Verdict | None:
    c.secrets = secrets_in(c.w, c.candidate.green, c.candidate.tree)
    if not c.secrets or scan_policy(c.w) != "block":
        return None
    why = f"{'; '.join(c.secrets[:5])}: a secret is not committed"
    return c.no(why, f"{why}. Read it from the environment instead", goes_on=True)


def checks_are_green(c: Case) -> Verdict | None:
    """The hook's own word and, unless it is against the candidate, that of the checks."""
    if not failed(c.results, c.w.history.known_red, frozenset()):
        c.checks = _check(c.w, c.candidate)
    _excuse(c)
    failure, digest = _why_red(c.w, c.candidate, c.results)
    return c.no(failure, digest, goes_on=True) if failure else None


def _excuse(c: Case) -> None:
    """What failed is asked again; flaky tests do not count."""
    if failed(c.hooked.results, c.w.history.known_red, frozenset()):
        return
    code, green = c.w.code_of(c.candidate.green), c.candidate.green
    before = Before(green, known_tests(c.w, code) or {}, is_known_green(c.w, code))
    if again := ask_again(c.w, c.candidate.tree, c.checks, before):
        c.checks, c.flaky = again.results, again


def tests_are_kept(c: Case) -> Verdict | None:
    c.kept = tests_kept(c.w, c.story, c.candidate, c.checks)
    if c.flaky:
        c.kept = with_more(c.w, c.kept, (), flaky=c.flaky.evidence)
    if c.kept.rejected:
        return c.no(c.kept.failure, c.kept.digest, goes_on=True)
    if c.results:
        record_baseline(c.w, c.candidate.code, c.results)
    return None


def run_ended_well(c: Case) -> Verdict | None:
    """Or a complete report came before; without an exit signal, the text sounds done."""
    is_bad, why = c.result.outcome is not Outcome.SUCCEEDED, c.claim.leaves_open
    if is_bad and not c.claim.is_complete:
        why = f"the run ended badly ({c.result.detail or c.result.outcome.value}), although the checks are green"
    no = c.no(why, f"{why}: {FINISH}", goes_on=True, outcome=c.result.outcome if is_bad else Outcome.REJECTED)
    return replace(no, lacks_report=True) if why else None


def checks_can_say_no(c: Case) -> Verdict | None:
    """Where something around the tests was changed: the checks turn red on tests that are made to fail."""
    found = list(deaf_checks(c.w, c.candidate, c.checks)) if c.kept.around.asks else []
    c.kept = with_more(c.w, c.kept, found)
    return c.no(c.kept.failure, c.kept.digest, goes_on=True) if c.kept.rejected else None


def acceptance_tests_pass(c: Case) -> Verdict | None:
    """Those of the story and of the ones before it. Where the same tests refuse again and again, a person is asked."""
    c.acceptance = ask_acceptance(c.w, c.story, c.candidate, c.checks)
    refused = c.acceptance.refused
    if not refused:
        return None
    why = f"the acceptance tests of {', '.join(refused)} do not pass"
    told = "\n".join([f"{why}:", *(f"- {line}" for line in c.acceptance.lines),
                      "If one asks for what the story does not say, STATUS is BLOCKED: name the criterion and the "
                      "reason in RECOMMENDATION, and a person decides."])  # fmt: skip
    past = c.w.history.of(names.STORY, c.story.id)
    if (*refused,) == past.acceptance and past.refusals + 1 >= MOST_REFUSALS:
        reason = f"{why}, in {MOST_REFUSALS} attempts in a row, and nothing else is wrong: {c.claim.recommendation}"
        reason += "".join(f"\n{line}" for line in c.acceptance.lines)
        asks = question_about(c.w, c.story, refused, reason)
        return c.no(why, told, outcome=Outcome.NEEDS_INPUT, goes_on=True, asks=asks)
    return c.no(why, told, goes_on=True)


def acceptance_is_approved(c: Case) -> Verdict | None:
    """An edit of a person's counts once it is approved."""
    if is_as_approved(c.w, c.candidate):
        return None
    return c.no("ACCEPTANCE.md was edited meanwhile: it is approved first", goes_on=True)


def old_tests_pass(c: Case) -> Verdict | None:
    old = list(old_tests_fail(c.w, c.candidate, c.story.changes, listed(c.checks), c.kept.around.old))
    c.kept = with_more(c.w, c.kept, [found for found in old if isinstance(found, Finding)])
    c.old = [*c.old, *(said for said in old if isinstance(said, str))]
    return c.no(c.kept.failure, c.kept.digest, goes_on=True) if c.kept.rejected else None


def tests_could_tell(c: Case) -> Verdict | None:
    """Some test of the story fails without its code, and asks for more than a name.

    Without one it goes back a few times; then it lands, flagged. So does one whose tests no check runs.
    """
    c.own = own_tests(c.w, c.story, c.candidate, c.checks)
    found = code_in_documents(c.w, c.story, c.candidate)
    found += unproved(c.w, c.story, c.own) if c.own else []
    brings = c.own is not None and bool(c.own.weak or c.own.blind)
    is_heard = not found or names_tests(c.checks) or (brings and can_hear_tests(c.w, c.candidate, c.checks))
    only_flags = c.went_back >= MOST_UNPROVED or not is_heard
    evidence = {"red_first": evidence_of(c.own)} if c.own else {}
    c.kept = with_more(c.w, c.kept, found, only_flags=only_flags, **evidence)
    no = c.no(c.kept.failure, c.kept.digest, goes_on=True)
    return replace(no, is_unproved=True) if c.kept.rejected else None


def code_is_for_people(c: Case) -> Verdict | None:
    """Nothing in the story's code is made for its tests alone. What may be honest is only said."""
    if c.w.config.verify.suspicious_code == "off":
        return None
    found = suspicious_code(c.w, c.story, c.candidate, c.results)
    c.kept = with_more(c.w, c.kept, [Finding(Kind.SUSPICIOUS, one.said) for one in found if one.is_certain])
    doubtful = [one.said for one in found if not one.is_certain]
    c.old = [*c.old, *([f"code that may be made for its tests: {listed_names(doubtful)}"] if doubtful else ())]
    return c.no(c.kept.failure, c.kept.digest, goes_on=True) if c.kept.rejected else None


def tests_ask_something(c: Case) -> Verdict | None:
    """Edited tests still notice when no function does anything; what new ones do not is said."""
    is_proved = c.own is not None and (c.own.is_proof or c.story.kind == "refactor")
    blind, weak = (c.own.blind, c.own.weak) if c.own and is_proved else ((), ())
    found, idle, empty = idle_tests(c.w, c.story, c.candidate, c.checks, blind, weak)
    c.kept = with_more(c.w, c.kept, found)
    why = {c.own.what if c.own else "": empty, "no function does anything": idle}
    c.old = [*c.old, *(f"tests that prove nothing, as they pass although {so}: {listed_names(tests)}"
                       for so, tests in why.items() if tests)]  # fmt: skip
    return c.no(c.kept.failure, c.kept.digest, goes_on=True) if c.kept.rejected else None


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
    old_tests_pass,  # verify.unskipped_tests
    tests_could_tell,  # verify.unproved
    tests_ask_something,  # verify.emptied_tests
)

_OF_A_NIGHT: tuple[Judge, ...] = (does_something, hook_agrees, brings_no_secret, acceptance_is_approved)
_OF_A_REPORT: tuple[Judge, ...] = (run_counts, asks_nothing, is_not_held_back, run_ended_well)
OF_A_SESSION: tuple[Judge, ...] = tuple(each for each in JUDGES if each not in _OF_A_REPORT)
OF_THE_TREE: tuple[Judge, ...] = tuple(each for each in OF_A_SESSION if each not in _OF_A_NIGHT)


def _why_red(w: Workspace, candidate: Candidate, results: Sequence[CheckResult]) -> tuple[str, str]:
    red = failed(results, w.history.known_red, without_tests(w, w.code_of(candidate.green)))
    if not red:
        return "", ""
    said = "; ".join(r.failure() for r in red)
    return said, digest_failure([r.name for r in red], _from_root(w, red[0].output), said)


def _from_root(w: Workspace, output: str) -> str:
    """What a check printed, with files named from the repository's root."""
    return output.replace(f"{clean_lane(w).at}/", "")


def _check(w: Workspace, candidate: Candidate) -> list[CheckResult]:
    """What the checks say of the candidate, laid out in the lane that no agent has been in."""
    # Behind a check whose failures are known, the others must be run as well.
    run, until_red = f"check-{candidate.tree[:12]}", not w.history.known_red

    if not w.checks:
        return []

    def ask() -> list[CheckResult]:
        lay_out_clean(w, candidate.tree)
        return run_checks(w, "candidate", run=run, until_red=until_red)

    return unless_killed(w, ask)


def _warnings(c: Case) -> tuple[str, ...]:
    """What a reader of the evidence should know although the story counts."""
    r, candidate, results = c.result, c.candidate, c.results
    unclear = f"the agent gave no report (EXIT_SIGNAL is missing); its text sounds done: {c.claim.confidence:.1f} of 1"
    doubts = (
        (c.claim.exit_signal is not True, unclear),
        (
            bool(candidate.tampered),
            f"changed in the lane, and not taken: {', '.join(candidate.tampered[:5])}",
        ),
        (
            bool(candidate.stands),
            f"changed during the run, possibly by the agent: {', '.join(candidate.stands[:5])}",
        ),
        (r.outcome is not Outcome.SUCCEEDED, f"the run ended badly after a complete report: {r.detail}"),
        (any(c.is_empty for c in results), "no tests ran"),
        (any(c.blamed and not c.is_empty for c in results), "known failures are still there"),
        (not results, "unverified: no checks are configured or detected"),
    )
    return tuple(text for is_so, text in doubts if is_so)
