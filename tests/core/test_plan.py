"""The whole plan: the order that decide would take, side by side what may be, and no number out of the air."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ralphy.config.values import AcceptanceSettings, Config, Gates, Lanes, Models
from ralphy.pipeline.forecast import expected
from ralphy.pipeline.model import Prd, Status
from ralphy.pipeline.plan import plan_of, waves_of
from ralphy.pipeline.stories import next_ready, startable
from tests.core.building import approval, artifacts, attempts, done, prd, snapshot, story
from tests.core.test_forecast import landed


def waves(*stories: dict[str, Any], jobs: int = 1, **fields: Any) -> list[list[str]]:
    return [[one.id for one in wave] for wave in waves_of(snapshot(*stories, **fields), jobs)]


def test_stories_come_by_priority_as_soon_as_what_they_need_is_done() -> None:
    stories = [story("US-001", priority=3), story("US-002", dependsOn=["US-003"]), story("US-003", priority=2)]
    found = waves(*stories, done("US-000"))
    assert found == [["US-003"], ["US-002"], ["US-001"]]


def test_side_by_side_are_stories_that_share_no_file() -> None:
    stories = [story("US-001", files=["a.py"]), story("US-002", files=["a.py"]), story("US-003", files=["b.py"])]
    assert waves(*stories, jobs=2) == [["US-001", "US-003"], ["US-002"]]
    assert waves(*stories, jobs=2, paths={"US-003": frozenset({"a.py"})}) == [["US-001"], ["US-002"], ["US-003"]]


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 3), st.booleans(), st.integers(0, 9)), max_size=8))
def test_one_at_a_time_the_order_is_that_of_decide(drawn: list[tuple[int, bool, int]]) -> None:
    ids = [f"US-{n:03}" for n in range(len(drawn))]
    plan = prd(*(story(ids[n], priority=priority, dependsOn=[ids[to % n]] if needs and n else [])
                 for n, (priority, needs, to) in enumerate(drawn)))  # fmt: skip
    order, now = [], plan
    while ready := next_ready(now):
        assert ready == startable(now, frozenset(), {})[0]
        order.append([ready.id])
        now = now.with_story(ready.id, status=Status.COMPLETED.value, passes=True)
    assert waves(prd=plan) == order
    assert Prd.of(plan.raw) == plan


def test_what_is_not_reached_says_why() -> None:
    seen = snapshot(story("US-001", status="failed"), story("US-002", dependsOn=["US-001"]),
                    story("US-003", status="blocked"), story("US-004"))  # fmt: skip
    found = {one.story.id: (one.wave, one.why_not) for one in plan_of(seen, Config()).stories}
    assert found == {
        "US-004": (1, ""), "US-001": (0, "failed: ralphy reset login"), "US-002": (0, "blocked by US-001"),
        "US-003": (0, "waits for an answer in QUESTIONS.md"),
    }  # fmt: skip


def test_models_climb_with_the_attempts_and_a_storys_own_comes_first() -> None:
    config = Config(models=Models(implementation=("haiku", "opus")))
    seen = snapshot(story("US-001"), story("US-002", model="sonnet"), lines=attempts("rejected"))
    found = {one.story.id: (one.attempt, one.model) for one in plan_of(seen, config).stories}
    assert found == {"US-001": (2, "opus"), "US-002": (1, "sonnet")}


def test_the_steps_are_those_that_the_feature_has_with_their_gates() -> None:
    seen = snapshot(story(), workflow={"approvals": [approval()]})
    config = Config(gates=Gates(qa="auto"))
    assert [(s.name, s.gate, s.is_made, s.is_approved) for s in plan_of(seen, config).steps] == [
        ("spec", "human", True, True), ("story", "", False, False), ("qa", "auto", False, False),
        ("pr", "", False, False),
    ]  # fmt: skip
    sealed = Config(acceptance=AcceptanceSettings(tests="sealed"))
    assert "acceptance" in [step.name for step in plan_of(seen, sealed).steps]
    own = snapshot(story(), artifacts={}, workflow={})
    assert [step.name for step in plan_of(own, config).steps] == ["story", "qa", "pr"]


def test_what_is_expected_is_the_range_of_what_landed_or_a_rough_guess() -> None:
    stories = [story(f"US-00{n}", priority=n) for n in range(1, 4)]
    rough = plan_of(snapshot(*stories), Config()).expected
    assert rough and rough.words == (
        "3 stories: 15 min to 1 h 15 min of work, $0.90 to $9.00 "
        "(a rough guess: no story has landed in this repository yet)"
    )
    lines = [landed(seconds, cost, "other") for seconds, cost in ((60.0, 0.1), (120.0, 0.2), (600.0, 0.9))]
    found = plan_of(snapshot(*stories, lines=lines), Config()).expected
    assert found and found.seconds == (180.0, 1800.0)
    assert found.words.startswith("3 stories: 3 min to 30 min of work, $0.30 to $2.70 (from 3 stories that landed")
    beside = plan_of(snapshot(*stories, lines=lines), Config(lanes=Lanes(jobs=3))).expected
    assert beside and (beside.seconds, beside.cost_usd) == ((60.0, 600.0), found.cost_usd)
    many = [landed(float(n), 0.0) for n in range(1, 9)]
    four = expected(snapshot(*stories, lines=many), 1, 1)
    assert four.seconds == (3.0, 6.0)  # the extremes of many are left out


def test_before_there_are_stories_each_is_expected_to_take_as_long_as_others() -> None:
    seen = snapshot(prd=prd(workflow={}), artifacts=artifacts("PRD.md"), lines=[landed(60.0, 0.5)])
    plan = plan_of(seen, Config())
    assert plan.expected
    assert plan.expected.words.startswith("each story: 1 min of work, $0.50 (from 1 story that landed")
    assert plan.stories == []
