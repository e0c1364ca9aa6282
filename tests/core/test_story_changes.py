"""Changes of the stories as values: what they make of prd.json, and which documents say one."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from ralphy.errors import Conflict, NotFound
from ralphy.pipeline.model import Prd
from ralphy.pipeline.requests import Change, Verb
from ralphy.pipeline.story_changes import changed


def plan(**first: Any) -> Prd:
    return Prd.of({"userStories": [{"id": "US-001", "title": "Sign in", "priority": 1, **first}]})


@pytest.mark.parametrize(
    "change",
    [
        Change(Verb.ADD, "US-002", {"title": "Sign out", "dependsOn": ["US-001"], "priority": None}),
        Change(Verb.START, "US-001"),
        Change(Verb.FAIL, "US-001", message="the API is gone"),
        Change(Verb.RESET, "US-001"),
        Change(Verb.RESET_ALL),
    ],
    ids=lambda change: change.verb.value,
)
def test_a_change_is_the_same_after_it_was_written_down(change: Change) -> None:
    written = Change.of(orjson.loads(orjson.dumps(change.document)))
    assert written == change
    assert changed(plan(), "login", change).prd == changed(plan(), "login", written).prd


@pytest.mark.parametrize(
    "forged",
    [
        {"verb": "done"}, {"verb": "add", "story": ""}, {"verb": ["add"]}, {"story": 1}, {"message": None},
        {"given": []}, {"verb": "add", "given": {"title": "X", "dependsOn": [1]}}, {"more": 1},
        {"verb": "add", "given": {"title": "X", "passes": True}},
        {"verb": "add", "given": {"title": "X", "testing": {"removes": ["test_a"]}}},
        {"verb": "add", "given": {"title": "X", "kind": "docs"}},
    ],
    ids=str,
)  # fmt: skip
def test_a_document_that_asks_for_more_than_a_command_can_is_no_change(forged: dict[str, Any]) -> None:
    sound = {"verb": "fail", "story": "US-001", "given": {}, "message": ""}
    assert Change.of(sound)
    assert Change.of({**sound, **forged}) is None
    assert Change.of([forged]) is None


def test_a_story_is_not_added_twice_under_one_id_and_a_change_of_one_that_is_gone_does_not_fit() -> None:
    change = Change(Verb.ADD, "US-002", {"title": "Sign out"})
    once = changed(plan(), "login", change).prd
    with pytest.raises(Conflict, match="there is a story US-002 already"):
        changed(once, "login", change)
    assert changed(once, "login", Change(Verb.ADD, given={"title": "More"})).story == "US-003"
    for verb in (Verb.START, Verb.FAIL, Verb.RESET):
        with pytest.raises(NotFound, match="US-009"):
            changed(plan(), "login", Change(verb, "US-009"))
