"""Which parts of a change does no test need? Each is taken back alone, and the checks are run.

A part is a hunk. The story's own tests are run first, where the runner can be asked for files; all checks only if those
stay green.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ralphy.engine.feature.branch_tip import tip_of
from ralphy.engine.lane_use.checks import CheckResult, argv
from ralphy.engine.lane_use.lane_setup import is_set_up
from ralphy.engine.lane_use.open_lanes import clean_lane
from ralphy.engine.lane_use.take_over import Candidate, candidate_of, file_changes
from ralphy.engine.lane_use.trial import patience_s, tried, words_for
from ralphy.engine.verify.case import Change, changes_of, checks_with_tests
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.commands import diff_of
from ralphy.git.ledger import commit_with_trailer
from ralphy.git.objects import Entry
from ralphy.pipeline.decision import ProveParts
from ralphy.pipeline.model import Document, Snapshot, Story
from ralphy.pipeline.parts import due, noted, parts_in_words
from ralphy.testguard.hunks import Hunk, hunks_of, is_changed_code
from ralphy.testguard.substance import digest_of
from ralphy.testguard.test_keys import Key
from ralphy.text.json_coerce import mapping_of, number_of

Ask = Callable[[str], "bool | None"]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a change, by its place in the new code, and whether a check turns red without it; None: not tried."""

    place: str
    is_proved: bool | None


def prove_parts(w: Workspace, decision: ProveParts, s: Snapshot) -> None:
    """Before the review: try the parts of one story, in an equal share of the time that is left for all of them."""
    began = time.monotonic()
    share_s = (w.config.proof.budget_s - w.session.parts_s) / len(due(s.prd, w.session.parts))
    story = s.prd.story(decision.story)
    parts = list(_of_landed(w, story, until=began + share_s))
    note = noted_parts(parts, str(mapping_of(story.raw.get("evidence")).get("change")))
    w.session = replace(w.session, parts={**w.session.parts, story.id: note},
                        parts_s=w.session.parts_s + time.monotonic() - began)  # fmt: skip
    if sentence := parts_in_words({"parts": note}):
        w.say(f"{story.id}: {sentence}")


def noted_parts(parts: Sequence[Part], change: str = "") -> Document:
    """What is known of the parts, as a story's evidence holds it; `change` is the digest of their story's change."""
    proved, left = (sum(part.is_proved is value for part in parts) for value in (True, None))
    return noted(change, proved, [part.place for part in parts if part.is_proved is False], left)


def _of_landed(w: Workspace, story: Story, until: float) -> Iterator[Part]:
    """None if the story's commit is not there, or has other code than what was verified; all of them untried where
    `setup` would have to run again."""
    evidence = mapping_of(story.raw.get("evidence"))
    commit = commit_with_trailer(w.repository, "Ralphy-Story", f"{w.feature.name}/{story.id}", tip_of(w))
    candidate = candidate_of(w, commit) if commit else None
    if not candidate or digest_of(file_changes(w, candidate.green, candidate.tree)) != evidence.get("change"):
        return
    rows = [mapping_of(row) for row in evidence.get("checks") or ()]
    results = [CheckResult(str(row.get("name")), 0, number_of(row.get("seconds")) or 0.0, "")
               for row in rows if row.get("exit") == 0]  # fmt: skip
    red = list(map(str, mapping_of(mapping_of(evidence.get("tests")).get("red_first")).get("tests") or ()))
    until = until if is_set_up(w, clean_lane(w), candidate.tree) else -math.inf
    yield from parts_of(w, candidate, lambda tree: is_missed(w, tree, results, red, until))


def parts_of(w: Workspace, candidate: Candidate, ask: Ask) -> Iterator[Part]:
    """Each part as soon as it is known. `ask` says of a tree whether something `is_missed` there."""
    for change, hunk in hunks_in(w, candidate, changes_of(w, candidate)):
        data = hunk.taken_back(change.new or b"")
        entry = Entry(change.mode, w.objects.write_blob(data))
        yield Part(hunk.place, ask(w.objects.graft(candidate.tree, {change.path: entry})))


def hunks_in(w: Workspace, candidate: Candidate, changes: Iterable[Change]) -> Iterator[tuple[Change, Hunk]]:
    """The hunks of code in a candidate, each with the change of its file."""
    for change in filter(is_changed_code, changes):
        diff = diff_of(w.repository, candidate.green, candidate.tree, change.path)
        yield from ((change, hunk) for hunk in hunks_of(change, diff))


def is_missed(
    w: Workspace, tree: str, results: Sequence[CheckResult], red: Sequence[str], until: float = math.inf
) -> bool | None:
    """Does any check turn red on this tree, or come to no end? None if one cannot be run there, or not `until` then, or
    all are red on the whole code, by known failures.

    `results` are those of the checks on the whole code, `red` the story's own tests.
    """
    files = sorted({path for test in red if (path := Key.of(test).path)})
    checks = checks_with_tests(w, [result for result in results if result.is_green])
    if not checks:
        return None
    own = [(check, words, result) for check, result in checks if (words := words_for(w, check, files))]
    for check, words, result in [*own, *((check, list(argv(check)), result) for check, result in checks)]:
        left_s = until - time.monotonic()
        spoiled = tried(w, tree, check, words, "part", min(left_s, patience_s(check, result))) if left_s > 0 else None
        if spoiled is None or (spoiled.stopped == "deadline" and time.monotonic() >= until):
            return None
        if spoiled.stopped in ("", "deadline") and not spoiled.is_green:
            return True
    return False
