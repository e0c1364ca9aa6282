"""accept: a person says that a story is done. It counts as an agent's word does: only with green checks.

What is tested is the feature's branch as it is committed; the evidence says who accepted it.
"""

from __future__ import annotations

from collections.abc import Sequence

from ralphy.documents.questions import without
from ralphy.engine.feature import documents
from ralphy.engine.feature.land import commit_documents
from ralphy.engine.lane_use.checks import CheckResult, failed, run_checks
from ralphy.engine.lane_use.lane_layout import lay_out_clean
from ralphy.engine.runs.story_record import evidence_of
from ralphy.engine.verify.baseline_records import record_baseline
from ralphy.engine.view.observe import observe
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import Conflict
from ralphy.pipeline.model import Document, Snapshot, Story
from ralphy.pipeline.stories import completed
from ralphy.pipeline.verification import was_verified


def accept(w: Workspace, s: Snapshot, story: Story) -> bool:
    """Run the checks and complete the story; gives whether there were any that had something to run.

    Raises Conflict if anything speaks against it; nothing is changed then.
    """
    _require_branch(s)
    results = _green_checks(w, s)
    tests = (story.raw.get("testing") or {}).get("test_files", [])
    evidence = _evidence(s, results)
    fields = completed(story, {"completed_at": w.iso_now}, evidence, tests)
    questions = documents.text(w, "QUESTIONS.md")
    answered = without(questions, story.id)
    more = {"QUESTIONS.md": answered.encode()} if answered != questions else {}
    prd = s.prd.with_story(story.id, **fields)
    commit_documents(w, s, f"accepted {story.id}", f"{story.id} is accepted by a person", prd=prd, files=more)
    w.record("reset", story=story.id)
    return was_verified(evidence)


def _require_branch(s: Snapshot) -> None:
    if not s.tree.is_on_branch:
        raise Conflict(f"{s.feature} has no branch yet", hint=f"ralphy why {s.feature}")


def _green_checks(w: Workspace, s: Snapshot) -> Sequence[CheckResult]:
    lay_out_clean(w, w.objects.tree_of(s.tree.head), s.tree.head)
    results = run_checks(w, "accept", until_red=True)
    red = failed(results, w.history.known_red, frozenset(c.name for c in results))
    if red:
        failures = "; ".join(f"{result.sentence()}: {', '.join(result.names[:5])}" for result in red)
        raise Conflict(f"the checks are red: {failures}",
                       hint="fix them, commit to the feature's branch, then try again")  # fmt: skip
    if observe(w).tree.head != s.tree.head:
        raise Conflict(f"{s.tree.feature_branch} was moved while the checks ran", hint="try again")
    record_baseline(w, s.tree.code, results)
    return results


def _evidence(s: Snapshot, results: Sequence[CheckResult]) -> Document:
    doubts = ((not results, "no checks are configured or detected"), (any(c.is_empty for c in results), "no tests ran"))
    warnings = [text for is_so, text in doubts if is_so]
    return evidence_of(s.tree.code, s.tree.head, results, {"accepted": "accepted by a person", "warnings": warnings})
