"""Changes of the stories as values: what they make of prd.json."""

from __future__ import annotations

from typing import Any

import pytest

from ralphy.errors import Conflict, NotFound
from ralphy.pipeline.model import Prd
from ralphy.pipeline.story_changes import Change, Verb, changed


def plan(**first: Any) -> Prd:
    return Prd.of({"userStories": [{"id": "US-001", "title": "Sign in", "priority": 1, **first}]})


def test_a_story_is_not_added_twice_under_one_id_and_a_change_of_one_that_is_gone_does_not_fit() -> None:
    change = Change(Verb.ADD, "US-002", {"title": "Sign out"})
    once = changed(plan(), "login", change).prd
    with pytest.raises(Conflict, match="there is a story US-002 already"):
        changed(once, "login", change)
    assert changed(once, "login", Change(Verb.ADD, given={"title": "More"})).story == "US-003"
    for verb in (Verb.START, Verb.FAIL, Verb.RESET):
        with pytest.raises(NotFound, match="US-009"):
            changed(plan(), "login", Change(verb, "US-009"))
