"""The stream of events: as lines of `--json` that fit the published schema, and in words."""

from __future__ import annotations

import json
from typing import Any

from jsonschema import Draft202012Validator

from ralphy.cli.run.sentences import sentences
from ralphy.pipeline.events import EVENTS, Event
from ralphy.resources import schema
from tests.cli.conftest import Make
from tests.cli.event_schema import event_schema
from tests.engine.building import breaks, reports, story, works

LINE = Draft202012Validator(schema("events"))
# What a night of one feature without a forge does not tell.
ELSEWHERE = {
    "pull_request_opened": "tests/e2e/test_real_gh.py",
    "held_up": "test_a_feature_that_cannot_be_opened_is_an_event_and_holds_up_no_other",
    "waiting": "tests/cli/test_waiting.py",
}


def test_the_published_schema_is_that_of_the_classes() -> None:
    assert schema("events") == event_schema(), "schemas/events.schema.json is out of date: run `make docs`"
    Draft202012Validator.check_schema(event_schema())


def test_every_event_class_is_in_the_stream_and_has_its_words() -> None:
    assert {event.__name__ for event in Event.__subclasses__()} == {event.__name__ for event in EVENTS}
    assert [event for event in EVENTS if sentences.dispatch(event) is sentences.dispatch(Event)] == []


def lines_of(out: str) -> list[dict[str, Any]]:
    """The lines, each of which fits the schema."""
    rows = [json.loads(line) for line in out.splitlines()]
    for row in rows:
        assert not list(LINE.iter_errors(row)), row
    return rows


def test_all_that_a_night_prints_as_json_fits_the_schema(made: Make) -> None:
    project, call = made(story("US-001"), story("US-002", priority=2), limits={"max_attempts": 1, "max_splits": 0})
    project.play(stories={"US-001": [works()], "US-002": [breaks()]})
    rows = lines_of(call("--json", "loop")[1])
    project.play(stories={"*": [works()]}, qa=[reports()])
    call("story", "reset", "US-002")
    rows += lines_of(call("--json", "loop")[1])
    project.approve()
    rows += lines_of(call("--json", "loop")[1])

    assert {event.kind() for event in EVENTS} - {row["kind"] for row in rows} == ELSEWHERE.keys()
    of_stories = [row for row in rows if row["kind"] in ("agent_activity", "check_ran", "landed") and row["story"]]
    assert {row["story"] for row in of_stories} == {"US-001", "US-002"}
    assert {row["lane"] for row in of_stories} == {"1"}
    assert {row["feature"] for row in rows} == {"login"}
    failed = next(row for row in rows if row["kind"] == "run_ended" and row["story"] == "US-002")
    assert (failed["outcome"], failed["kept"], failed["attempt"]) == ("rejected", 1, 1)
    [red] = [row for row in rows if row["kind"] == "check_ran" and not row["passed"]]
    assert (red["story"], red["purpose"], red["failing"]) == ("US-002", "candidate", ["src/us_002.py::works"])


def test_a_feature_that_cannot_be_opened_is_an_event_and_holds_up_no_other(made: Make) -> None:
    project, call = made(story("US-001"))
    settings = project.repo / "docs" / "features" / "broken" / ".ralphy" / "config.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text("gates: {spec: never}\n")
    (settings.parents[1] / "PRD.md").write_text("# More\n\n## Objective\n\n- a button\n")
    _, out, err = call("--json", "loop")
    held = [row for row in lines_of(out) if row["kind"] == "held_up"]
    assert {row["feature"] for row in held} == {"broken"} and held[0]["exit_code"] == 3
    assert f"broken: {held[0]['message']}" in err
    assert project.landed() == ["login/US-001"]


def test_a_quiet_loop_prints_its_events_and_no_log(made: Make) -> None:
    _, call = made(story("US-001"))
    _, out, err = call("--json", "-q", "--no-progress", "loop")
    kinds = [row["kind"] for row in lines_of(out)]
    assert "landed" in kinds and "agent_activity" not in kinds
    assert err == ""


def test_status_says_how_often_the_checks_ran_for_the_stories_that_landed(made: Make) -> None:
    _, call = made(story("US-001"), story("US-002", priority=2))
    assert "checks:" not in call("status")[1]
    call("loop")
    assert call.json("status")[1]["check_runs"] == {"stories": 2, "full": 2, "old_tests": 0, "red_first": 0}
    assert "  checks:  2 full runs for 2 verified stories\n" in call("status")[1]
