"""The provider's usage windows: read from the stream, kept in the journal, forgotten at their reset."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from hypothesis import given

from ralphy.agents.claude.stream import Transcript
from ralphy.agents.usage_windows import Window, noted_windows, read_windows
from tests.core.test_stream import VALUES

FIVE = {"utilization": 0.92, "resetsAt": 2000, "surpassedThreshold": 0.9}
SEVEN = {"utilization": 0.4, "resetsAt": 9000}


def told(**info: Any) -> dict[str, Any]:
    return {"type": "rate_limit_event", "rate_limit_info": info}


def test_all_windows_are_read_and_each_ends_with_its_reset() -> None:
    windows = read_windows({"unifiedWindows": {"five_hour": FIVE, "seven_day": SEVEN}})
    assert windows == (Window("five_hour", 0.92, 2000.0, True), Window("seven_day", 0.4, 9000.0))
    limit = {"status": "allowed_warning", "windows": [asdict(window) for window in windows]}
    assert tuple(noted_windows(limit, 1999.0)) == windows
    assert [window.kind for window in noted_windows(limit, 2000.0)] == ["seven_day"]
    assert list(noted_windows(limit, 9000.0)) == []


def test_a_window_is_worth_a_warning_when_the_provider_warns_or_most_of_it_is_used() -> None:
    """A line of an older version names one window."""
    for window, is_worth in (
        (Window("a", 0.2, None), False), (Window("a", 0.75, None), True), (Window("a", 0.2, None, True), True),
        (Window("a", None, None), False), (Window("a", None, None, True), True),
    ):  # fmt: skip
        assert window.is_worth_a_warning is is_worth
    limit = {"status": "allowed_warning", "kind": "five_hour", "utilization": 0.96, "resets_at": 2000.0}
    assert list(noted_windows(limit, 1000.0)) == [Window("five_hour", 0.96, 2000.0, True)]
    assert list(noted_windows({**limit, "status": "allowed"}, 1000.0)) == []


def test_an_event_without_a_list_has_news_of_its_own_window_alone() -> None:
    transcript = Transcript()
    transcript.feed(told(status="allowed_warning", unifiedWindows={"five_hour": FIVE, "seven_day": SEVEN}), 0.0)
    transcript.feed(told(status="allowed", rateLimitType="five_hour"), 0.0)
    assert transcript.limit
    assert [window.kind for window in transcript.limit.windows] == ["seven_day"]


@given(VALUES, VALUES)
def test_no_value_of_any_kind_raises(windows: Any, row: Any) -> None:
    read_windows({"unifiedWindows": windows})
    read_windows({"unifiedWindows": {"five_hour": row}})
    for found in noted_windows({"status": "allowed_warning", "windows": [row], "kind": windows}, 0.0):
        assert isinstance(found.is_worth_a_warning, bool)
