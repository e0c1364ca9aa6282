"""Statistics: what counts as tried, landed and forecast, over several nights."""

from __future__ import annotations

from typing import Any

from ralphy.pipeline.nights import past_of
from ralphy.pipeline.statistics import ModelFigures, NightFigures, statistics_of
from tests.core.building import a_run, an_end

NIGHT = 86400.0


def runs() -> list[dict[str, Any]]:
    """US-001 lands at once; US-002 at its second attempt, in the next night; US-003 is refused, US-004 only cut off."""
    return [
        a_run("US-001", "a", at=10.0, model="sonnet"),
        an_end("succeeded", "a", at=70.0, landed=True, seconds=60.0, cost=1.0, story_seconds=60.0, story_cost=1.0),
        a_run("US-002", "b", at=80.0, model="sonnet"), an_end("rejected", "b", at=90.0, seconds=10.0, cost=0.5),
        a_run("US-002", "c", at=NIGHT, model="opus"),
        an_end("succeeded", "c", at=NIGHT + 90, landed=True, seconds=90.0, cost=2.0, story_seconds=100.0,
               story_cost=2.5),
        a_run("US-003", "d", at=NIGHT + 100, model="sonnet"), an_end("rejected", "d", at=NIGHT + 110, seconds=10.0),
        a_run("US-004", "e", at=NIGHT + 120, model="sonnet"), an_end("stopped", "e", at=NIGHT + 130, seconds=10.0),
        a_run(None, "f", at=NIGHT + 140, step="qa", model="sonnet"),
        an_end("succeeded", "f", at=NIGHT + 150, cost=0.25),
    ]  # fmt: skip


def test_stories_count_by_how_they_ended_and_runs_by_night_step_and_model() -> None:
    found = statistics_of(past_of(runs()))
    assert (found.landed, found.tried, found.success_rate) == (2, 3, 2 / 3)
    assert (found.first_attempt, found.attempts, found.seconds, found.cost_usd) == (1, 3, 160.0, 3.5)
    assert (found.forecast, found.outcome) == ((1, 60.0, 1.0), (1, 100.0, 2.5)), "what landed first forecasts the next"
    assert found.nights == (NightFigures(10.0, 90.0, 2, 1, 2, 1.5), NightFigures(NIGHT, NIGHT + 150, 4, 1, 2, 2.25))
    assert found.groups == (
        ModelFigures("qa", "sonnet", 1, 1, 0, 0.0, 0.25),
        ModelFigures("story", "opus", 1, 1, 0, 90.0, 2.0),
        ModelFigures("story", "sonnet", 4, 1, 2, 90.0, 1.5),
    )


def test_a_story_that_was_taken_up_again_is_tried_again() -> None:
    again = [a_run("US-001", "z", at=NIGHT + 200), an_end("rejected", "z", at=NIGHT + 210)]
    found = statistics_of(past_of([*runs(), *again]))
    assert (found.landed, found.tried) == (2, 4)
    in_one_night = statistics_of(
        past_of([*runs()[:2], a_run("US-001", "z", at=80.0), an_end("succeeded", "z", at=90.0, landed=True)])
    )
    assert (in_one_night.landed, in_one_night.nights[0].landed, in_one_night.nights[0].tried) == (2, 2, 2)
    assert statistics_of(past_of([])).success_rate is None
