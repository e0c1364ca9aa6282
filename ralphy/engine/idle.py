"""What is done when nothing else is to be done: the parts of landed stories are taken back, one at a time.

While agents work this fills the time, and is ended as soon as one of them ends, or a person wants something. Before the
review what is still open is asked, for as long as `proof.budget_s` says. Answers are kept, so nothing is asked twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ralphy.engine.feature.lane_tree import tip_of
from ralphy.engine.lane_use.checks import CheckResult
from ralphy.engine.lane_use.lane_layout import is_set_up_for
from ralphy.engine.lane_use.take_over import Candidate, candidate_of, file_changes
from ralphy.engine.lane_use.trial import Beside, GaveWay
from ralphy.engine.verify.baseline import key_of
from ralphy.engine.verify.part_answers import Answer, Answers
from ralphy.engine.verify.parts import Part, is_missed, parts_of
from ralphy.engine.wakeups import signature_of
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.ledger import newest_commit_of
from ralphy.pipeline.decision import ProveParts
from ralphy.pipeline.model import Document, Prd, Snapshot, Story
from ralphy.pipeline.parts import due, noted, parts_in_words
from ralphy.testguard.substance import digest_of
from ralphy.text.json_coerce import mapping_of, number_of

_FILE = "parts"


def has_idle_work(w: Workspace, prd: Prd) -> bool:
    """Is there anything to do beside agents?"""
    return bool(_due(w, prd))


def idle_work(w: Workspace, prd: Prd, gives_way: Callable[[], bool], bell: int) -> None:
    """Do it until it is done, or something else is to be done."""
    try:
        if stories := _due(w, prd):
            _ask_all(w, stories, Beside(w.checkout.idle_supervisor, gives_way, bell))
    except GaveWay:
        return


def _due(w: Workspace, prd: Prd) -> list[Story]:
    return due(prd, w.session.parts) if w.config.proof.parts == "on" and w.checks else []


def prove_parts(w: Workspace, _: ProveParts, s: Snapshot) -> None:
    """Before the review: ask what is still open, until the time for that is over; a change of the folder interrupts."""
    began, before = time.monotonic(), signature_of(w.repository, w.feature)
    left_s = w.config.proof.budget_s - w.session.parts_s
    open_ = _due(w, s.prd)

    def is_over() -> bool:
        return time.monotonic() - began >= left_s

    def gives_way() -> bool:
        return is_over() or signature_of(w.repository, w.feature) != before

    try:
        _ask_all(w, open_, Beside(w.checkout.idle_supervisor, gives_way))
    except GaveWay:
        if is_over():
            for story in due(s.prd, w.session.parts):
                _note(w, story, _Proof.of(w, story).known())
    w.session = replace(w.session, parts_s=w.session.parts_s + time.monotonic() - began)


def _ask_all(w: Workspace, stories: Sequence[Story], beside: Beside) -> None:
    for story in stories:
        _note(w, story, _Proof.of(w, story).asked(beside))


def _note(w: Workspace, story: Story, parts: Sequence[Part]) -> None:
    """The proof of a story's parts is over: it is committed with what is committed next."""
    proved, unproved, left = ([part.place for part in parts if part.is_proved is said] for said in (True, False, None))
    change = str(mapping_of(story.raw.get("evidence")).get("change"))
    found: Document = noted(change, len(proved), unproved, len(left))
    w.session = replace(w.session, parts={**w.session.parts, story.id: found})
    if said := parts_in_words({"parts": found}):
        w.say(f"{story.id}: {said}")


@dataclass(slots=True)
class _Proof:
    """The parts of one story. `candidate` is None if its commit is not there, or has other code than what was verified.

    `spent_s` is what was used of the story's budget, in this call of Ralphy and in earlier ones.
    """

    w: Workspace
    evidence: dict[str, Any]
    candidate: Candidate | None
    answers: Answers
    spent_s: float = 0.0

    @classmethod
    def of(cls, w: Workspace, story: Story) -> _Proof:
        evidence = dict(mapping_of(story.raw.get("evidence")))
        commit = newest_commit_of(w.repository, f"{w.feature.name}/{story.id}", tip_of(w))
        found = candidate_of(w, commit) if commit else None
        if found and digest_of(file_changes(w, found.green, found.tree)) != evidence.get("change"):
            found = None
        return cls(w, evidence, found, Answers(w.repository.state_dir / _FILE / w.feature.name))

    def known(self) -> list[Part]:
        """The parts, as far as they were asked about."""
        return list(parts_of(self.w, self.candidate, self._known)) if self.candidate else []

    def asked(self, beside: Beside) -> list[Part]:
        """The parts; those that the budget was not enough for are open. Raises GaveWay."""
        if self.candidate is None or not is_set_up_for(self.w, self.candidate.tree):
            return self.known()
        return list(parts_of(self.w, self.candidate, lambda tree: self._ask(tree, beside), beside.check))

    def _known(self, tree: str) -> bool | None:
        found = self.answers.get(key_of(tree, self.w.checks))
        self.spent_s += found.seconds if found else 0.0
        return found.is_missed if found else None

    def _ask(self, tree: str, beside: Beside) -> bool | None:
        known = self._known(tree)
        if known is not None or self.spent_s >= self.w.config.proof.budget_s:
            return known
        began = time.monotonic()
        red = mapping_of(mapping_of(self.evidence.get("tests")).get("red_first")).get("tests") or ()
        answer = is_missed(self.w, tree, self._results(), list(map(str, red)), beside)
        if answer is None:
            return None
        found = Answer(answer, time.monotonic() - began)
        self.spent_s += found.seconds
        self.answers.add(key_of(tree, self.w.checks), found)
        return found.is_missed

    def _results(self) -> list[CheckResult]:
        """The checks of the settings, as they were when the story landed."""
        rows = [mapping_of(row) for row in self.evidence.get("checks") or ()]
        return [CheckResult(str(row.get("name")), 0, number_of(row.get("seconds")) or 0.0, "")
                for row in rows if row.get("exit") == 0]  # fmt: skip
