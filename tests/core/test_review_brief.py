"""What a review is told of the stories: all of it where there is room, and what was cut where there is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.documents.criteria import items_of
from ralphy.pipeline.model import Story
from ralphy.prompts.review_brief import stories_for_review, unproved_parts
from tests.core.building import prd, story


def stories(count: int, criteria: int = 3, description: str = "As a visitor I want it.") -> tuple[Story, ...]:
    return prd(*(
        story(f"US-{n:03}", description=description, tasks=[{"title": f"Step of {n}"}],
              acceptanceCriteria=[{"id": f"AC{c}", "text": f"Fact {c} of story {n}"} for c in range(criteria)])
        for n in range(1, count + 1)
    )).stories  # fmt: skip


def test_each_story_is_told_with_description_criteria_tasks_and_where_its_work_is() -> None:
    evidence = {"tests": {"red_first": {"number": 1, "tests": ["test_hashed"]}},
                "acceptance": [{"criterion": 2, "test": "test_unique", "before": "red", "after": "green"}],
                "parts": {"proved": 31, "of": 34, "unproved": ["src/a.py:40-52"]}}  # fmt: skip
    done = story(status="completed", description="Why.", acceptanceCriteria=["Hashed", {"id": "AC2", "text": "Unique"}],
                 tasks=["Write it"], notes="Mind.", execution={"files_modified": ["src/a.py"]}, evidence=evidence,
                 testing={"test_files": ["tests/test_a.py"]})  # fmt: skip
    assert stories_for_review(prd(done).stories, 10_000, "prd.json", {"US-001": "f" * 40}) == (
        "## US-001 Story US-001 [completed]\nWhy.\nAcceptance criteria:\n- US-001.1: Hashed\n- US-001.2 AC2: Unique\n"
        "  Acceptance tests: test_unique was red, is green\nTasks:\n- Write it\nNotes: Mind.\n"
        "Commit: ffffffffffff\nFiles: src/a.py\nTests: tests/test_a.py\nFail without it: test_hashed"
    )
    assert unproved_parts(prd(done).stories) == "- US-001: src/a.py:40-52 (of 34 changes)"


def test_criteria_outlive_descriptions() -> None:
    found = stories(20, description="words " * 100)
    text = stories_for_review(found, 4000, "docs/x/prd.json")
    assert "Descriptions and tasks omitted" in text and "docs/x/prd.json" in text
    assert all(str(item) in text for one in found for item in items_of(one.raw, "acceptanceCriteria"))


def test_where_criteria_do_not_fit_the_stories_without_them_are_said() -> None:
    text = stories_for_review(stories(40), 3500, "prd.json")
    assert "- US-001.3 AC2: Fact 2 of story 1" in text and "Fact 2 of story 40" not in text
    assert "## US-040 Story US-040 [pending] (criteria omitted)" in text
    left_out = text.count("(criteria omitted)")
    assert f"the criteria of {left_out} of 40 stories" in text


@given(st.integers(0, 60), st.integers(0, 6), st.sampled_from([300, 2000, 49152]))
def test_it_is_never_longer_than_its_room(count: int, criteria: int, most: int) -> None:
    assert len(stories_for_review(stories(count, criteria), most, "prd.json").encode()) <= most


@pytest.mark.parametrize("most", [1000, 3000])
def test_whatever_is_cut_is_said(most: int) -> None:
    assert "omitted" in stories_for_review(stories(100), most, "prd.json")
