"""The nouns: how prd.json is read as a value, and how a change gives a new one."""

from __future__ import annotations

import pytest

from ralphy.pipeline.model import Answer, Approval, Finding, Prd, QaReport, Status, Story
from tests.core.building import artifacts, digest_of, done, prd, snapshot, story, tree


@pytest.mark.parametrize(
    "fields, status",
    [
        ({}, Status.PENDING),
        ({"passes": False}, Status.PENDING),
        ({"passes": True}, Status.COMPLETED),
        ({"passes": False, "status": "in_progress"}, Status.IN_PROGRESS),
        ({"passes": True, "status": "completed"}, Status.COMPLETED),
        ({"status": "failed"}, Status.FAILED),
        ({"status": "blocked"}, Status.BLOCKED),
    ],
)
def test_a_storys_status_is_its_own_or_comes_from_passes(fields: dict[str, object], status: Status) -> None:
    it = Story.of({"id": "a", "title": "t", **fields}, 0)
    assert it.status is status
    assert it.is_completed == (status is Status.COMPLETED)
    assert it.is_open == (status in (Status.PENDING, Status.IN_PROGRESS))


def test_a_lean_story_has_defaults() -> None:
    it = Story.of({"id": "a", "title": "t"}, 3)
    assert (it.priority, it.depends_on, it.index, it.kind, it.execution) == (0, (), 3, "code", {})


def test_a_story_is_found_by_its_id() -> None:
    assert prd(story("a"), story("b")).story("b").index == 1
    with pytest.raises(KeyError):
        prd(story("a")).story("c")


def test_a_change_of_a_story_gives_a_new_prd_and_leaves_all_else() -> None:
    before = prd(story("a"), story("b", mine=[1]), project="shop", theirs={"x": 1})
    after = before.with_story("b", status="completed", passes=True)
    assert before.story("b").status is Status.PENDING
    assert after.story("b").is_completed
    assert after.story("a") is before.story("a")
    assert after.raw == {**before.raw, "userStories": [story("a"), done("b", mine=[1])]}
    assert [it.index for it in after.stories] == [0, 1]
    assert Prd.of(after.raw) == after


def test_the_record_of_a_step_replaces_its_own_alone() -> None:
    found = prd(workflow={"phase": "QA", "steps": {"spec": {"inputs": {"PRD.md": "1"}}}})
    after = found.with_step("qa", {"fixed": "2"}).with_step("spec", {})
    assert after.workflow == {"phase": "QA", "steps": {"spec": {}, "qa": {"fixed": "2"}}}
    assert found.step("spec") == {"inputs": {"PRD.md": "1"}}
    assert found.step("pr") == {}


@pytest.mark.parametrize("workflow", [None, {}, {"steps": None}, {"steps": {"spec": None}}, {"approvals": []}])
def test_a_record_that_is_not_there_is_empty(workflow: dict[str, object] | None) -> None:
    found = Prd.of({"userStories": [], **({} if workflow is None else {"workflow": workflow})})
    assert (found.step("spec"), found.approvals) == ({}, ())


def test_approvals_are_read_in_their_order() -> None:
    said = [
        {"gate": "spec", "verdict": "revise", "digest": "1", "text": "no"},
        {"gate": "qa", "verdict": "approved", "code": "c"},
    ]
    assert prd(workflow={"approvals": said}).approvals == (
        Approval("spec", "revise", "1", text="no"),
        Approval("qa", "approved", "", code="c"),
    )


def test_an_approval_is_answered_only_by_true() -> None:
    assert not Approval.of({"gate": "spec", "verdict": "revise", "answered": "yes"}).answered
    assert Approval.of({"gate": "spec", "verdict": "revise", "answered": True}).answered


def test_critical_and_major_findings_block() -> None:
    found = tuple(Finding(severity, severity) for severity in ("critical", "major", "minor", "info"))
    assert [it.severity for it in QaReport("fail", found).blocking] == ["critical", "major"]


@pytest.mark.parametrize("text", ["yes", " Yes.\n", "OK!", "y", "oui", "ja"])
def test_yes_is_yes(text: str) -> None:
    assert Answer("US-001", text).is_yes


@pytest.mark.parametrize("text", ["", "no", "yes, but with OAuth", "yesterday", "not ok"])
def test_all_else_is_a_remark(text: str) -> None:
    assert not Answer("US-001", text).is_yes


def test_an_artifact_that_is_not_there_has_no_digest() -> None:
    seen = snapshot(artifacts=artifacts("SPEC.md"))
    assert (seen.digest("SPEC.md"), seen.digest("PRD.md")) == (digest_of("SPEC.md"), "")


def test_a_snapshot_can_be_looked_at_at_another_time() -> None:
    seen = snapshot()
    assert seen.at(5.0).now == 5.0
    assert seen.at(5.0).prd is seen.prd


def test_a_tree_knows_its_own_branch() -> None:
    assert tree().is_on_branch
    assert not tree(branch="main").is_on_branch
