"""What a person sees and can do while a limit is waited for."""

from __future__ import annotations

import json
import re
import time
from typing import Any

from ralphy.cli.output import Output
from ralphy.cli.run.live import Live
from ralphy.cli.run.narrator import Narrator
from ralphy.cli.status.moments import moment, seconds_of
from ralphy.engine.workspace.waiting import seconds_left, tell_waiting
from ralphy.pipeline.decision import Wait
from tests.cli.conftest import Make, heard_while
from tests.cli.test_run import on_a_terminal
from tests.engine.building import open_feature, story, works

AN_HOUR: dict[str, Any] = {"limit": {"resets_in_s": 3600}}


def test_on_a_terminal_the_seconds_are_counted_down_and_a_word_stops(made: Make) -> None:
    project, _ = made(story("US-001"))
    project.play(stories={"US-001": [AN_HOUR]})
    with on_a_terminal(project, "start") as (heard, process):
        heard.until("to stop, type s and Return")
        heard.until("59 min 5")
        heard.until("left: the usage limit")
        heard.until("\x1b[2K")  # the next second is written over it
        heard.send("s\n")
        heard.rest()
    assert process.returncode == 14
    assert project.statuses() == {"US-001": "pending"}


IN_AN_HOUR = r"(\w{3} )?\d\d:\d\d:\d\d \(in (59 min|1 h)[^)]*\)"


def test_what_is_not_waited_for_is_shown_with_its_local_time_and_how_long_that_is(made: Make) -> None:
    project, call = made(story("US-001"))
    project.play(stories={"US-001": [AN_HOUR]})
    code, _, err = call("loop", "--no-wait")
    assert code == 14
    assert re.search(rf"\] limited until {IN_AN_HOUR}; not waiting \(--no-wait\): the usage limit", err), err
    assert "waiting until" not in err
    for words in (("why",), ("loop", "--dry-run"), ("status",), ("status", "--all")):
        assert re.search(rf"until:? +{IN_AN_HOUR}$", call(*words)[1], re.M), words
    why, value = call.json("why")[1], call.json("status")[1]
    assert value["status"] == "waiting"
    assert why["waiting_until"] == value["waiting_until"]
    at = time.strftime("%H:%M:%S", time.localtime(seconds_of(value["waiting_until"])))
    assert at in call("why")[1] and at in call("status")[1]


def test_an_open_breaker_says_when_it_lets_a_run_through_by_the_local_clock(made: Make) -> None:
    project, call = made(story("US-001"), breaker={"no_progress": 1, "cooldown_s": 3600})
    project.play(stories={"US-001": [{"say": "All done."}]})
    code, _, err = call("loop")
    assert code == 12
    assert re.search(rf"One more run is allowed from \d\d:\d\d UTC on; that is {IN_AN_HOUR}\n", err), err
    assert re.search(rf"until:   {IN_AN_HOUR}\n", call("status")[1])


MOMENTS = {
    0.4: "12:00:00 (in 0 s)",
    7500.0: "14:05:00 (in 2 h 5 min)",
    -60.0: "11:59:00 (in 0 s)",
    86400.0: "Tue 12:00:00 (in 1 d)",
    30 * 86400.0: "2024-01-31 12:00:00 (in 30 d)",
}


def test_a_moment_is_told_with_the_day_where_it_is_another_one(made: Make) -> None:
    noon = time.mktime((2024, 1, 1, 12, 0, 0, 0, 0, -1))
    assert {away_s: moment(noon + away_s, noon) for away_s in MOMENTS} == MOMENTS
    _, call = made(story("US-001"))
    assert call.json("why")[1]["waiting_until"] is None
    assert "until" not in call("why")[1] + call("status")[1]


def test_a_wait_that_an_option_of_the_run_causes_is_told_in_another_terminal_and_once_in_a_log(made: Make) -> None:
    project, call = made(story("US-001"), story("US-002"))
    project.play(stories={"*": [works()]})
    assert call("status")[0] == 0
    with heard_while(project, "loop", "--calls", "1") as (heard, process):
        heard.until("waiting until")
        why, value = call.json("why")[1], call.json("status")[1]
        assert (why["decision"], value["status"], value["phase"]) == ("Wait", "waiting", "IMPLEMENTATION")
        assert why["reason"] == value["next"] and "calls_per_hour" in value["next"]
        assert why["waiting_until"] == value["waiting_until"] is not None
        for words in (("why",), ("status",), ("status", "--all")):
            text = call(*words)[1]
            assert value["next"] in text and re.search(rf"until:? +{IN_AN_HOUR}", text), words
        process.terminate()
        heard.rest()
    assert heard.text.count("waiting until") == 1
    assert "still waiting" not in heard.text and "\r" not in heard.text
    value = call.json("status")[1]
    assert (value["status"], value["waiting_until"]) == ("ready", None)
    assert call.json("why")[1]["decision"] == "RunAgent"


def test_as_json_and_in_a_log_the_countdown_is_told_now_and_then(made: Make, capfd: Any) -> None:
    """What is left goes by the clock that says less."""
    project, _ = made(story("US-001"))
    wait = Wait("the usage limit is reached", until=2e9)
    with open_feature(project.repo, project.path, project.env) as w:
        for as_json, every_s in ((True, 60.0), (False, 600.0)):
            output = Output(as_json=as_json)
            narrator = Narrator(output, w, Live(output))
            w.listener, w.tick_s = narrator.hear, narrator.tick_s
            w.left_when_reported.clear()
            capfd.readouterr()
            assert tell_waiting(w, wait, 7200.0) == every_s  # the decision to wait was told just now
            assert tell_waiting(w, wait, 7200.0 - every_s / 2) == every_s / 2
            assert tell_waiting(w, wait, 7200.0 - every_s) == every_s
            tell_waiting(w, wait, 3605.0)
            out, err = capfd.readouterr()
            if as_json:
                lines = [json.loads(line) for line in out.splitlines()]
                assert [line["seconds_left"] for line in lines] == [7140, 3605]
                assert {(line["kind"], line["decision"], line["until"]) for line in lines} == {("waiting", "Wait", 2e9)}
            else:
                assert err.count("still waiting") == 2 and "1 h 50 min left" in err and "1 h left" in err

        wall, steady = [1000.0], [50.0]
        w.clock, w.steady = lambda: wall[0], lambda: steady[0]
        assert seconds_left(w, 1600.0) == 600.0
        wall[0] -= 28800.0
        steady[0] += 100.0
        assert seconds_left(w, 1600.0) == 500.0
        wall[0] += 57600.0
        assert seconds_left(w, 1600.0) < 0
