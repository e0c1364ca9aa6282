"""Every situation of a feature, and what comes next: the rules of `decide` in their order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ralphy.config.values import Config, Gates, Limits, Models, Timeouts
from ralphy.errors import ExitCode
from ralphy.pipeline import decision as d
from ralphy.pipeline.decide import decide
from ralphy.pipeline.life import Life
from ralphy.pipeline.model import Baseline, Lost, Marker, Snapshot
from tests.core.building import (
    FEATURE,
    NOW,
    a_run,
    an_end,
    an_open_gate,
    answer,
    approval,
    artifacts,
    attempts,
    digest_of,
    done,
    marker,
    on_main,
    prd,
    qa_report,
    reviewed,
    snapshot,
    spec_record,
    story,
    tree,
)

CONFIG = Config()
AUTO = Config(gates=Gates(spec="auto", qa="auto"))
RED = Baseline(is_green=False, red=("test_a", "test_b"))
LIMIT = an_end("limited", retry_at=NOW + 60, detail="the five-hour limit is reached")
KNOWN_RED = {"ev": "accept_red", "feature": FEATURE, "tests": ["test_a", "test_b"]}


def unspecified(*names: str, **fields: Any) -> Snapshot:
    """A feature on main with these artifacts, and nothing recorded."""
    return snapshot(**{"artifacts": artifacts(*names), "tree": on_main(), "prd": prd(workflow={}), **fields})


def at_spec_gate(**fields: Any) -> Snapshot:
    """SPEC.md was made, its gate is open, nobody has said anything."""
    known: dict[str, Any] = {
        "workflow": {"approvals": [], "steps": {"spec": spec_record()}},
        "tree": on_main(),
        "lines": [an_open_gate()],
    }
    return snapshot(**{**known, **fields})


def at_qa_gate(**fields: Any) -> Snapshot:
    return reviewed(**{"lines": [an_open_gate("qa", "QA_REPORT.md")], **fields})


def red(snapshot: Snapshot, **session: Any) -> Snapshot:
    return replace(snapshot, baseline=RED, session=replace(snapshot.session, **session))


def approved(**pr: Any) -> Snapshot:
    """Both gates are passed; `pr` is what is recorded of the pull request."""
    return reviewed(approvals=[approval("qa")], pr=pr or None)


# name -> (what is there, what is decided, words of the reason, fields of the decision)
Situation = tuple[Snapshot, type[d.Decision], str, dict[str, Any]]

RULES: dict[str, Situation] = {
    # recovery comes before everything
    "a dead run is cleared first": (
        snapshot(unfinished="the last run ended without a word", markers={"STOP": marker()}),
        d.Recover, "without a word", {},
    ),
    "on a disk that is still full, clearing up is not tried again": (
        snapshot(unfinished="the last run ended without a word", session={"short_since": NOW - 60}, free_mb=0.0),
        d.Wait, "the disk is full", {"exit_code": ExitCode.ENVIRONMENT, "until": NOW + 5},
    ),
    "stories that are gone from prd.json": (
        snapshot(lost=Lost("docs/features/login/prd.json", "abc1234", ("US-009",))), d.Wait,
        "docs/features/login/prd.json has lost US-009, which abc1234 has", {},
    ),
    "a disk that was full for eight hours ends the wait": (
        snapshot(session={"short_since": NOW - 8 * 3600}, free_mb=0.0),
        d.Halt, "for hours: free some space", {"exit_code": ExitCode.ENVIRONMENT},
    ),
    # STOP
    "stop asks to end": (snapshot(markers={"STOP": marker()}), d.Stop, "STOP", {}),
    "a consumed stop ends the session": (
        snapshot(session={"stop_asked": True}), d.Halt, "STOP", {"exit_code": ExitCode.INTERRUPTED},
    ),
    "a stop that is a link is set aside": (
        snapshot(markers={"STOP": marker(invalid="is a symbolic link")}), d.SetAside, "symbolic link",
        {"marker": "STOP"},
    ),
    "a misspelt marker is set aside before it is adopted": (
        snapshot(
            markers={"APROVED": Marker(0, meant="APPROVED")}, tree=tree(edited=("APROVED",)), typed_folder="login"
        ),
        d.SetAside, "looks like a misspelt APPROVED (`touch login/APPROVED`)", {"marker": "APROVED"},
    ),
    # what there is to work on
    "nothing at all": (unspecified(), d.Halt, "write PRD.md first", {"exit_code": ExitCode.NOT_FOUND}),
    "a merged feature is closed, whatever is in its folder": (
        unspecified("PRD.md", tree=on_main(), life=Life.MERGED), d.Done, "login is merged into main and closed", {},
    ),
    "what a person edits in a merged feature on its branch is adopted first": (
        snapshot(tree=tree(edited=("docs/features/login/PRD.md",)), life=Life.MERGED), d.Adopt, "PRD.md", {},
    ),
    # a merge, and edits by hand
    "a merge on the branch stops everything": (
        snapshot(tree=tree(busy="a merge", edited=("docs/features/login/PRD.md",))), d.Halt, "a merge is in progress",
        {"exit_code": ExitCode.CONFLICT},
    ),
    "edits on the branch are adopted": (
        snapshot(tree=tree(edited=("docs/features/login/SPEC.md",))), d.Adopt, "SPEC.md", {},
    ),
    "a gate waits in the middle of a merge": (
        at_qa_gate(tree=tree(busy="a merge")), d.Wait, "is ready for review", {"gate": "qa"},
    ),
    "edits before the branch are left to it": (
        at_spec_gate(tree=on_main(edited=("docs/features/login/SPEC.md",))), d.Wait, "read", {"gate": "spec"},
    ),
    # waiting for the provider
    "a limit is waited for": (
        snapshot(lines=[a_run(), LIMIT]), d.Wait, "five-hour", {"exit_code": ExitCode.LIMITED, "until": NOW + 60},
    ),
    "a limit that is over is forgotten": (
        snapshot(lines=[a_run(), LIMIT], now=NOW + 60), d.RunAgent, "attempt 1 of 5", {"story": "US-001"},
    ),
    "no agent can run at all": (
        snapshot(session={"fatal": "claude is not logged in"}), d.Halt, "not logged in",
        {"exit_code": ExitCode.ENVIRONMENT},
    ),
    "trouble without end": (
        snapshot(session={"troubles": 80}), d.Halt, "80 times", {"exit_code": ExitCode.ENVIRONMENT},
    ),
    # the spec step
    "a PRD alone": (unspecified("PRD.md"), d.RunAgent, "SPEC.md is missing", {"step": "spec", "model": "sonnet"}),
    "a PRD with stories and no spec": (
        unspecified("PRD.md", prd=prd(story())), d.RunAgent, "SPEC.md is missing", {"step": "spec"},
    ),
    "a hand-written spec without stories": (
        unspecified("SPEC.md"), d.RunAgent, "no stories yet", {"step": "spec"},
    ),
    "a spec that was sent back": (
        at_spec_gate(workflow={"approvals": [approval(verdict="revise")], "steps": {"spec": spec_record()}}),
        d.RunAgent, "remarks", {"step": "spec"},
    ),
    "a revision that was answered is ready for review": (
        at_spec_gate(
            workflow={"approvals": [approval(verdict="revise", digest=digest_of("SPEC.md", 2), answered=True)],
                      "steps": {"spec": spec_record()}}
        ),
        d.Wait, "is ready for review", {"gate": "spec"},
    ),
    "an earlier approval of the same bytes does not outlive a revision": (
        at_spec_gate(
            workflow={
                "approvals": [approval(), approval(verdict="revise", answered=True)],
                "steps": {"spec": spec_record()},
            }
        ),
        d.Wait, "review it again", {"gate": "spec"},
    ),
    "an approval does not outlive the rejection of other bytes": (
        at_spec_gate(
            workflow={
                "approvals": [approval(), approval(verdict="revise", digest=digest_of("SPEC.md", 2), answered=True)],
                "steps": {"spec": spec_record()},
            }
        ), d.Wait, "the same as before its rejection", {"gate": "spec"},
    ),
    "an approval after a rejection counts": (
        snapshot(workflow={"approvals": [approval(verdict="revise", answered=True), approval()],
                           "steps": {"spec": spec_record()}}), d.RunAgent, "US-001", {},
    ),
    "a rejection that a redo has answered ends nothing any more": (
        at_spec_gate(workflow={"approvals": [approval(verdict="rejected", answered=True)],
                               "steps": {"spec": spec_record()}}), d.Wait, "", {"gate": "spec"},
    ),
    "a PRD that was edited before the approval": (
        at_spec_gate(artifacts=artifacts("SPEC.md", PRD=2)), d.RunAgent, "PRD.md changed before", {"step": "spec"},
    ),
    "a PRD that was edited when a person had changed the spec": (
        at_spec_gate(artifacts=artifacts(PRD=2, SPEC=2)), d.Wait, "`ralphy redo spec login`", {"gate": "spec"},
    ),
    "a PRD that was edited after the approval": (
        snapshot(artifacts=artifacts("SPEC.md", PRD=2)), d.Wait, "`ralphy redo spec login`", {"gate": "spec"},
    ),
    "approving keeps the spec of an edited PRD": (
        snapshot(artifacts=artifacts("SPEC.md", PRD=2), markers={"APPROVED": marker()}), d.Approve, "APPROVED", {},
    ),
    "rejecting with remarks makes the spec of an edited PRD anew": (
        snapshot(artifacts=artifacts("SPEC.md", PRD=2), markers={"REJECTED": marker("see the PRD")}), d.Reject,
        "with remarks", {"text": "see the PRD"},
    ),
    "a link named APPROVED is set aside whatever the PRD says": (
        snapshot(
            artifacts=artifacts("SPEC.md", PRD=2), markers={"APPROVED": marker(invalid="is a symbolic link")}
        ),
        d.SetAside, "symbolic link", {"marker": "APPROVED"},
    ),
    "a hand-written spec has no input to be newer": (
        snapshot(artifacts=artifacts("SPEC.md", PRD=2), workflow={"approvals": [approval()]}), d.RunAgent, "US-001", {},
    ),
    "the spec was all that was asked for": (
        at_spec_gate(session={"last_step": "spec"}), d.Done, "SPEC.md", {"exit_code": ExitCode.DONE},
    ),
    # the spec gate
    "a new spec opens its gate": (at_spec_gate(lines=[]), d.OpenGate, "SPEC.md is ready", {"gate": "spec"}),
    "a gate belongs to one version of the spec": (
        at_spec_gate(artifacts=artifacts("PRD.md", SPEC=2)), d.OpenGate, "ready", {"gate": "spec"},
    ),
    "the checks run while a person reads": (at_spec_gate(baseline=None), d.TakeBaseline, "while a person reads", {}),
    "the checks do not run in the middle of a merge": (
        at_qa_gate(baseline=None, tree=tree(busy="a merge")), d.Wait, "read", {"exit_code": ExitCode.WAITING},
    ),
    "red checks are said at the gate": (at_spec_gate(baseline=RED), d.Wait, "red: test_a, test_b", {"gate": "spec"}),
    "the gate waits": (at_spec_gate(), d.Wait, "touch APPROVED", {"gate": "spec", "exit_code": ExitCode.WAITING}),
    "the gate is approved": (
        at_spec_gate(markers={"APPROVED": marker()}), d.Approve, "SPEC.md", {"gate": "spec", "by": "APPROVED"},
    ),
    "a marker from the moment of opening counts": (
        at_spec_gate(markers={"APPROVED": marker(ctime_ns=100)}), d.Approve, "", {},
    ),
    "a marker from before the gate is set aside": (
        at_spec_gate(markers={"APPROVED": marker(ctime_ns=99)}), d.SetAside, "older than the SPEC.md",
        {"marker": "APPROVED"},
    ),
    "without a record the artifact's own time counts": (
        at_spec_gate(lines=[], markers={"APPROVED": marker(ctime_ns=99)}), d.SetAside, "older", {},
    ),
    "REJECTED beats APPROVED": (
        at_spec_gate(markers={"APPROVED": marker(), "REJECTED": marker("no login page")}), d.Reject, "with remarks",
        {"gate": "spec", "text": "no login page"},
    ),
    "an empty REJECTED has no text": (
        at_spec_gate(markers={"REJECTED": marker(" \n")}), d.Reject, "without remarks", {"text": ""},
    ),
    "a stale REJECTED does not beat APPROVED": (
        at_spec_gate(markers={"APPROVED": marker(), "REJECTED": marker("x", ctime_ns=1)}), d.SetAside, "REJECTED", {},
    ),
    "a rejected spec ends the feature": (
        at_spec_gate(workflow={"approvals": [approval(verdict="rejected")]}), d.Halt, "was rejected",
        {"exit_code": ExitCode.STORIES_OPEN},
    ),
    "a rejection with remarks revives it": (
        at_spec_gate(
            workflow={"approvals": [approval(verdict="rejected")]}, markers={"REJECTED": marker("smaller, please")}
        ),
        d.Reject, "with remarks", {},
    ),
    "editing a rejected spec asks again": (
        at_spec_gate(
            workflow={"approvals": [approval(verdict="rejected")]},
            artifacts=artifacts("PRD.md", SPEC=2),
            lines=[{**an_open_gate(), "digest": digest_of("SPEC.md", 2)}],
        ),
        d.Wait, "is ready for review", {},
    ),
    "editing an approved spec asks again": (
        snapshot(
            artifacts=artifacts("PRD.md", SPEC=2), lines=[{**an_open_gate(), "digest": digest_of("SPEC.md", 2)}]
        ),
        d.Wait, "changed since it was approved", {"gate": "spec"},
    ),
    "prd.json alone has no spec gate": (
        snapshot(artifacts={}, workflow={}), d.RunAgent, "US-001: starting", {"step": "story"},
    ),
    # the branch
    "markers of a gate that is passed do not matter": (
        snapshot(markers={"APPROVED": marker(), "REJECTED": marker("too late")}), d.RunAgent, "US-001", {},
    ),
    "an unknown verdict opens no gate": (
        at_spec_gate(workflow={"approvals": [approval(verdict="perhaps")]}), d.Wait, "read", {"gate": "spec"},
    ),
    "the branch is made after the approval": (snapshot(tree=on_main()), d.OpenBranch, "ralph/login", {}),
    # answers
    "an answer is taken": (
        snapshot(story(status="blocked"), answers=(answer("use OAuth"),)), d.TakeAnswer, "US-001", {"story": "US-001"},
    ),
    "an answer to a story that asks nothing": (
        snapshot(story(), answers=(answer("yes"),)), d.RunAgent, "US-001: starting", {},
    ),
    # stories
    "the lowest priority goes first": (
        snapshot(story("A", priority=2), story("B", priority=1)), d.RunAgent, "B: starting", {"story": "B"},
    ),
    "then file order": (snapshot(story("B"), story("A")), d.RunAgent, "B: starting", {"story": "B"}),
    "a dependency is completed": (
        snapshot(done("A"), story("B", dependsOn=["A"])), d.RunAgent, "B: starting", {"story": "B"},
    ),
    "the second attempt": (
        snapshot(lines=attempts("rejected")), d.RunAgent, ": starting over",
        {"attempt": 2, "mode": "fresh"},
    ),
    "an attempt that is worth going on with": (
        snapshot(lines=attempts("rejected", heals=True, tree="t1")), d.RunAgent, ": fixing the last attempt",
        {"mode": "heal"},
    ),
    "a run that was cut off": (
        snapshot(lines=attempts("stopped", heals=True, tree="t1")), d.RunAgent,
        ": resuming the run that was cut off", {"mode": "resume"},
    ),
    "nothing was kept to go on with": (
        snapshot(lines=attempts("rejected", heals=True)), d.RunAgent, "", {"mode": "fresh"},
    ),
    "the story's own model": (
        snapshot(story(model="opus")), d.RunAgent, "", {"model": "opus", "step": "story"},
    ),
    "all attempts are used": (
        snapshot(lines=attempts(*["rejected"] * 5)), d.RunAgent, "used its 5 attempts: splitting it",
        {"step": "split", "story": "US-001", "attempt": 1},
    ),
    "all attempts are used at the same error, and the breaker is open": (
        snapshot(lines=attempts(*["rejected"] * 5, changed="", error="E", at=NOW)), d.RunAgent, "splitting it",
        {"step": "split"},
    ),
    "a story was split after the breaker had opened at it": (
        snapshot(lines=[*attempts(*["rejected"] * 5, changed="", error="E", at=NOW),
                        *attempts("succeeded", step="split", n=6)]), d.RunAgent, "attempt 1 of 5", {"step": "story"},
    ),
    "all attempts are used, and the first draft of a split was not valid": (
        snapshot(lines=[*attempts(*["rejected"] * 5), *attempts("rejected", step="split", n=6)]), d.RunAgent,
        "splitting it", {"step": "split", "attempt": 2},
    ),
    "all attempts are used, and it could not be split": (
        snapshot(lines=[*attempts(*["rejected"] * 5), *attempts("rejected", "crashed", step="split", n=6)]), d.GiveUp,
        "used its 5 attempts", {"story": "US-001"},
    ),
    "all attempts are used again after a split": (
        snapshot(story(execution={"attempts": 5}), done("US-001-1", context={"split_from": "US-001", "split": 1})),
        d.GiveUp, "used its 5 attempts", {"story": "US-001"},
    ),
    "all attempts of a piece are used": (
        snapshot(story(dependsOn=["US-001-1"]), story("US-001-1", execution={"attempts": 5},
                                                      context={"split_from": "US-001", "split": 1})),
        d.GiveUp, "US-001-1 has used its 5 attempts", {"story": "US-001-1"},
    ),
    "a split story waits for its pieces": (
        snapshot(story(dependsOn=["US-001-1"]), story("US-001-1", context={"split_from": "US-001", "split": 1})),
        d.RunAgent, "US-001-1: starting", {"step": "story"},
    ),
    "a context that overflowed once": (
        snapshot(lines=attempts("too_large")), d.RunAgent, "a smaller prompt", {"attempt": 2, "step": "story"},
    ),
    "a context that overflowed twice": (
        snapshot(lines=attempts("too_large", "too_large")), d.RunAgent, "too large for one run", {"step": "split"},
    ),
    "a context that overflowed while the checks were red": (
        snapshot(lines=attempts("rejected", "rejected", agent="too_large")), d.RunAgent, "too large", {"step": "split"},
    ),
    "attempts are known from prd.json when the journal is gone": (
        snapshot(story(execution={"attempts": 5})), d.RunAgent, "used its 5 attempts", {"step": "split"},
    ),
    "an answer to a failed story": (
        snapshot(story(status="failed"), answers=(answer("again, by the other way"),)), d.TakeAnswer, "US-001", {},
    ),
    "the journal, when it knows the story, is believed": (
        snapshot(story(execution={"attempts": 5}), lines=[{"ev": "reset", "feature": FEATURE, "story": "US-001"}]),
        d.RunAgent, "attempt 1 of 5", {},
    ),
    "after a reset of everything prd.json's count is void": (
        snapshot(story(execution={"attempts": 5}), lines=[{"ev": "reset", "feature": FEATURE}]),
        d.RunAgent, "attempt 1 of 5", {},
    ),
    "a failed story": (
        snapshot(story(status="failed"), story("B", dependsOn=["US-001"])), d.Halt,
        "failed: US-001; blocked: B", {"exit_code": ExitCode.STORIES_OPEN},
    ),
    "a blocked story": (
        snapshot(story(status="blocked")), d.Wait, "QUESTIONS.md: US-001", {"exit_code": ExitCode.WAITING},
    ),
    "a failed story does not stop the others": (
        snapshot(story(status="failed"), story("B")), d.RunAgent, "B: starting", {"story": "B"},
    ),
    # before an agent is paid
    "room on the disk": (snapshot(free_mb=500.0), d.RunAgent, "US-001", {}),
    "too little room on the disk": (
        snapshot(free_mb=499.9), d.Wait,
        "less than 500 MB are free on the disk (limits.min_free_mb): it resumes when space is available",
        {"exit_code": ExitCode.ENVIRONMENT, "until": NOW + 5},
    ),
    "just enough room is not enough when there was too little": (
        snapshot(free_mb=624.9, session={"short_since": NOW - 60}), d.Wait, "less than 625 MB are free on the disk "
        "(limits.min_free_mb is 500, and a quarter more is waited for)", {"exit_code": ExitCode.ENVIRONMENT},
    ),
    "clearly more room than too little": (
        snapshot(free_mb=625.0, session={"short_since": NOW - 60}), d.RunAgent, "US-001", {},
    ),
    "the checks are run first": (snapshot(baseline=None), d.TakeBaseline, "the baseline checks run first", {}),
    "red checks": (red(snapshot()), d.Halt, "test_a, test_b", {"exit_code": ExitCode.CONFLICT}),
    "red checks are said before the budget": (red(snapshot(), runs=50), d.Halt, "red", {}),
    "red checks are accepted": (red(snapshot(), accepts_red=True), d.AcceptRed, "test_a, test_b", {}),
    "red checks that are known": (
        snapshot(baseline=RED, lines=[KNOWN_RED]), d.RunAgent, "US-001", {},
    ),
    "more red than is known": (
        snapshot(baseline=Baseline(False, ("test_a", "test_c")), lines=[KNOWN_RED]), d.Halt, "test_c", {},
    ),
    "red without a name is red": (
        snapshot(baseline=Baseline(False), session={"accepts_red": True}), d.Halt, "red",
        {"exit_code": ExitCode.CONFLICT},
    ),
    "a check that names no failing test cannot be known": (
        snapshot(baseline=Baseline(False, ("test_a", "lint"), "", ("lint",)), lines=[KNOWN_RED],
                 session={"accepts_red": True}),
        d.Halt, "lint failed without naming a test", {"exit_code": ExitCode.CONFLICT},
    ),
    "an empty baseline is green": (snapshot(baseline=Baseline(True, (), "no tests")), d.RunAgent, "", {}),
    # QA
    "all stories are completed": (
        snapshot(done()), d.RunAgent, "the code is reviewed next", {"step": "qa", "story": None, "attempt": 1},
    ),
    "a fresh review": (at_qa_gate(), d.Wait, "QA_REPORT.md is ready for review", {"gate": "qa"}),
    "the code changed since the review": (
        at_qa_gate(tree=tree(code="code-2")), d.RunAgent, "changed since the last review", {"step": "qa"},
    ),
    "the spec changed since the review": (
        at_qa_gate(
            artifacts=artifacts("PRD.md", "QA_REPORT.md", SPEC=2),
            approvals=[approval(digest=digest_of("SPEC.md", 2))],
        ),
        d.RunAgent, "changed since the last review", {"step": "qa"},
    ),
    "a hand-written review is fresh": (
        at_qa_gate(workflow={"approvals": [approval()]}, tree=tree(code="code-2")), d.Wait, "is ready for review", {},
    ),
    "a hand-edited review is respected": (
        at_qa_gate(
            artifacts=artifacts("PRD.md", "SPEC.md", QA_REPORT=2),
            lines=[{**an_open_gate("qa"), "digest": digest_of("QA_REPORT.md", 2)}],
        ),
        d.Wait, "is ready for review", {"gate": "qa"},
    ),
    "a review that was sent back": (
        reviewed(approvals=[approval("qa", "revise", text="look at the tests")]), d.RunAgent, "remarks", {"step": "qa"},
    ),
    "blocking findings become stories": (
        reviewed(report=qa_report("fail", "critical", "major", "minor")), d.AddFixes, "2 blocking findings", {},
    ),
    "findings block even where the verdict says pass": (
        reviewed(report=qa_report("pass", "major")), d.AddFixes, "1 blocking", {},
    ),
    "findings that are stories already wait for a person": (
        reviewed(
            report=qa_report("fail", "major"),
            steps={"qa": {"inputs": {"code": "code-1", "SPEC.md": digest_of("SPEC.md")}, "fixed": "QA_REPORT.md@1"}},
            lines=[an_open_gate("qa", "QA_REPORT.md")],
        ),
        d.Wait, "is ready for review", {"gate": "qa"},
    ),
    "small findings do not block": (at_qa_gate(report=qa_report("pass", "minor", "info")), d.Wait, "for review", {}),
    "the review never ends well": (
        reviewed(
            report=qa_report("fail", "major"), lines=attempts(*["succeeded"] * 3, story_id=None, step="qa")
        ),
        d.Halt, "after 3 rounds", {"exit_code": ExitCode.STORIES_OPEN},
    ),
    "the review was all that was asked for": (
        at_qa_gate(session={"last_step": "qa"}), d.Done, "QA_REPORT.md", {"exit_code": ExitCode.DONE},
    ),
    # the QA gate
    "the review is approved": (
        at_qa_gate(markers={"APPROVED": marker()}), d.Approve, "QA_REPORT.md", {"gate": "qa"},
    ),
    "an approval holds for its code alone": (
        at_qa_gate(approvals=[approval("qa", code="code-0")]), d.Wait, "changed since", {"gate": "qa"},
    ),
    "the review is rejected": (
        at_qa_gate(approvals=[approval("qa", "rejected")]), d.Halt, "QA_REPORT.md was rejected", {},
    ),
    "a rejection holds whatever the code is": (
        at_qa_gate(approvals=[approval("qa", "rejected", code="code-0")]), d.Halt, "was rejected", {},
    ),
    # the pull request
    "the text of the pull request": (
        approved(), d.RunAgent, "text is written", {"step": "pr", "model": "haiku"},
    ),
    "the pull request is opened": (
        reviewed(approvals=[approval("qa")], artifacts=artifacts("PRD.md", "SPEC.md", "QA_REPORT.md", "PR.md")),
        d.Publish, "PR.md is ready", {},
    ),
    "the text belongs to an older review": (
        reviewed(
            approvals=[approval("qa")],
            artifacts=artifacts("PRD.md", "SPEC.md", "QA_REPORT.md", "PR.md"),
            steps={"pr": {"inputs": {"QA_REPORT.md": "older"}}},
        ),
        d.RunAgent, "text is written", {"step": "pr"},
    ),
    "the text was written before a story was added": (
        reviewed(
            approvals=[approval("qa")],
            artifacts=artifacts("PRD.md", "SPEC.md", "QA_REPORT.md", "PR.md"),
            steps={"pr": {"inputs": {"QA_REPORT.md": digest_of("QA_REPORT.md"), "code": "code-0"}}},
        ),
        d.RunAgent, "text is written", {"step": "pr"},
    ),
    "nothing is pushed in the middle of a merge": (
        reviewed(
            approvals=[approval("qa")],
            artifacts=artifacts("PRD.md", "SPEC.md", "QA_REPORT.md", "PR.md"),
            tree=tree(busy="a merge"),
        ),
        d.Halt, "a merge", {"exit_code": ExitCode.CONFLICT},
    ),
    "the end, with a pull request": (
        approved(code="code-1", url="https://example.org/pull/1"), d.Done, "https://example.org/pull/1", {},
    ),
    "the end, pushed": (approved(code="code-1", pushed=True), d.Done, "is pushed", {}),
    "the end, without a remote": (approved(code="code-1"), d.Done, "there is no remote", {"exit_code": 0}),
    "new code after the pull request is reviewed again": (
        replace(approved(code="code-1"), tree=tree(code="code-2")), d.RunAgent, "changed since the last review", {},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RULES)
def test_the_situation_gives_the_decision(name: str) -> None:
    seen, kind, reason, fields = RULES[name]
    decision = decide(seen, CONFIG)
    assert type(decision) is kind, decision
    assert decision.reason.strip() and reason in decision.reason
    assert {key: getattr(decision, key) for key in fields} == fields


def test_an_automatic_gate_is_approved_without_a_marker_unless_something_stands_against_it() -> None:
    assert decide(at_spec_gate(), AUTO) == d.Approve("the spec gate is automatic", "spec", by="auto")
    assert decide(at_qa_gate(), AUTO) == d.Approve("the qa gate is automatic", "qa", by="auto")
    assert isinstance(decide(snapshot(artifacts=artifacts("SPEC.md", PRD=2)), AUTO), d.Wait)
    assert isinstance(decide(at_spec_gate(markers={"REJECTED": marker("no")}), AUTO), d.Reject)
    for report in (qa_report("fail"), qa_report("fail", "minor")):
        decision = decide(at_qa_gate(report=report), AUTO)
        assert isinstance(decision, d.Wait)
        assert decision.gate == "qa"


@pytest.mark.parametrize("gate", ["spec", "qa"])
@pytest.mark.parametrize("before", [["revise"], ["approved", "revise"], ["rejected"]])
def test_an_automatic_gate_leaves_bytes_that_come_again_after_a_rejection_to_a_person(
    gate: str, before: list[str]
) -> None:
    said = [approval(gate, verdict, answered=verdict != "approved") for verdict in before]
    at_gate = at_qa_gate(approvals=said) if gate == "qa" else at_spec_gate(
        workflow={"approvals": said, "steps": {"spec": spec_record()}})  # fmt: skip
    decision = decide(at_gate, Config(gates=Gates(spec="auto", qa="auto")))
    assert isinstance(decision, d.Wait) and decision.gate == gate


@pytest.mark.parametrize("attempt, model", [(1, "haiku"), (2, "sonnet"), (3, "opus"), (4, "opus")])
def test_attempts_climb_the_ladder_of_models(attempt: int, model: str) -> None:
    config = Config(models=Models(implementation=("haiku", "sonnet", "opus")))
    decision = decide(snapshot(lines=attempts(*["rejected"] * (attempt - 1))), config)
    assert isinstance(decision, d.RunAgent)
    assert (decision.attempt, decision.model) == (attempt, model)


def test_a_budget_ends_it_only_when_it_is_used_up_and_no_gate() -> None:
    limits = Limits(max_iterations=3, max_cost_usd=2.0)
    session = {"runs": 2, "cost_usd": 1.99, "until": NOW + 1}
    assert isinstance(decide(snapshot(session=session), Config(limits=limits)), d.RunAgent)
    for seen in (at_spec_gate(), at_qa_gate()):
        spent = replace(seen, session=replace(seen.session, runs=50))
        assert isinstance(decide(spent, CONFIG), d.Wait)
    config = Config(limits=Limits(max_cost_per_story_usd=1.5))
    cheap, dear = snapshot(lines=attempts("rejected", cost=1.4)), snapshot(lines=attempts("rejected", cost=1.5))
    assert isinstance(decide(cheap, config), d.RunAgent)
    assert isinstance(decide(dear, config), d.GiveUp)


@pytest.mark.parametrize("seen, step, name", [(snapshot(), "story", "implementation"), (snapshot(done()), "qa", "qa")])
def test_the_active_time_of_a_step_is_bounded_in_an_invocation(seen: Snapshot, step: str, name: str) -> None:
    spent = replace(seen, session=replace(seen.session, active_s={step: 10.0}))
    decision = decide(spent, Config(timeouts=Timeouts(**{name: 10.0})))
    assert isinstance(decision, d.Halt)
    assert decision.exit_code == ExitCode.BUDGET
    assert f"timeouts.{name}" in decision.reason
    assert isinstance(decide(seen, Config(timeouts=Timeouts(**{name: 10.0}))), d.RunAgent)


def test_the_pace_is_that_of_the_last_hour_whichever_feature_it_was_for() -> None:
    config = Config(limits=Limits(calls_per_hour=2))
    old, ours = a_run(run="old", at=NOW - 3600), a_run(run="ours", at=NOW - 1800)
    theirs = {**a_run(run="theirs", at=NOW - 60), "feature": "other"}
    assert isinstance(decide(snapshot(lines=[old, an_end(run="old"), ours, an_end(run="ours")]), config), d.RunAgent)
    held = decide(snapshot(lines=[old, an_end(run="old"), ours, an_end(run="ours"), theirs]), config)
    assert isinstance(held, d.Wait)
    assert (held.exit_code, held.until) == (ExitCode.LIMITED, NOW + 1800)


@pytest.mark.parametrize("step", ["spec", "qa", "pr"])
def test_a_step_has_one_try_and_three_mends_and_a_success_counts_anew(step: str) -> None:
    seen = {"spec": unspecified("PRD.md"), "qa": snapshot(done()), "pr": approved()}[step]
    for n in range(4):
        assert decide(seen, CONFIG).__class__ is d.RunAgent, n
        for line in attempts("rejected", story_id=None, step=step, failure="stories.json: no JSON"):
            seen.history.add({**line, "run": f"{step}-{n}"})
    decision = decide(seen, CONFIG)
    assert isinstance(decision, d.Halt)
    assert "failed 4 times, last: stories.json: no JSON" in decision.reason
    assert f"`ralphy redo {step} login`" in decision.reason
    again = unspecified("PRD.md", lines=attempts("rejected", "rejected", "succeeded", story_id=None, step="spec"))
    decision = decide(again, CONFIG)
    assert isinstance(decision, d.RunAgent) and decision.attempt == 1
