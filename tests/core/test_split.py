"""Splitting a story: pieces are cut off it, and what is left stays the story."""

from __future__ import annotations

import pytest

from ralphy.documents.prd_rules import problems
from ralphy.errors import InvalidInput
from ralphy.pipeline.model import Document, Prd
from ralphy.pipeline.split import MOST_PIECES, may_be_split, pieces_of, split
from tests.core.building import done, prd, story


def draft(*names: str, **fields: object) -> list[Document]:
    return [{"id": name, "title": f"Piece {name}", "priority": 9, **fields} for name in names]


def three() -> Prd:
    """The second of three stories is too much: it has used three attempts; the third depends on it."""
    middle = story("US-002", dependsOn=["US-001"], priority=2, execution={"attempts": 3}, acceptanceCriteria=["all"])
    return prd(done("US-001"), middle, story("US-003", dependsOn=["US-002"], priority=3))


def test_the_story_keeps_its_words_and_comes_again_behind_its_pieces() -> None:
    before = three()
    after = split(before, before.story("US-002"), draft("A", "B"))

    assert [found.id for found in after.stories] == ["US-001", "US-002", "US-003", "US-002-1", "US-002-2"]
    again = after.story("US-002")
    assert again.depends_on == ("US-001", "US-002-1", "US-002-2")
    assert again.raw["acceptanceCriteria"] == ["all"]
    assert (again.raw["status"], again.raw["passes"], again.execution["attempts"]) == ("pending", False, 0)
    assert after.story("US-003").raw == before.story("US-003").raw
    assert not problems(after.raw)


def test_a_piece_may_wait_for_another_and_always_waits_for_what_the_story_waited_for() -> None:
    before = three()
    pieces = [*draft("A"), *draft("B", dependsOn=["A", "US-001"])]
    after = split(before, before.story("US-002"), pieces)

    assert after.story("US-002-1").depends_on == ("US-001",)
    assert after.story("US-002-2").depends_on == ("US-001", "US-002-1")


def test_a_piece_may_no_more_than_its_story() -> None:
    """An agent's draft cannot say that documents are enough, that tests may go, or that it is done."""
    before = prd(story("US-002", kind="fix", testing={"removes": ["tests/test_old.py::test_a"]}))
    claims = {"kind": "docs", "testing": {"removes": ["tests/test_new.py::test_b"]}, "model": "opus", "passes": True,
              "status": "completed", "evidence": {"checks": []}, "execution": {"attempts": 0}}  # fmt: skip
    raw = split(before, before.story("US-002"), draft("A", **claims)).story("US-002-1").raw

    assert (raw["kind"], raw["testing"]) == ("fix", {"removes": ["tests/test_old.py::test_a"]})
    assert (raw["status"], raw["passes"]) == ("pending", False)
    assert not {"model", "evidence", "execution"} & raw.keys()


@pytest.mark.parametrize("count", [0, MOST_PIECES + 1])
def test_too_few_or_too_many_pieces_are_refused(count: int) -> None:
    before = three()
    with pytest.raises(InvalidInput, match=f"{count} pieces"):
        split(before, before.story("US-002"), draft(*"ABCDEFGH"[:count]))


def test_ids_that_are_taken_are_passed_over() -> None:
    before = prd(story("US-002"), story("us-002-1"))
    after = split(before, before.story("US-002"), draft("A"))

    assert after.stories[-1].id == "US-002-2"


def test_a_story_is_split_as_often_as_it_may_and_a_piece_never() -> None:
    before = three()
    once = split(before, before.story("US-002"), draft("A", "B"))

    assert may_be_split(before, before.story("US-002"), 1)
    assert not may_be_split(before, before.story("US-002"), 0)
    assert not may_be_split(once, once.story("US-002"), 1)
    assert may_be_split(once, once.story("US-002"), 2)
    assert not may_be_split(once, once.story("US-002-1"), 2)
    twice = split(once, once.story("US-002"), draft("A"))
    assert [piece.id for piece in pieces_of(twice, "US-002")] == ["US-002-1", "US-002-2", "US-002-3"]
    assert not may_be_split(twice, twice.story("US-002"), 2)
