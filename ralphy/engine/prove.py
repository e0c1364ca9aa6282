"""Prove: judge the commits of stories once more, from what is committed, without an agent.

Each story's code is put on the commit before it, and asked what it was asked when it landed: is it green, are the tests
kept, does one of its tests fail without it. Nothing that was noted at the landing is believed; it is compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ralphy.engine.feature.documents import committed_prd
from ralphy.engine.lane_use.checks import CheckResult, run_checks
from ralphy.engine.lane_use.lane_layout import lay_out_clean
from ralphy.engine.lane_use.take_over import candidate_of, file_changes
from ralphy.engine.verify.baseline_records import key_of, record_baseline
from ralphy.engine.verify.case import Verdict
from ralphy.engine.verify.parts import Part, is_missed, noted_parts, parts_of
from ralphy.engine.verify.verify import judge_tree
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.ledger import StoryCommit
from ralphy.pipeline.model import Document, Story
from ralphy.pipeline.verification import verified_by
from ralphy.testguard.substance import digest_of
from ralphy.text.json_coerce import mapping_of, text_of


@dataclass(frozen=True, slots=True)
class Proof:
    """What a story's commit is worth: `failure` says why it does not hold ("" if it does), `flags` what to look at.

    `red_first` are the tests that fail without the story's code, `checks` what ran, in words, and `parts` what was
    taken back alone.
    """

    story: str
    title: str
    commit: str
    failure: str = ""
    flags: tuple[str, ...] = ()
    red_first: tuple[str, ...] = ()
    checks: str = ""
    parts: tuple[Part, ...] = ()

    @property
    def holds(self) -> bool:
        return not self.failure

    @property
    def unproved(self) -> list[str]:
        """The places of the parts that no test needs."""
        return [part.place for part in self.parts if part.is_proved is False]

    @property
    def parts_noted(self) -> Document:
        """What is known of the parts, as a story's evidence holds it."""
        return noted_parts(self.parts)


def prove(w: Workspace, landed: Sequence[StoryCommit], *, by_parts: bool = False) -> Iterator[Proof]:
    """The proof of each commit, oldest first, as soon as it is known; `by_parts` takes back each part of it alone."""
    # sealed from implementers: a proof reads it with the other documents
    w.config = replace(w.config, acceptance=replace(w.config.acceptance, tests="visible"))
    if w.config.verify.unproved == "reject":  # these went back as often as they had to, and landed
        w.config = replace(w.config, verify=replace(w.config.verify, unproved="flag"))
    red_tests: dict[str, frozenset[str]] = {}
    for one in landed:
        yield _proof(w, one, red_tests, by_parts=by_parts)


def _proof(w: Workspace, one: StoryCommit, red_tests: dict[str, frozenset[str]], *, by_parts: bool) -> Proof:
    """The proof of a commit; `red_tests` are the tests that fail, by the code that the checks have run on."""
    story = next((s for s in committed_prd(w, one.commit).stories if s.id == one.story), None)
    if story is None:
        return Proof(one.story, one.subject, one.commit, "prd.json of this commit has no such story")
    candidate = candidate_of(w, one.commit)
    evidence = mapping_of(story.raw.get("evidence"))
    was = text_of(evidence.get("change"))
    if was and was != digest_of(file_changes(w, candidate.green, candidate.tree)):
        return Proof(one.story, story.title, one.commit, "the commit's code is not what was verified when it landed")
    before = key_of(w.code_of(candidate.green), w.checks)
    if before not in red_tests:
        red_tests[before] = _ask_before(w, candidate.green)
    verdict = judge_tree(w, story, candidate, red_tests[before])
    if verdict.passed:
        red_tests[key_of(candidate.code, w.checks)] = red_tests[before] & _red(verdict.checks)
    proof = _proof_from(one, story, verdict, mapping_of(evidence.get("tests")))
    if not by_parts or not proof.holds:
        return proof
    parts = parts_of(w, candidate, lambda tree: is_missed(w, tree, verdict.checks, proof.red_first))
    return replace(proof, parts=tuple(parts))


def _ask_before(w: Workspace, tree: str) -> frozenset[str]:
    """Run the checks on the code before a story; the tests that fail there."""
    lay_out_clean(w, tree)
    results = run_checks(w, "baseline", until_red=False)
    record_baseline(w, w.code_of(tree), results)
    return _red(results)


def _red(results: Sequence[CheckResult]) -> frozenset[str]:
    return frozenset(name for result in results if not result.is_green for name in result.failing)


def _proof_from(one: StoryCommit, story: Story, verdict: Verdict, noted: Mapping[str, Any]) -> Proof:
    now = mapping_of(verdict.tests.get("red_first"))
    red, was = (list(map(str, record.get("tests") or ())) for record in (now, mapping_of(noted.get("red_first"))))
    lost = [f"{test} failed without the story's code when it landed, and passes now" for test in was if test not in red]
    checks = {"checks": [{"name": check.name, "exit": check.exit} for check in verdict.checks], "tests": verdict.tests}
    unverified = [] if any(not check.is_empty for check in verdict.checks) else ["no check had anything to run"]
    flags = (*verdict.warnings, *unverified, *(lost if verdict.passed else ()))
    return Proof(one.story, story.title, one.commit, verdict.failure, flags, tuple(red), verified_by(checks))
