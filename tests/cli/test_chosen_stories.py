"""--story and --max-attempts: a run for some stories alone, as a person calls it."""

from __future__ import annotations

import pytest

from ralphy.errors import ExitCode
from ralphy.pipeline.chosen import chosen, words_of
from ralphy.pipeline.model import Prd
from tests.cli.conftest import Make
from tests.engine.building import breaks, story, works

PRD = Prd.of({"userStories": [story(f"US-00{n}") for n in range(1, 7)] + [story("FIX-1-2"), story("US-1")]})


@pytest.mark.parametrize(
    ("said", "meant"),
    [(["US-001,us-004"], {"US-001", "US-004"}), (["US-003..US-005"], {"US-003", "US-004", "US-005"}),
     (["US-005..9", "FIX-1-2"], {"US-005", "US-006", "FIX-1-2"}), ([" "], {story.id for story in PRD.stories}),
     (["US-001..US-001"], {"US-001", "US-1"})],
)  # fmt: skip
def test_ids_lists_and_ranges_name_stories(said: list[str], meant: set[str]) -> None:
    assert chosen(PRD, words_of(said)) == (frozenset(meant), ())


def test_what_names_no_story_is_told() -> None:
    assert chosen(PRD, ("US-007", "US-007..US-009", "US-001..FIX-2", "US-002"))[1] == (
        "US-007", "US-007..US-009", "US-001..FIX-2")  # fmt: skip


def test_a_run_for_some_stories_does_these_and_ends(made: Make) -> None:
    project, call = made(story("US-001"), story("US-002", dependsOn=["US-001"]), story("US-003", priority=9),
                         story("US-004", priority=9))  # fmt: skip
    project.play(stories={"US-004": [breaks()], "*": [works()]})
    assert call("loop", "--story", "US-002")[0] == ExitCode.STORIES_OPEN
    code, out, err = call("loop", "login", "--story", "US-003")
    assert code == 0 and "completed: US-003" in err, out
    assert project.landed() == ["login/US-003"]
    assert call("start", "--story", "US-009")[0] == ExitCode.NOT_FOUND
    assert call("loop", "--story", "US-004", "--max-attempts", "1")[0] == ExitCode.STORIES_OPEN
    assert project.story("US-004")["execution"]["attempts"] == 1
    assert call("loop", "--story", "us-001..us-002")[0] == 0
    assert project.landed() == ["login/US-003", "login/US-001", "login/US-002"]
    assert not (project.folder / "QA_REPORT.md").exists()
