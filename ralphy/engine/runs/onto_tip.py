"""An attempt is judged on top of what the feature's branch has when its agent has ended.

Another story may have landed meanwhile, or a person committed: the work is merged onto that. What lands is what was
checked: the merged tree. Work that conflicts is done again on top of the other's, by an agent that is told of both.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

from ralphy.agents.protocol import Outcome
from ralphy.engine.feature.kept_attempts import kept_commit
from ralphy.engine.feature.land import tip_taken_up
from ralphy.engine.lane_use.take_over import Candidate
from ralphy.engine.runs.conflict import conflict_told, landed_between, named_between
from ralphy.engine.runs.running import Ran
from ralphy.engine.verify.verify import Verdict, judge
from ralphy.engine.workspace.changes import is_control, shown
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import BranchMoved
from ralphy.git.commands import GitError
from ralphy.pipeline.model import Story

_MOST_TRIES = 5
_CONFLICTS = 1  # what `git merge-tree` ends with when both sides changed the same


def settle_at_tip(
    w: Workspace, story: Story, ran: Ran, base: str, candidate: Candidate, settle: Callable[[str, Verdict], None],
) -> None:  # fmt: skip
    """Judge the work where the branch is, and settle it there: `settle` is given the commit that the work stands on now
    and what is to be said of it; the verdict has the candidate. A branch that moves in the moment of the landing is
    merged onto like one that moved before.

    `base` is the commit that the agent began at.
    """
    may_land = ran.result.outcome.costs_an_attempt and not candidate.refused and not ran.claim.asks
    head = base
    for _ in range(_MOST_TRIES):
        tip = tip_taken_up(w) if may_land else head
        if tip not in ("", head):
            w.say(f"{w.feature_branch} has moved to {tip[:10]}; merging {story.id} onto it")
            merged, conflicts = merge_trees(w, head, candidate.tree, tip)
            if conflicts:
                settle(head, _conflict(w, story, candidate, (base, head, tip), conflicts))
                return
            candidate, head = _on_top(w, candidate, merged, tip), tip
            w.milestone("merged_onto_tip")
        verdict = _judged(w, story, ran, candidate, base, head)
        candidate = verdict.candidate or candidate
        w.milestone("judged")
        if verdict.passed and tip_taken_up(w) not in ("", head):
            continue
        try:
            settle(head, replace(verdict, candidate=candidate))
            return
        except BranchMoved:
            if not verdict.passed or tip_taken_up(w) in ("", head):
                raise
    why = f"{w.feature_branch} moved {_MOST_TRIES} times while the work was checked"
    failed = replace(verdict, outcome=Outcome.REJECTED, failure=why, digest=why, goes_on=True, candidate=candidate)
    settle(head, failed)


def _judged(w: Workspace, story: Story, ran: Ran, candidate: Candidate, base: str, head: str) -> Verdict:
    """The verdict. On a merged tree a red check gets one more chance: nobody has worked on just this code."""
    verdict = judge(w, story, ran.result, ran.claim, candidate)
    if head == base or not _is_red(verdict):
        return verdict
    others = named_between(w, base, head)
    w.say(f"{story.id}: checks fail on top of {others}; running them once more")
    verdict = judge(w, story, ran.result, ran.claim, candidate)
    if not _is_red(verdict):
        return verdict
    parts = f"It is red on top of {others}.", landed_between(w, base, head), verdict.digest
    told = "\n\n".join(part for part in parts if part)
    return replace(verdict, failure=f"on top of {others}: {verdict.failure}", digest=told)


def _is_red(verdict: Verdict) -> bool:
    return verdict.outcome is Outcome.REJECTED and any(not c.is_green and not c.is_empty for c in verdict.checks)


def _on_top(w: Workspace, candidate: Candidate, tree: str, tip: str) -> Candidate:
    green = w.objects.tree_of(tip)
    code = {path: new for path, _, new in w.objects.changes(green, tree) if not is_control(w, path)}
    merged = w.objects.graft(green, code)
    files = tuple(path for path, _, _ in w.objects.changes(green, merged))
    return replace(candidate, tree=merged, code=w.code_of(merged), green=green, files=files)


def _conflict(
    w: Workspace, story: Story, candidate: Candidate, commits: tuple[str, str, str], paths: tuple[str, ...]
) -> Verdict:
    base, head, tip = commits
    why = f"it conflicts with {named_between(w, base, tip)}, in {', '.join(map(shown, paths[:5]))}"
    w.say(f"{story.id}: {why}; starting it again on top of that")
    told = conflict_told(w, (head, candidate.tree), (base, tip), paths)
    return Verdict(Outcome.CONFLICTED, why, told, goes_on=True, candidate=candidate)


def merge_trees(w: Workspace, base: str, tree: str, tip: str) -> tuple[str, tuple[str, ...]]:
    """(the tree of `tip` with what `tree` changes against the commit `base`, the paths in which both changed the same).

    The merge is Git's own (`git merge-tree`); nothing is checked out for it. Both sides are put on top of `base`: what
    a person took out of the branch, by a reset say, is not part of the work.
    """
    theirs, work = (kept_commit(w, side, base, "to be merged") for side in (w.objects.tree_of(tip), tree))
    words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", theirs, work)
    try:
        out = w.repository.run(*words)
    except GitError as error:
        if error.code != _CONFLICTS:
            raise
        out = error.stdout
    merged, *names = os.fsdecode(out).split("\0")
    return merged.strip(), tuple(name for name in names if name)
