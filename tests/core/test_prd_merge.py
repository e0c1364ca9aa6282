"""Two prd.json on a common base become one: what a person edits and what Ralphy records never undo each other."""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ralphy.documents.prd_merge import RECORDED, began_with, merge, stories_gone
from ralphy.pipeline.model import Document
from tests.core.building import done, examples, story


def doc(*stories: Document, **root: Any) -> Document:
    return {"branchName": "ralph/login", **root, "userStories": list(stories)}


def by_id(document: Document) -> dict[str, Document]:
    return {found["id"]: found for found in document["userStories"]}


def ids(document: Document) -> list[str]:
    return [found["id"] for found in document["userStories"]]


IDS = [f"US-00{n}" for n in range(1, 6)]
FIELDS: list[Document] = [
    {"status": status, "title": title, "priority": len(more), **more}
    for status in ("pending", "completed", "failed")
    for title in "TU"
    for more in (
        {},
        {"acceptanceCriteria": ["a", {"text": "c"}]},
        {"acceptanceCriteria": ["a", "b", {"text": "d", "done": True}], "context": {"x": 1}},
        {"context": {"x": 2, "y": 0}, "execution": {"attempts": 1}},
        {"execution": {"attempts": 2}},
    )
]


@st.composite
def documents(draw: st.DrawFn) -> Document:
    order = draw(st.lists(st.sampled_from(IDS), unique=True))
    root: Document = draw(st.dictionaries(st.sampled_from(["project", "note"]), st.sampled_from("pq")))
    workflow = {"phase": draw(st.sampled_from(["QA", "PR"]))}
    fields = [draw(st.sampled_from(FIELDS)) for _ in order]
    return doc(*(story(name, **deepcopy(each)) for name, each in zip(order, fields, strict=True)), **root,
               workflow=workflow)  # fmt: skip


@st.composite
def edits(draw: st.DrawFn, base: Document) -> Document:
    """What a person makes of a document: titles, priorities, stories that come, go and move; nothing of Ralphy's."""
    found = deepcopy(base["userStories"])
    for each in found:
        if draw(st.booleans()):
            each["title"] = draw(st.sampled_from("XYZ"))
    kept = [each for each in found if each["status"] == "completed" or draw(st.booleans())]
    new = [name for name in IDS if name not in ids(base) and draw(st.booleans())]
    return {**base, "userStories": draw(st.permutations([*kept, *(story(name) for name in new)]))}


THREE = st.tuples(documents(), documents(), documents())


@given(THREE)
@settings(max_examples=examples(60))
def test_no_edit_changes_what_ralphy_records_or_loses_a_story_and_a_second_merge_does_nothing(
    three: tuple[Document, ...],
) -> None:
    base, ralphy, person = three
    merged = merge(base, ralphy, person).document
    recorded = by_id(ralphy)
    for name, raw in by_id(merged).items():
        expected = recorded.get(name, {"passes": False, "status": "pending"})
        assert {key: raw.get(key) for key in RECORDED} == {key: expected.get(key) for key in RECORDED}
    assert merged["workflow"] == ralphy["workflow"]

    found = ids(merged)
    assert len(found) == len(set(found))
    assert {name for name, raw in recorded.items() if raw["status"] == "completed"} <= set(found)
    assert {name for name in ids(person) if name not in ids(base)} <= set(found)
    assert set(found) <= {*ids(ralphy), *ids(person)}

    assert by_id(merge(base, merged, person).document) == by_id(merged)


@given(documents().flatmap(lambda base: st.tuples(st.just(base), edits(base), documents())))
@settings(max_examples=examples(60))
def test_what_only_one_side_changed_is_taken_as_it_is_and_an_edit_finds_the_version_it_came_from(
    three: tuple[Document, Document, Document],
) -> None:
    base, person, other = three
    unedited = merge(base, other, deepcopy(base))
    assert json.dumps(unedited.document) == json.dumps(other)
    assert unedited.clashes == ()

    merged = merge(base, base, person)
    if person["userStories"] or not base["userStories"]:
        assert merged.document["userStories"] == person["userStories"]
        assert merged.clashes == ()
    else:
        assert merged.document == base

    found = began_with(person, [other, base])
    is_gone = not set(ids(base)) <= set(ids(person))
    came = set(ids(person)) - set(ids(base))
    if not is_gone and came.isdisjoint(ids(other)):  # else a story that the person added may be the other's
        assert found == 1 or began_with(base, [other, base]) == 0  # nothing tells them apart


def test_what_each_changed_is_taken_and_what_both_added_to_one_field_is_merged_by_name() -> None:
    base = doc(story(notes="n"), story("US-002"))
    ralphy = doc(done(notes="n", execution={"attempts": 1}), story("US-002"))
    person = doc(story(notes="mine", priority=4), story("US-002", title="Other"))
    merged = merge(base, ralphy, person)
    first = done(notes="mine", priority=4, execution={"attempts": 1})
    assert merged.document == doc(first, story("US-002", title="Other"))
    assert merged.clashes == ()

    ralphy, person = doc(story(testing={"test_files": ["t.py"]})), doc(story(testing={"removes": ["old.py"]}))
    merged = merge(doc(story()), ralphy, person)
    assert merged.document == doc(story(testing={"test_files": ["t.py"], "removes": ["old.py"]}))
    assert merged.clashes == ()


def test_a_field_that_both_changed_is_the_persons_but_for_a_status_and_named() -> None:
    merged = merge(doc(story(dependsOn=[])), doc(story(dependsOn=["US-2"])), doc(story(dependsOn=["US-3"])))
    assert merged.document == doc(story(dependsOn=["US-3"]))
    assert merged.clashes == ("US-001: dependsOn was changed by you and by Ralphy: keeping yours",)

    merged = merge(doc(story()), doc(story()), doc(done()))
    assert merged.document == doc(story())
    assert [*merged.clashes] == [
        "US-001: status is recorded by Ralphy: ignoring your change",
        "US-001: passes is recorded by Ralphy: ignoring your change",
    ]


def test_new_criteria_come_beside_those_that_ralphy_has_ticked() -> None:
    base = doc(story(acceptanceCriteria=[{"text": "a", "done": False}, "b"]))
    ralphy = doc(done(acceptanceCriteria=[{"text": "a", "done": True}, "b"]))
    person = doc(story(acceptanceCriteria=[{"text": "c", "done": True}, {"text": "a", "done": False}]))
    merged = merge(base, ralphy, person)
    criteria = merged.document["userStories"][0]["acceptanceCriteria"]
    assert criteria == [{"text": "c", "done": False}, {"text": "a", "done": True}]
    assert merged.clashes == ()


def test_a_story_that_ralphy_completed_meanwhile_stays() -> None:
    merged = merge(doc(story(), story("US-002")), doc(done(), story("US-002")), doc(story("US-002", title="Mine")))
    assert ids(merged.document) == ["US-001", "US-002"]
    assert merged.clashes == ("US-001: completed meanwhile, kept",)


def test_an_edit_of_a_story_that_is_split_meanwhile_keeps_the_pieces_and_what_it_waits_for() -> None:
    base = doc(story(notes="n"), story("US-002", dependsOn=["US-001"]))
    piece = story("US-001-1", context={"split_from": "US-001", "split": 1})
    ralphy = doc(story(notes="n", dependsOn=["US-001-1"]), base["userStories"][1], piece)
    person = doc(story(notes="mine"), base["userStories"][1])
    merged = merge(base, ralphy, person)
    assert merged.document == doc(story(notes="mine", dependsOn=["US-001-1"]), base["userStories"][1], piece)
    assert merged.clashes == ()


def test_new_stories_of_both_stand_behind_the_ones_they_followed() -> None:
    base = doc(story("US-001"), story("US-002"))
    ralphy = doc(story("US-001"), story("US-002"), story("FIX-1-1"))
    person = doc(story("US-001"), story("US-009"), story("US-002"))
    assert ids(merge(base, ralphy, person).document) == ["US-001", "US-009", "US-002", "FIX-1-1"]
    moved = doc(story("US-002"), story("US-001"))
    assert ids(merge(base, ralphy, moved).document) == ["US-002", "FIX-1-1", "US-001"]


def test_an_edit_saved_by_an_editor_that_was_open_adds_to_what_ralphy_added() -> None:
    old, new = doc(story(), story("US-002")), doc(done(), story("US-002"), story("FIX-1-1"))
    person = doc(story(), story("US-002", title="Mine"))
    assert began_with(person, [new, old]) == 1
    assert ids(merge(old, new, person).document) == ["US-001", "US-002", "FIX-1-1"]


def test_completed_stories_and_all_stories_are_asked_about_when_they_go() -> None:
    base = doc(done(), story("US-002"))
    assert stories_gone(base, base, doc(story("US-002"))) == ("US-001",)
    assert stories_gone(base, base, doc()) == ("US-001", "US-002")
    assert stories_gone(base, base, doc(done())) == ()
