"""--story and --max-attempts: a run for some stories alone, as a person calls it."""

from __future__ import annotations

from ralphy.errors import ExitCode
from ralphy.pipeline.chosen import chosen, words_of
from ralphy.pipeline.model import Prd
from tests.cli.conftest import Make
from tests.engine.building import breaks, story, works

PRD = Prd.of({"userStories": [story(f"US-00{n}") for n in range(1, 7)] + [story("FIX-1-2"), story("US-1")]})


MEANT: list[tuple[list[str], set[str]]] = [
    (["US-001,us-004"], {"US-001", "US-004"}),
    (["US-003..US-005"], {"US-003", "US-004", "US-005"}),
    (["US-005..9", "FIX-1-2"], {"US-005", "US-006", "FIX-1-2"}),
    ([" "], {story.id for story in PRD.stories}),
    (["US-001..US-001"], {"US-001", "US-1"}),
]


def test_ids_lists_and_ranges_name_stories_and_the_pieces_of_a_split_come_along() -> None:
    for said, meant in MEANT:
        assert chosen(PRD, words_of(said)) == (frozenset(meant), ())
    assert chosen(PRD, ("US-007", "US-007..US-009", "US-001..FIX-2", "US-002"))[1] == (
        "US-007", "US-007..US-009", "US-001..FIX-2")  # fmt: skip
    split = Prd.of({"userStories": [story("US-001", dependsOn=["US-001-1"]), story("US-002"),
                                    story("US-001-1", context={"split_from": "US-001", "split": 1})]})  # fmt: skip
    assert chosen(split, ("US-001",)) == (frozenset({"US-001", "US-001-1"}), ())
    assert chosen(split, ("US-001-1",)) == (frozenset({"US-001-1"}), ())


def test_a_run_for_a_story_that_is_split_does_its_pieces_and_ends(made: Make) -> None:
    project, call = made(story("US-001"), story("US-002"), limits={"max_attempts": 1, "max_splits": 1})
    piece = {"id": "A", "title": "Piece A", "acceptanceCriteria": ["it is there"]}
    project.play(stories={"US-001": [breaks(), works()], "*": [works()]},
                 split=[{"outbox": {"stories.json": {"userStories": [piece]}}}])  # fmt: skip
    code, _, err = call("loop", "--story", "US-001")
    assert (code, project.landed()) == (0, ["login/US-001-1", "login/US-001"]), err
    assert "completed: US-001, US-001-1" in err


def test_the_dry_run_says_what_is_not_selected(made: Make) -> None:
    _, call = made(story("US-001"), story("US-002"), story("US-003", dependsOn=["US-002"]), story("US-004"))
    code, value = call.json("loop", "--dry-run", "--story", "US-001,US-003")
    assert code == 0
    assert {one["id"]: (one["wave"], one["why_not"]) for one in value["stories"]} == {
        "US-001": (1, ""), "US-002": (0, "not selected"), "US-003": (0, "blocked by US-002"),
        "US-004": (0, "not selected"),
    }  # fmt: skip
    assert "US-004 Story US-004 (not selected)" in call("start", "--dry-run", "--story", "US-001")[1]


def test_a_run_for_some_stories_does_these_and_ends(made: Make) -> None:
    project, call = made(story("US-001"), story("US-002", dependsOn=["US-001"]), story("US-003", priority=9),
                         story("US-004", priority=9))  # fmt: skip
    project.play(stories={"US-004": [breaks()], "*": [works()]})
    assert call("loop", "--story", "US-002")[0] == ExitCode.STORIES_OPEN
    code, out, err = call("loop", "login", "--story", "US-003")
    assert code == 0 and "completed: US-003" in err, out
    assert project.landed() == ["login/US-003"]
    code, _, err = call("start", "--story", "US-009")
    assert (code, err.splitlines()) == (
        ExitCode.NOT_FOUND, ["ralphy: login has no story 'US-009'", "  hint: ralphy story list login"]
    )  # fmt: skip
    assert call("loop", "--story", "US-004", "--max-attempts", "1")[0] == ExitCode.STORIES_OPEN
    assert project.story("US-004")["execution"]["attempts"] == 1
    assert call("loop", "--story", "us-001..us-002")[0] == 0
    assert project.landed() == ["login/US-003", "login/US-001", "login/US-002"]
    assert not (project.folder / "QA_REPORT.md").exists()
