"""Which story is next, what people see of the others, and which changes of a story are allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.documents.prd_rules import problems
from ralphy.pipeline import stories
from ralphy.pipeline.model import Document, Prd, ReviewFinding, Status
from tests.core.building import done, one, prd, story

SCHEMA = json.loads((Path(__file__).parents[2] / "schemas" / "prd.schema.json").read_text(encoding="utf-8"))
few = st.sampled_from
IDS = [f"US-{n}" for n in range(6)]
STATES = [status.value for status in Status]


@st.composite
def prds(draw: st.DrawFn) -> Prd:
    """Stories that depend only on earlier ids, in any order of the file."""
    ids = draw(st.permutations(IDS))
    return prd(*(
        story(
            id_,
            status=draw(few(STATES)),
            priority=draw(st.integers(0, 3)),
            dependsOn=draw(st.lists(few([other for other in IDS if other < id_]), max_size=2, unique=True))
            if id_ != IDS[0] else [],
        )
        for id_ in ids
    ))  # fmt: skip


def is_ready(found: Prd, story_id: str) -> bool:
    it = found.story(story_id)
    return it.is_open and all(found.story(other).is_completed for other in it.depends_on)


@given(prds())
def test_the_first_ready_story_of_the_lowest_priority_is_next_and_the_others_say_why_not(found: Prd) -> None:
    ready = [it for it in found.stories if is_ready(found, it.id)]
    following = stories.next_ready(found)
    assert (following is None) == (not ready)
    if following:
        assert following in ready
        assert all((following.priority, following.index) <= (it.priority, it.index) for it in ready)
    else:
        assert bool(stories.why_stuck(found)) == any(not it.is_completed for it in found.stories)
    shown = stories.shown_status(found)
    for it in found.stories:
        assert shown[it.id] == ("blocked" if it.is_open and not is_ready(found, it.id) else it.status.value)

    canonical = stories.canonical(found)  # in progress nowhere
    assert stories.canonical(canonical) is canonical
    for before, after in zip(found.stories, canonical.stories, strict=True):
        assert after.status is (Status.PENDING if before.is_open else before.status)
        assert after.raw["passes"] is after.is_completed
        assert {**after.raw, "status": 0, "passes": 0} == {**before.raw, "status": 0, "passes": 0}


def test_a_story_that_others_tools_wrote_gets_both_fields() -> None:
    raw = {"userStories": [{"id": "a", "title": "t", "passes": True}, {"id": "b", "title": "t"}]}
    assert [(s["status"], s["passes"]) for s in stories.canonical(Prd.of(raw)).raw["userStories"]] == [
        ("completed", True),
        ("pending", False),
    ]


def changed(fields: Document, **more: Any) -> Prd:
    found = prd(story(**more)).with_story("US-001", **fields)
    jsonschema.validate(found.raw, SCHEMA)
    assert problems(found.raw, ["main"]) == []
    return found


def test_a_completed_story_has_its_boxes_ticked_and_its_evidence() -> None:
    before = {
        "acceptanceCriteria": ["plain", {"description": "boxed", "done": False}],
        "tasks": [{"title": "do it", "id": 1}],
        "testing": {"removes": ["tests/old.py"]},
        "execution": {"last_error": "red", "attempts": 2, "mine": 1},
    }
    fields = stories.completed(one(**before), {"attempts": 3, "completed_at": "now"}, {"tree": "t"}, ["tests/new.py"])
    raw = changed(fields, **before).stories[0].raw
    assert (raw["status"], raw["passes"], raw["evidence"]) == ("completed", True, {"tree": "t"})
    assert raw["acceptanceCriteria"] == ["plain", {"description": "boxed", "done": True}]
    assert raw["tasks"] == [{"title": "do it", "id": 1, "done": True}]
    assert raw["testing"] == {"removes": ["tests/old.py"], "test_files": ["tests/new.py"]}
    assert raw["execution"] == {"last_error": None, "attempts": 3, "mine": 1, "completed_at": "now"}


def test_an_attempt_that_does_not_count_is_noted() -> None:
    fields = stories.not_passed(one(execution={"code_test_attempts": 4, "mine": 1}), Status.PENDING, 2, "red")
    execution = changed(fields).stories[0].execution
    assert execution == {"attempts": 2, "code_test_attempts": 5, "last_error": "red", "mine": 1}


@pytest.mark.parametrize("status", STATES)
def test_any_story_can_be_opened_again(status: str) -> None:
    it = one(status=status, execution={"attempts": 3, "last_error": "red"})
    again = changed(stories.reopened(it), status=status).stories[0]
    assert (again.status, again.raw["passes"]) == (Status.PENDING, False)
    assert (again.execution["attempts"], again.execution["last_error"]) == (0, None)


def test_a_draft_adds_stories_that_are_not_done_and_changes_none() -> None:
    draft = {**done(), "evidence": {"tree": "t"}, "execution": {"attempts": 1}, "notes": "kept"}
    assert stories.as_drafted(draft) == {
        "id": "US-001", "title": "Story US-001", "priority": 1, "notes": "kept", "passes": False, "status": "pending",
    }  # fmt: skip

    existing = prd(done("US-001"), story("us-2"))
    both = stories.merged(existing, [story("US-001", title="again"), story("US-2"), story("US-003")])
    assert [it["id"] for it in both] == ["US-001", "us-2", "US-003"]
    assert both[0] == existing.stories[0].raw


def test_findings_become_stories_behind_all_others_also_when_a_round_has_its_stories_already() -> None:
    existing = prd(done(priority=7))
    new = stories.fixes(
        existing, [ReviewFinding("critical", "Leak", "a.py", "Line 3"), ReviewFinding("major", "Slow")], 1
    )
    found = existing.with_stories(stories.merged(existing, new))
    jsonschema.validate(found.raw, SCHEMA)
    assert [(it.id, it.title, it.priority, it.kind) for it in found.stories[1:]] == [
        ("FIX-1-1", "Leak", 8, "fix"),
        ("FIX-1-2", "Slow", 9, "fix"),
    ]
    assert found.stories[1].raw["description"] == "Line 3\nFile: a.py"
    following = stories.next_ready(found)
    assert following and following.id == "FIX-1-1"

    existing = prd(done("FIX-1-1"), done("fix-2-1"))
    new = stories.fixes(existing, [ReviewFinding("major", "Slow")], 1)
    assert [it["id"] for it in new] == ["FIX-3-1"]
    assert len(stories.merged(existing, new)) == 3
