"""Limits and clocks: a limit costs nothing however it is told, a wait is neither lost nor endless, files speak UTC."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from ralphy.cli.main import main
from ralphy.cli.run.drivers import clock_time
from ralphy.errors import ExitCode
from ralphy.pipeline import decision as d
from ralphy.pipeline.events import Decided, Event
from ralphy.pipeline.model import Session
from tests.engine.building import Project, assert_clean, build, open_feature, story, works
from tests.sampling import sampled

NOON = 1_900_000_000.0
HOUR = 3600.0


def limited(tmp_path: Path, *acts: dict[str, Any], **settings: Any) -> Project:
    """A project of one story whose runs play these acts, the last one again and again."""
    project = build(tmp_path, story("US-001"), **settings)
    project.play(stories={"US-001": list(acts)})
    return project


@pytest.mark.fault("N1")
@pytest.mark.parametrize("resets_at", [pytest.param(int(NOON) - 60, marks=pytest.mark.soak), 0], ids=["past", "absent"])
def test_a_reset_that_gives_no_time_to_wait_for_backs_off_longer_each_time(tmp_path: Path, resets_at: int) -> None:
    project = limited(tmp_path, {"limit": {"resets_at": resets_at}})
    now, waits = NOON, []
    for _ in range(4):
        ended = project.loop(clock=lambda: now, waits=False)  # noqa: B023  # called before it changes
        assert isinstance(ended.rest, d.Wait) and ended.rest.until
        waits.append(ended.rest.until - now)
        now = ended.rest.until

    for wait, planned in zip(waits, (300, 600, 1200, 1200), strict=True):
        assert 0.9 * planned <= wait <= 1.1 * planned
    assert project.outcomes() == [("US-001", "limited")] * 4
    assert not project.story("US-001").get("execution", {}).get("attempts")


@pytest.mark.fault("N1")
def test_a_reset_that_passes_in_vain_is_backed_off_from_after_it(tmp_path: Path) -> None:
    reset = int(NOON + 2 * HOUR)
    project = limited(tmp_path, {"limit": {"resets_at": reset}})

    first = project.loop(clock=lambda: NOON, waits=False).rest
    second = project.loop(clock=lambda: reset + 2.0, waits=False).rest

    assert isinstance(first, d.Wait) and first.until == reset + 2.0
    assert isinstance(second, d.Wait) and second.until
    assert 270 <= second.until - (reset + 2.0) <= 330


@pytest.mark.fault("N1")
def test_a_reset_that_comes_before_the_run_has_ended_is_not_waited_for(tmp_path: Path) -> None:
    project = limited(tmp_path, {"limit": {"resets_at": int(NOON) + 5}}, works())

    project.loop(clock=lambda: NOON + (10.0 if project.journal("run") else 0.0), waits=False, agents=2)

    assert project.outcomes() == [("US-001", "limited"), ("US-001", "succeeded")]


@pytest.mark.fault("N1")
def test_a_reset_that_is_put_off_again_and_again_is_not_run_after(tmp_path: Path) -> None:
    project = limited(tmp_path, works())
    now, waits = NOON, []
    for _ in range(5):
        project.play(stories={"US-001": [{"limit": {"resets_at": int(now) + 1}}]})
        ended = project.loop(clock=lambda: now, waits=False)  # noqa: B023  # called before it changes
        assert isinstance(ended.rest, d.Wait) and ended.rest.until
        waits.append(ended.rest.until - now)
        now = float(round(ended.rest.until))

    assert waits == [3, 5, 15, 30, 60]
    project.play(stories={"US-001": [works()]})
    project.loop(clock=lambda: now, waits=False)
    assert project.landed() == ["login/US-001"]


@pytest.mark.fault("N1")
def test_a_reset_after_the_time_to_end_is_not_waited_for(tmp_path: Path) -> None:
    project = limited(tmp_path, {"limit": {"resets_at": int(NOON + 2 * HOUR)}}, works(), limits={"until": "07:00"})

    ended = project.loop(clock=lambda: NOON, until=NOON + 2 * HOUR + 2)

    assert (ended.code, ended.runs) == (ExitCode.BUDGET, ["US-001"])
    assert "only after the end time (07:00)" in ended.rest.reason
    assert project.loop(clock=lambda: NOON + 2 * HOUR + 3, waits=False).runs[0] == "US-001"
    assert project.trailer("Ralphy-Attempt", project.commit_of("US-001")) == "1"


@pytest.mark.fault("N1")
def test_a_reset_in_thirty_days_ends_the_loop_and_says_so(tmp_path: Path) -> None:
    project = limited(tmp_path, {"limit": {"resets_at": int(NOON + 30 * 86400), "kind": "seven_day"}}, works())

    ended = project.loop(clock=lambda: NOON)

    assert (ended.code, ended.runs) == (ExitCode.LIMITED, ["US-001"])
    assert "30 d" in ended.rest.reason and "max_wait_s" in ended.rest.reason
    assert project.loop(clock=lambda: NOON + HOUR).runs == []  # also after a restart
    assert project.loop(clock=lambda: NOON + 30 * 86400 + 3).runs[0] == "US-001"
    assert project.landed() == ["login/US-001"]


WARNING = {"utilization": 0.96, "resets_at": int(NOON + HOUR)}


def test_an_early_warning_holds_the_next_story_back_until_the_reset_and_one_that_need_not_is_said(
    tmp_path: Path,
) -> None:
    project = build(tmp_path, *(story(f"US-00{number}") for number in range(1, 5)))
    far_away = {**WARNING, "resets_at": int(NOON + 4 * 86400), "kind": "seven_day"}
    warnings = ({**WARNING, "utilization": 0.92}, far_away, WARNING)
    acts = {f"US-00{number}": [works(warning=warning)] for number, warning in enumerate(warnings, start=1)}
    project.play(stories={**acts, "*": [works()]})

    first = project.loop(clock=lambda: NOON, waits=False)

    assert (first.code, first.runs) == (ExitCode.LIMITED, ["US-001", "US-002", "US-003"])
    assert "92% of the usage limit (five_hour)" in first.text and "96% of the usage limit (seven_day)" in first.text
    assert project.landed() == ["login/US-001", "login/US-002", "login/US-003"]
    assert isinstance(first.rest, d.Wait) and first.rest.until == NOON + HOUR + 2
    assert "96%" in first.rest.reason and "five_hour" in first.rest.reason
    assert project.journal("end")[-1]["limit"] == {"status": "allowed_warning", "kind": "five_hour",
                                                   "utilization": 0.96, "resets_at": NOON + HOUR}  # fmt: skip
    assert project.loop(clock=lambda: NOON + 60, waits=False).runs == []
    assert project.loop(clock=lambda: NOON + HOUR + 3, waits=False).runs[0] == "US-004"


@pytest.mark.fault("N1")
def test_each_usage_window_is_warned_of_waited_for_and_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The provider warns of one window; the other one is nearer to its end."""
    project = build(tmp_path, story("US-001"), story("US-002", priority=2))
    reset = int(time.time() + HOUR)
    warning = {"utilization": 0.8, "resets_at": reset, "windows": {"five_hour": 0.8, "seven_day": 0.97}}
    project.play(stories={"US-001": [works(warning=warning)], "*": [works()]})

    first = project.loop(waits=False)

    assert (first.code, first.runs) == (ExitCode.LIMITED, ["US-001"])
    assert "80% of the usage limit (five_hour) is used up; it is reset in" in first.text
    assert "97% of the usage limit (seven_day) is used up; it is reset in" in first.text
    assert isinstance(first.rest, d.Wait) and first.rest.until == reset + 2
    assert "(seven_day)" in first.rest.reason
    for words in (["--json"], []):
        assert main(["status", "login", "-C", str(project.repo), *words]) == 0
    shown, text = capsys.readouterr().out.split("\n", 1)
    windows = json.loads(shown)["usage_windows"]
    assert [(row["kind"], row["used"]) for row in windows] == [("five_hour", 0.8), ("seven_day", 0.97)]
    assert "  usage:   80% of five_hour until " in text and "97% of seven_day until " in text


class Clocks:
    """A wall clock that jumps at the first look in a wait, and a steady one that goes on with each such look."""

    def __init__(self, jump_s: float, step_s: float) -> None:
        self.wall, self.steady_at, self.jump_s, self.step_s, self.has_jumped = NOON, 50.0, jump_s, step_s, False
        self.is_waiting = False

    def hear(self, event: Event) -> None:
        if isinstance(event, Decided):
            self.is_waiting = event.decision == "Wait"

    def clock(self) -> float:
        return self.wall

    def steady(self) -> float:
        if not self.is_waiting:
            return self.steady_at
        if not self.has_jumped:
            self.has_jumped, self.wall = True, self.wall + self.jump_s
        self.steady_at += self.step_s
        self.wall += self.step_s
        return self.steady_at


def through(project: Project, clocks: Clocks) -> list[Decided]:
    """The decisions of a loop under these clocks."""
    from ralphy.engine.reactor import Patience, run_feature

    events: list[Event] = []

    def hear(event: Event) -> None:
        events.append(event)
        clocks.hear(event)

    with open_feature(project.repo, project.path, project.env) as w:
        w.session, w.clock, w.steady, w.listener = Session(), clocks.clock, clocks.steady, hear
        run_feature(w, Patience(gates=False))
    return [event for event in events if isinstance(event, Decided)]


@pytest.mark.fault("C1")
@pytest.mark.parametrize(("jump_s", "most_looks"), sampled([(-8 * HOUR, 10), (8 * HOUR, 2)], (-8 * HOUR, 10)))
def test_a_clock_that_jumps_while_a_limit_is_waited_for_loses_no_wait(
    tmp_path: Path, jump_s: float, most_looks: int
) -> None:
    project = limited(tmp_path, {"limit": {"resets_at": int(NOON + HOUR)}}, works())
    clocks = Clocks(jump_s, step_s=1000.0)

    decisions = through(project, clocks)

    assert project.outcomes()[:2] == [("US-001", "limited"), ("US-001", "succeeded")]
    waited = (clocks.steady_at - 50.0) / clocks.step_s
    assert waited <= most_looks
    assert sum(found.decision == "RunAgent" for found in decisions) == 3  # and the review: no probe too many
    assert_clean(project)


@pytest.mark.fault("C1")
def test_a_clock_that_was_set_back_before_a_restart_lengthens_no_wait_beyond_its_length(tmp_path: Path) -> None:
    project = limited(tmp_path, {"limit": {"resets_at": int(NOON + HOUR)}}, works())
    project.loop(clock=lambda: NOON, waits=False)
    clocks = Clocks(0.0, step_s=1000.0)
    clocks.wall = NOON - 8 * HOUR

    through(project, clocks)

    assert project.outcomes()[:2] == [("US-001", "limited"), ("US-001", "succeeded")]
    assert clocks.steady_at - 50.0 <= HOUR + 3000.0


@pytest.mark.fault("C3")
@pytest.mark.parametrize(
    "year_start", [2_147_483_648.0, pytest.param(3_850_000_000.0, marks=pytest.mark.soak)], ids=["2038", "2092"]
)
def test_the_year_2038_and_later_ones_are_years_like_others_and_files_speak_utc_whatever_the_time_zone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, year_start: float
) -> None:
    project = limited(tmp_path, {"limit": {"resets_at": int(year_start) + 3600}}, works())
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Kathmandu")
        time.tzset()
        first = project.loop(clock=lambda: year_start, waits=False)
        project.loop(clock=lambda: year_start + 3603, waits=False)
    time.tzset()

    assert isinstance(first.rest, d.Wait) and first.rest.until == year_start + 3602
    assert project.landed() == ["login/US-001"]
    landed = time.gmtime(year_start + 3603)
    assert project.story("US-001")["execution"]["completed_at"] == time.strftime("%Y-%m-%dT%H:%M:%SZ", landed)
    assert time.strftime("%Y-%m-%dT%H:%M:%SZ", landed) in project.read("progress.txt")
    assert project.journal("run")[1]["run"].startswith(time.strftime("%Y%m%dT%H%M%S", landed))
    commit = project.git("log", "-1", "--format=%ad", "--date=raw", project.branch)
    assert commit == f"{int(year_start) + 3603} +0000"
    assert_clean(project)


@pytest.mark.fault("C3")
@pytest.mark.parametrize(
    ("now", "wanted", "hours"),
    [
        ("2026-03-28T22:40:00Z", "07:00", 6 + 20 / 60),  # 23:40 in Paris; the night has 23 hours
        ("2026-10-24T21:40:00Z", "07:00", 8 + 20 / 60),  # 23:40; it has 25 hours
        ("2026-06-01T05:00:00Z", "07:00", 24.0),  # it is 07:00 now: the next one is meant
    ],
)
def test_the_time_to_end_is_the_local_one_also_when_clocks_change(
    monkeypatch: pytest.MonkeyPatch, now: str, wanted: str, hours: float
) -> None:
    from calendar import timegm

    monkeypatch.setenv("TZ", "Europe/Paris")
    time.tzset()
    at = float(timegm(time.strptime(now, "%Y-%m-%dT%H:%M:%SZ")))
    try:
        found = clock_time(wanted, at)
    finally:
        monkeypatch.undo()
        time.tzset()

    assert found is not None
    assert (found - at) / HOUR == pytest.approx(hours)
