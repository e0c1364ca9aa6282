"""The stream of events: as lines of `--json` that fit the published schema, and in words."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from jsonschema import Draft202012Validator

from ralphy.cli.run.sentences import ending, sentences
from ralphy.pipeline.events import EVENTS, Event, Landed, RunEnded
from ralphy.resources import schema
from ralphy.text.tone import BAD, GOOD, WAITING
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


def test_a_flag_a_question_and_a_red_check_are_told_by_words_that_fit() -> None:
    landed = Landed(story="US-001", title="Log in", commit="abc", run="r", attempt=1, cost_usd=0.0, verified=True)
    asks = RunEnded(feature="login", story="US-001", run="r", step="story", attempt=2, outcome="needs_input",
                    detail="the agent asks: which?", checks=({"name": "test", "exit": 1, "seconds": 2.0},))  # fmt: skip
    for event, line, tone in (
        (landed, "verified and committed US-001: abc Log in", GOOD),
        (replace(landed, flagged=("unproved: x",)), "committed US-001 with 1 flag: abc Log in", WAITING),
        (asks, "US-001 attempt 2 needs an answer: the agent asks: which?", WAITING),
        (replace(asks, outcome="rejected"), "US-001 attempt 2 rejected: the agent asks: which?", BAD),
    ):
        assert next(sentences(event)) == (line, tone)
    assert ", test exit 1 (2 s): " in ending(asks)


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
    _, out, err = call("--json", "-q", "--no-progress", "loop")
    quiet = lines_of(out)
    assert quiet and err == "" and "agent_activity" not in {row["kind"] for row in quiet}
    rows += quiet

    decided = [row for row in rows if row["kind"] == "decided"]
    assert [row["reason"][:6] for row in decided if row["decision"] == "RunAgent"][:2] == ["US-001", "US-002"]
    assert "Wait" in {row["decision"] for row in decided}
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
    code, out, err = call("--json", "loop")
    held = [row for row in lines_of(out) if row["kind"] == "held_up"]
    assert {row["feature"] for row in held} == {"broken"} and code == held[0]["exit_code"] == 3
    assert f"broken: {held[0]['message']}" in err
    assert project.landed() == ["login/US-001"]
