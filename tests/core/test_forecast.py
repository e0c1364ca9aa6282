"""The forecast: medians of what landed, the feature's own if there are any, else the project's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.config.values import Config, Limits
from ralphy.errors import ExitCode
from ralphy.pipeline import decision as d
from ralphy.pipeline.decide import decide
from ralphy.pipeline.forecast import Forecast, expected, forecast, what_is_left
from ralphy.text.durations import span
from tests.core.building import FEATURE, done, snapshot, story


def landed(seconds: float, cost: float, feature: str = FEATURE) -> dict[str, Any]:
    return {"ev": "end", "feature": feature, "landed": True, "story_seconds": seconds, "story_cost": cost}


TWO_LEFT = (done(), story("US-002"), story("US-003"), story("US-004", status="failed"))


def test_the_medians_of_what_landed_are_what_is_to_come_those_of_the_feature_before_others() -> None:
    seen = snapshot(*TWO_LEFT)
    assert forecast(seen) is None
    assert what_is_left(seen) == "2 of 4 stories are left (US-002, US-003)"

    asked_for = snapshot(*TWO_LEFT, session={"only": ("US-002",)})
    assert what_is_left(asked_for) == "1 of 1 story is left (US-002)"

    lines = [landed(60.0, 0.5), landed(600.0, 0.1), landed(120.0, 0.4)]
    seen = snapshot(*TWO_LEFT, lines=lines)
    assert forecast(seen) == Forecast(2, 240.0, 0.8)
    assert what_is_left(seen).endswith("left (US-002, US-003), about 4 min and $0.80 at the current rate")

    lines = [landed(1000.0, 9.0, "other")]
    assert forecast(snapshot(*TWO_LEFT, lines=lines)) == Forecast(2, 2000.0, 18.0)
    assert forecast(snapshot(*TWO_LEFT, lines=[*lines, landed(10.0, 1.0)])) == Forecast(2, 20.0, 2.0)

    assert forecast(snapshot(done(), lines=[landed(1.0, 1.0)])) is None


def test_rehearsed_stories_count_where_no_other_has_landed_and_say_so() -> None:
    rehearsed = {**landed(5.0, 7.0), "rehearsed": True}
    seen = snapshot(*TWO_LEFT, lines=[rehearsed])
    assert what_is_left(seen).endswith("about 10 s and $14.00 at the current rate (REHEARSAL)")
    assert expected(seen, 2, 2).words.endswith("(from 1 story that landed in this repository) (REHEARSAL)")

    paid = snapshot(*TWO_LEFT, lines=[rehearsed, landed(60.0, 0.5, "other")])
    assert forecast(paid) == Forecast(2, 120.0, 1.0)
    assert "REHEARSAL" not in expected(paid, 2, 2).words


@pytest.mark.parametrize(
    ("limits", "session"),
    [
        (Limits(max_iterations=1), {"runs": 1}),
        (Limits(max_cost_usd=1.0), {"cost_usd": 1.5}),
        (Limits(until="07:00"), {"until": 5.0}),
        (Limits(), {"active_s": {"story": 99999.0}}),
    ],
)
def test_a_budget_that_is_reached_says_what_is_left(limits: Limits, session: dict[str, Any]) -> None:
    many = [done(), *[story(f"US-10{n}", priority=n) for n in range(5)]]
    seen = snapshot(*many, lines=[landed(480.0, 0.24)], session=session)
    halt = decide(seen, Config(limits=limits))
    assert isinstance(halt, d.Halt) and halt.exit_code == ExitCode.BUDGET
    assert ": 5 of 6 stories are left (US-100, US-101, US-102, …), about 40 min and $1.20 at the current rate; " in (
        halt.reason
    )


@given(st.lists(st.tuples(st.floats(0, 1e6), st.floats(0, 1e3)), min_size=1, max_size=9))
def test_a_forecast_lies_between_the_least_and_the_most(paces: list[tuple[float, float]]) -> None:
    found = forecast(snapshot(story(), lines=[landed(*pace) for pace in paces]))
    assert found
    assert min(s for s, _ in paces) <= found.seconds <= max(s for s, _ in paces)
    assert min(c for _, c in paces) <= found.cost_usd <= max(c for _, c in paces)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-5, "0 s"), (0.4, "0 s"), (59.6, "1 min"), (61, "1 min 1 s"), (3600, "1 h"), (3605, "1 h"), (7500, "2 h 5 min"),
     (2_592_000, "30 d"), (100_000, "1 d 3 h")],
)  # fmt: skip
def test_spans_are_said_in_two_units_at_the_most(seconds: float, words: str) -> None:
    assert span(seconds) == words
