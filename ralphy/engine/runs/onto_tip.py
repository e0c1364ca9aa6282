"""An attempt is judged on top of what the feature's branch has when its agent has ended.

Another story may have landed meanwhile, or a person committed: the work is merged onto that. What lands is what was
checked: the merged tree. Work that conflicts is done again on top of the other's, by an agent whose prompt has both.
"""

from __future__ import annotations

import os
from dataclasses import replace

from ralphy.agents.protocol import Outcome
from ralphy.engine.feature.documents import committed_prd
from ralphy.engine.feature.kept_attempts import private_commit
from ralphy.engine.feature.land import tip_taken_up
from ralphy.engine.lane_use.take_over import Candidate, candidate_from
from ralphy.engine.runs.attempt import Attempt, settle
from ralphy.engine.runs.conflict import conflict_digest, landed_between, named_between
from ralphy.engine.runs.running import Ran, Run
from ralphy.engine.verify.case import Verdict
from ralphy.engine.verify.verify import judge
from ralphy.engine.workspace.changes import is_control
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import BranchMoved
from ralphy.git.commands import GitError
from ralphy.pipeline.model import Story
from ralphy.text.plain_text import as_utf8

_MOST_TRIES = 5
_CONFLICTS = 1  # what `git merge-tree` ends with when both sides changed the same


def finish_story(w: Workspace, run: Run, ran: Ran) -> None:
    """Judge the work where the branch is, and settle it there. A branch that moves in the moment of the landing is
    merged onto like one that moved before. Only code is taken out of the lane."""
    story, base = run.snapshot.prd.story(run.decision.story or ""), run.snapshot.tree.head
    candidate = _candidate(w, run, ran)
    may_land = ran.result.outcome.costs_an_attempt and not candidate.refused and not ran.claim.asks
    head = base
    for _ in range(_MOST_TRIES):
        tip = (tip_taken_up(w) or head) if may_land else head
        if tip != head:
            w.say(f"{w.feature_branch} has moved to {tip[:10]}; merging {story.id} onto it")
            merged, conflicts = merge_trees(w, head, candidate.tree, tip)
            if conflicts:
                verdict = _conflict(w, story, candidate, (base, head, tip), conflicts)
                settle(w, _attempt(w, run, ran, head, verdict, candidate))
                return
            candidate, head = _on_top(w, candidate, merged, tip), tip
            w.milestone("merged_onto_tip")
        verdict = _judged(w, story, ran, candidate, base, head)
        candidate = verdict.candidate or candidate
        w.milestone("judged")
        if verdict.passed and tip_taken_up(w) not in ("", head):
            continue
        try:
            settle(w, _attempt(w, run, ran, head, verdict, candidate))
            return
        except BranchMoved:
            if not verdict.passed or tip_taken_up(w) in ("", head):
                raise
    why = f"{w.feature_branch} moved {_MOST_TRIES} times while the work was checked"
    failed = replace(verdict, outcome=Outcome.REJECTED, failure=why, digest=why, goes_on=True)
    settle(w, _attempt(w, run, ran, head, failed, candidate))


def _candidate(w: Workspace, run: Run, ran: Ran) -> Candidate:
    """The code that the run left in its lane, with what it may have moved outside."""
    candidate = candidate_from(w, run.lane, w.objects.tree_of(run.snapshot.tree.head), run.laid_out)
    w.milestone("candidate_written")
    return replace(candidate, stands=(*(f"{name} (set aside)" for name in ran.tampered), *ran.stands))


def _attempt(w: Workspace, run: Run, ran: Ran, head: str, verdict: Verdict, candidate: Candidate) -> Attempt:
    prd = committed_prd(w, head)
    story = run.snapshot.prd.story(run.decision.story or "")
    return Attempt(story, run.decision.attempt, prd, head, ran, candidate, verdict)


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
    digest = "\n\n".join(part for part in parts if part)
    return replace(verdict, failure=f"on top of {others}: {verdict.failure}", digest=digest)


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
    why = f"it conflicts with {named_between(w, base, tip)}, in {', '.join(map(as_utf8, paths[:5]))}"
    w.say(f"{story.id}: {why}; starting it again on top of that")
    digest = conflict_digest(w, (head, candidate.tree), (base, tip), paths)
    return Verdict(Outcome.CONFLICTED, why, digest, goes_on=True, candidate=candidate)


def merge_trees(w: Workspace, base: str, tree: str, tip: str) -> tuple[str, tuple[str, ...]]:
    """(the tree of `tip` with what `tree` changes against the commit `base`, the paths in which both changed the same).

    The merge is Git's own (`git merge-tree`); nothing is checked out for it. Both sides are put on top of `base`: what
    a person took out of the branch, by a reset say, is not part of the work.
    """
    theirs, work = (private_commit(w, side, base, "to be merged") for side in (w.objects.tree_of(tip), tree))
    words = ("merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", theirs, work)
    try:
        out = w.repository.run(*words)
    except GitError as error:
        if error.code != _CONFLICTS:
            raise
        out = error.stdout
    merged, *names = os.fsdecode(out).split("\0")
    return merged.strip(), tuple(name for name in names if name)
