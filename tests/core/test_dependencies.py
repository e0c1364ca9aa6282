"""Dependencies in every spelling: read alike, checked alike, and never two that disagree."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.documents.dependencies import listed, with_own_spelling
from ralphy.documents.prd_reader import check_prd, prd_problems, read_stories_draft
from ralphy.errors import InvalidInput
from ralphy.pipeline.model import Prd
from ralphy.pipeline.stories import next_ready
from ralphy.text.strict_json import dump


def two(**fields: Any) -> dict[str, Any]:
    """A story that is worked on first, if it were not for its dependencies, and the one that it needs."""
    first = {"id": "A", "title": "a", "priority": 1, **fields}
    return {"userStories": [first, {"id": "7", "title": "b", "priority": 2}]}


@pytest.mark.parametrize(
    "fields",
    [{"dependencies": ["7"]}, {"dependencies": [7]}, {"dependsOn": ["7"]}, {"dependsOn": ["7"], "dependencies": [7]}],
)
def test_a_dependency_counts_however_it_is_spelled(fields: dict[str, Any]) -> None:
    read = check_prd(dump(two(**fields)), "prd.json")
    assert read == two(dependsOn=["7"])
    assert read_stories_draft(dump(two(**fields)), "stories.json") == read["userStories"]
    ready = next_ready(Prd.of(read))
    assert ready and ready.id == "7"


def test_ids_that_are_numbers_become_texts() -> None:
    document = {"userStories": [{"id": 2, "title": "b", "dependencies": [1.0]}, {"id": 1, "title": "a"}]}
    own = [{"id": "2", "title": "b", "dependsOn": ["1"]}, {"id": "1", "title": "a"}]
    assert check_prd(dump(document), "prd.json")["userStories"] == own
    assert check_prd(dump({"userStories": own}), "prd.json") == {"userStories": own}


@pytest.mark.parametrize(
    ("ids", "said"), [((1, "1"), "the same as"), ((-1, 1), "must be 0 or more"), ((True, 1), "must be")]
)
def test_numbers_are_ids_like_any_other(ids: tuple[Any, Any], said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        check_prd(dump({"userStories": [{"id": one, "title": "a"} for one in ids]}), "prd.json")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"dependencies": ["9"]}, 'prd.json:8: userStories[0].dependencies[0] is "9", no such story'),
        ({"dependencies": ["A"]}, "prd.json:8: userStories[0].dependencies[0] is the story itself"),
        ({"dependencies": [True]},
         "prd.json:8: userStories[0].dependencies[0] is true but must be a string or an integer"),
        ({"dependencies": None}, "prd.json:7: userStories[0].dependencies is null but must be an array"),
        ({"dependsOn": [], "dependencies": [7]},
         "prd.json:8: userStories[0].dependencies is 7, but dependsOn is empty"),
    ],
)  # fmt: skip
def test_a_mistake_is_named_in_the_spelling_that_stands_there(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_prd(dump(two(**fields)), "prd.json")
    assert str(caught.value) == said


def test_a_circle_through_both_spellings_is_found() -> None:
    found = {"userStories": [{"id": "a", "title": "a", "dependsOn": ["b"]},
                             {"id": "b", "title": "b", "dependencies": ["a"]}]}  # fmt: skip
    assert "is circular" in str(prd_problems(found)[0])


IDS = st.lists(st.sampled_from(["A", "7", 7, 7.0, "x", True, None, 1.5]), max_size=3) | st.none() | st.just("7")


@given(st.fixed_dictionaries({}, optional={"dependsOn": IDS, "dependencies": IDS}))
def test_what_passes_schema_and_rules_means_the_same_in_one_spelling(fields: dict[str, Any]) -> None:
    document = two(**fields)
    if not prd_problems(document):
        own = with_own_spelling(document)
        assert "dependencies" not in own["userStories"][0]
        assert {i for _, _, i in listed(own["userStories"][0])} == {i for _, _, i in listed(document["userStories"][0])}
