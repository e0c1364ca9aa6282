"""Which stories are begun while agents work: ready ones that are likely to touch other files; budgets count all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ralphy.config.values import Config, Lanes, Limits
from ralphy.pipeline import decision as d
from ralphy.pipeline.decide import decide
from ralphy.pipeline.model import InWork
from ralphy.pipeline.preconditions import share_of_budget
from ralphy.pipeline.stories import likely_paths
from tests.core.building import done, one, snapshot, story

THREE = (story("US-001"), story("US-002", dependsOn=["US-001"]), story("US-003", priority=2))


def config(jobs: int = 3, **limits: Any) -> Config:
    return replace(Config(), lanes=Lanes(jobs=jobs), limits=Limits(**limits))


def working(*stories: str, usd: float = 0.0, **session: Any) -> dict[str, Any]:
    return {"in_work": tuple(InWork(f"r{n}", name, usd) for n, name in enumerate(stories)), **session}


def test_the_next_ready_story_is_begun_beside_those_in_work_while_a_lane_is_free() -> None:
    found = decide(snapshot(*THREE, session=working("US-001")), config())
    assert isinstance(found, d.RunAgent) and found.story == "US-003"
    for names, jobs in ((["US-001"], 1), (["US-001", "US-003"], 2), (["US-001", "US-003"], 9)):
        assert isinstance(decide(snapshot(*THREE, session=working(*names)), config(jobs)), d.Await)
    found = decide(snapshot(done("US-001"), story("US-002"), session=working("US-002")), config())
    assert isinstance(found, d.Await)  # all is completed only when nobody works any more
    found = decide(snapshot(*THREE, session=working("US-001", runs=1)), config(max_iterations=2))
    assert isinstance(found, d.Halt) and "max_iterations" in found.reason  # runs that go on count as begun


def test_an_agent_that_has_ended_frees_its_place_and_not_its_story() -> None:
    over = (InWork("r0", "US-001", is_over=True), InWork("r1", "US-003"))
    four = (*THREE, story("US-004", priority=3))
    found = decide(snapshot(*four, session={"in_work": over}), config(2))
    assert isinstance(found, d.RunAgent) and found.story == "US-004"
    assert isinstance(decide(snapshot(*THREE, session={"in_work": over}), config(2)), d.Await)


def test_a_story_that_shares_a_file_with_one_in_work_waits() -> None:
    paths = {"US-001": frozenset({"src/a.py"}), "US-003": frozenset({"src/a.py", "src/b.py"})}
    free = story("US-004", priority=3)
    assert isinstance(decide(snapshot(*THREE, session=working("US-001"), paths=paths), config()), d.Await)
    found = decide(snapshot(*THREE, free, session=working("US-001"), paths=paths), config())
    assert isinstance(found, d.RunAgent) and found.story == "US-004"


def test_a_story_that_is_to_be_split_waits_until_nobody_works() -> None:
    worn = story("US-003", priority=0, execution={"attempts": 5})
    stories = (story("US-001"), worn, story("US-002"))
    found = decide(snapshot(*stories, session=working("US-001")), config())
    assert isinstance(found, d.RunAgent) and (found.story, found.step) == ("US-002", "story")
    assert isinstance(decide(snapshot(*stories, session=working("US-001", "US-002")), config()), d.Await)


def test_dollars_that_are_promised_are_not_promised_again() -> None:
    limits = config(max_cost_usd=4.0)
    assert share_of_budget(snapshot(*THREE, session={}), limits) == 2.0  # two are ready
    assert share_of_budget(snapshot(*THREE, session=working("US-001", usd=3.0)), limits) == 1.0
    found = decide(snapshot(*THREE, session=working("US-001", usd=4.0)), limits)
    assert isinstance(found, d.Halt) and "budget" in found.reason


@pytest.mark.parametrize(
    ("fields", "section", "expected"),
    [
        ({"files": ["src/a.py"], "description": "see src/b.py"}, "and src/c.py", {"src/a.py"}),
        ({"description": "change src/app/main.py, and `setup.cfg`."}, "", {"src/app/main.py", "setup.cfg"}),
        ({"acceptanceCriteria": [{"description": "web/a-b.test.ts passes"}]}, "", {"web/a-b.test.ts"}),
        ({"tasks": ["write tests/test_x.py"]}, "in lib/x.rb", {"tests/test_x.py", "lib/x.rb"}),
        ({"description": "e.g. 1.5 times, https://example.org/a/b.html or v1.2"}, "", set()),
    ],
)
def test_the_files_of_a_story_are_declared_or_named(fields: dict[str, Any], section: str, expected: set[str]) -> None:
    assert likely_paths(one(**fields), section) == expected
    assert likely_paths(one(**fields), section, ["src/z.py"]) == expected | {"src/z.py"}
