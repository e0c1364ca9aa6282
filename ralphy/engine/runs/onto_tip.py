"""An attempt whose branch has moved meanwhile: its work is merged onto the new tip, and checked again there.

A person commits on the feature's branch while an agent works. What lands is what was checked: the merged tree.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from ralphy.agents.protocol import Outcome
from ralphy.engine.feature.checkout_sync import moved_by_person
from ralphy.engine.feature.documents import committed_prd
from ralphy.engine.feature.kept_attempts import kept_commit
from ralphy.engine.feature.land import bring_back
from ralphy.engine.lane.candidate import Candidate
from ralphy.engine.verify.verify import Verdict, checks_of
from ralphy.engine.workspace.changes import is_control, shown
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git import commands as git
from ralphy.git.commands import GitError

if TYPE_CHECKING:
    from ralphy.engine.runs.attempt import Attempt

_MOST_TRIES = 5
_CONFLICTS = 1  # what `git merge-tree` ends with when both sides changed the same


def onto_tip(w: Workspace, attempt: Attempt) -> Attempt:
    """The attempt as it can land now; one that conflicts, or is red on the merged tree, no longer passes."""
    for _ in range(_MOST_TRIES):
        moved = moved_by_person(w) if attempt.verdict.passed else None
        if moved and moved.undone:
            bring_back(w, moved)
        tip = git.resolve(w.repository, f"refs/heads/{w.feature_branch}")
        if not attempt.verdict.passed or tip in ("", attempt.head):
            return attempt
        w.say(f"{w.feature_branch} has moved to {tip[:10]} meanwhile: the work is merged onto it, and checked again")
        attempt = _merged(w, attempt, tip)
        w.milestone("merged_onto_tip")
    return _rejected(attempt, f"{w.feature_branch} moved {_MOST_TRIES} times while the work was checked")


def _merged(w: Workspace, a: Attempt, tip: str) -> Attempt:
    tree, conflicts = merge_trees(w, a.head, a.candidate.tree, tip)
    if conflicts:
        return _rejected(a, f"it conflicts with what was committed meanwhile, in {', '.join(conflicts[:5])}")
    green = w.objects.tree_of(tip)
    code = {path: new for path, _, new in w.objects.changes(green, tree) if not is_control(w, path)}
    merged = w.objects.graft(green, code)
    w.objects.persist(merged)
    files = tuple(path for path, _, _ in w.objects.changes(green, merged))
    candidate = replace(a.candidate, tree=merged, code=w.code_of(merged), green=green, files=files)
    verdict = _checked(w, a.verdict, candidate)
    return replace(a, head=tip, prd=committed_prd(w, tip), candidate=candidate, verdict=verdict)


def _checked(w: Workspace, verdict: Verdict, candidate: Candidate) -> Verdict:
    """What the checks make of the verdict, on the merged tree."""
    results, failure, digest = checks_of(w, candidate)
    if not failure:
        return replace(verdict, checks=results)
    why = f"on top of what was committed meanwhile, {failure}"
    return Verdict(Outcome.REJECTED, why, digest, results, verdict.warnings, goes_on=True)


def _rejected(a: Attempt, why: str) -> Attempt:
    verdict = Verdict(Outcome.REJECTED, why, why, a.verdict.checks, a.verdict.warnings, goes_on=True)
    return replace(a, verdict=verdict)


def merge_trees(w: Workspace, base: str, tree: str, tip: str) -> tuple[str, tuple[str, ...]]:
    """(the tree of `tip` with what `tree` changes against the commit `base`, the paths in which both changed the same).

    The merge is Git's own (`git merge-tree`); nothing is checked out for it.
    """
    work = kept_commit(w, tree, base, "to be merged")
    words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", tip, work)
    try:
        out = w.repository.run(*words)
    except GitError as error:
        if error.code != _CONFLICTS:
            raise
        out = error.stdout
    merged, *names = os.fsdecode(out).split("\0")
    return merged.strip(), tuple(shown(name) for name in names if name)
