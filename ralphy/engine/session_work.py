"""A person's own session of Claude Code does the stories: Ralphy decides what is next, and judges what it commits.

There are no walls and no lane: the session works in the checkout with the person's rights. What it commits on the
feature's branch after the loop's base is judged in the clean lane; `accepted` in the evidence says who did it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ralphy.documents import progress
from ralphy.documents.criteria import titled_lists
from ralphy.documents.session_loop import SessionLoop
from ralphy.engine.feature.land import chore, land
from ralphy.engine.lane_use.take_over import Candidate, committed
from ralphy.engine.runs.prompt import context_texts
from ralphy.engine.runs.story_record import evidence_of, of_verdict, story_files
from ralphy.engine.verify.case import Verdict
from ralphy.engine.verify.verify import judge_session
from ralphy.engine.workspace.scan import redacted
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git import commands as git
from ralphy.pipeline.model import Prd, Snapshot, Status, Story
from ralphy.pipeline.steps.qa import QA
from ralphy.pipeline.steps.table import steps
from ralphy.pipeline.stories import completed, not_passed
from ralphy.testguard.substance import is_test
from ralphy.text.plain_text import as_utf8

_MOST_FILES, _MOST_OF_AN_ERROR = 200, 2000


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of a story: `commit` completes it ("": it does not count, `reason` says why). `has_commits` says
    whether anything was committed at all."""

    commit: str = ""
    reason: str = ""
    has_commits: bool = True


def settle_session(w: Workspace, s: Snapshot, story: Story, loop: SessionLoop) -> Settled:
    """Judge what is committed since the loop's base, and complete the story if it counts."""
    base = _base(w, s, loop)
    candidate = committed(w, base, s.tree.head)
    if not candidate.files and not candidate.refused:
        return Settled(reason=_how(w, s), has_commits=False)
    verdict = judge_session(w, story, candidate, loop.attempts - 1)
    judged = verdict.candidate or candidate
    if verdict.passed and judged.tree != candidate.tree:
        changed = (as_utf8(path) for path, _, _ in w.objects.changes(candidate.tree, judged.tree))
        return Settled(reason=f"the pre-commit hook changes {', '.join(changed)}: run it, and commit the result")
    if not verdict.passed:
        return Settled(reason=redacted(w, verdict.digest or verdict.failure))
    return Settled(_complete(w, s, story, loop, candidate, verdict, base))


def _how(w: Workspace, s: Snapshot) -> str:
    here, mine = git.current_branch(w.repository), s.tree.feature_branch
    switch = "" if here == mine else f" This checkout is on {here or 'no branch'}: `git switch {mine}` first."
    return f"nothing is committed on {mine}, and only what is committed there is judged.{switch}"


def _complete(
    w: Workspace, s: Snapshot, story: Story, loop: SessionLoop, candidate: Candidate, verdict: Verdict, base: str
) -> str:  # fmt: skip
    """Complete the story; gives the commit that does it."""
    names = [as_utf8(path) for path in candidate.files[:_MOST_FILES]]
    execution = {"attempts": loop.attempts, "code_test_attempts": loop.attempts, "completed_at": w.iso_now,
                 "files_modified": names}  # fmt: skip
    added, removed = git.lines_changed(w.repository, candidate.green, candidate.tree)
    evidence = evidence_of(candidate.code, base, verdict.checks, {
        "accepted": "done in a session of Claude Code, without a sandbox",
        "lines": {"added": added, "removed": removed},
        **of_verdict(verdict),
    })  # fmt: skip
    fields = completed(story, execution, evidence, [path for path in names if is_test(path)],
                       review_follows=QA in steps())  # fmt: skip
    checks = [check.sentence() for check in verdict.checks]
    prd = s.prd.with_story(story.id, **fields)
    commit = _land_documents(w, s, prd, story, loop, files=names, checks=checks)
    w.record("reset", story=story.id)
    return commit


def give_up(w: Workspace, s: Snapshot, story: Story, loop: SessionLoop, why: str) -> str:
    """The story has failed: one commit says so, and undoes what was committed for it; gives that commit."""
    error, head = why[:_MOST_OF_AN_ERROR], w.objects.tree_of(s.tree.head)
    changes = w.objects.changes(w.objects.tree_of(_base(w, s, loop)), head)
    undone = {path: old for path, old, _ in changes
              if not path.startswith(f"{w.feature.path}/") and not w.is_other_feature(path)}  # fmt: skip
    prd = s.prd.with_story(story.id, **not_passed(story, Status.FAILED, loop.attempts, error))
    return _land_documents(w, s, prd, story, loop, tree=w.objects.graft(head, undone), error=error)


def _base(w: Workspace, s: Snapshot, loop: SessionLoop) -> str:
    """The loop's base, or where the branch was rebased, what it still has of that."""
    return w.repository.text("merge-base", loop.base, s.tree.head).strip()


def _land_documents(
    w: Workspace, s: Snapshot, prd: Prd, story: Story, loop: SessionLoop, *, tree: str = "",
    files: Sequence[str] = (), checks: Sequence[str] = (), error: str = "",
) -> str:  # fmt: skip
    """Commit prd.json, progress.txt and the story's document, and `tree` where the code changes; gives the commit."""
    status = prd.story(story.id).status.value
    entry = progress.ProgressEntry(
        at=w.iso_now, story=story.id, title=story.title, attempt=loop.attempts, max_attempts=loop.max_attempts,
        status=status, iteration=loop.iteration, run=f"session {loop.session_id}", seconds=0.0, files=files,
        checks=checks, error=error,
    )  # fmt: skip
    new = story_files(w, prd, story, entry, s.tree.head)
    event, subject = f"session {w.feature.name}/{story.id}", f"{story.id} is {status} in a session"
    return land(w, chore(w, event, subject, s.tree.head, new, tree=tree))


def session_prompt(w: Workspace, s: Snapshot, story: Story, loop: SessionLoop) -> str:
    """The prompt of a session for a story."""
    lists = [f"{title}:\n" + "\n".join(item.bullet() for item in items) for title, items in titled_lists(story.raw)]
    checks = "\n".join(f"- `{check.run}`" for check in w.checks)
    texts, branch = context_texts(w, story), s.tree.feature_branch
    end = "" if loop.is_one else f" Where a person asks you to end: <promise>{loop.completion_promise}</promise>."
    parts = (
        f"# {story.id}: {story.title}",
        str(story.raw.get("description") or ""),
        *lists,
        texts["spec_section"],
        texts["brief"],
        f"What is known here: {w.feature.in_repository('progress.txt')}.",
        f"Work on the branch {branch} (`git switch {branch}`). Explore and plan, then code and test, then commit. "
        "Write tests that fail without your code. Do not edit prd.json, SPEC.md or .ralphy/.",
        f"These must be green:\n{checks}" if checks else "",
        "When it is committed, end your answer with <promise>STORY_DONE</promise> on a line of its own. If it cannot "
        f"be done, say why and end with <promise>FAILED</promise>.{end} Ralphy judges what is committed, and says what "
        "is next.",
    )  # fmt: skip
    return "\n\n".join(part for part in parts if part)
