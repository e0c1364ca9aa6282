"""Bytes to lines, lines to events, events to a transcript: what is read, and that nothing ever raises."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.agents.claude.outcome import ExitFacts, classify
from ralphy.agents.claude.stream import Transcript, parse
from ralphy.agents.protocol import Activity, RateLimit, Tokens
from ralphy.text.line_splitter import LineSplitter

STREAMS = Path(__file__).parents[1] / "streams"

TYPES = ["assistant", "user", "result", "rate_limit_event", "system", "stream_event", "new"]
NAMES = [
    "type", "subtype", "message", "content", "id", "name", "input", "text", "tool_use_id", "error",
    "session_id", "rate_limit_info", "status", "resetsAt", "total_cost_usd", "modelUsage", "usage",
    "num_turns", "result", "is_error", "api_error_status", "permission_denials", "errors",
    "attempt", "error_status", "retry_delay_ms", "inputTokens", "input_tokens", "terminal_reason",
]  # fmt: skip
WORDS = st.sampled_from(
    [*TYPES, "init", "api_retry", "success", "text", "tool_use", "tool_result", "completed", "rejected", ""]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | WORDS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=12,
)


def transcript_of(name: str) -> Transcript:
    transcript = Transcript()
    for number, line in enumerate((STREAMS / f"{name}.ndjson").read_bytes().splitlines()):
        transcript.feed(parse(line) or {}, float(number))
    return transcript


def spoken(*blocks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"model": "m", "content": list(blocks)}, **more}


@given(st.binary(), st.integers(1, 50))
@pytest.mark.fault("A11")
def test_any_bytes_give_lines_that_can_be_parsed_without_raising(data: bytes, size: int) -> None:
    lines, transcript = LineSplitter(max_line=20), Transcript()
    found = [line for at in range(0, len(data), size) for line in lines.feed(data[at : at + size])] + lines.close()
    assert found == [line for line in split(data) if len(line) <= 20]
    for line in found:
        event = parse(line)
        if event is not None:
            transcript.feed(event, 0.0)
    classify(transcript, ExitFacts(0))


def split(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


@given(st.lists(st.dictionaries(st.sampled_from(NAMES), VALUES), max_size=6), st.sampled_from(TYPES))
@pytest.mark.fault("P18")
def test_events_with_the_right_names_and_any_values_never_raise(events: list[dict[str, Any]], kind: str) -> None:
    transcript = Transcript()
    for event in events:
        read = parse(orjson.dumps({"type": kind, **event}))
        assert read is not None
        activity = transcript.feed(read, 0.0)
        assert activity is None or "\n" not in activity.text
    classify(transcript, ExitFacts(1))
    assert isinstance(transcript.text, str)


NO_OBJECTS = [
    b"",
    b" ",
    b"null",
    b"[]",
    b"7",
    b"\0",
    b'{"a":"\0"}',
    b'{"a":"\xff"}',
    b'{"a":1',
    b"Error: no",
    b"[" * 99999,
]
HALF_EMOJIS = {
    r"cut \ud83d": "cut \ufffd",
    r"\udE00 first": "\ufffd first",
    r"\ud83d\ud83d\ude00": "\ufffd\U0001f600",
    r"\\ud83d is text, \ud83d is none": "\\ud83d is text, \ufffd is none",
}


@pytest.mark.fault("A10", "A11")
def test_what_is_no_object_is_nothing_and_half_an_emoji_costs_no_line() -> None:
    assert [parse(line) for line in NO_OBJECTS] == [None] * len(NO_OBJECTS)
    for written, read in HALF_EMOJIS.items():
        assert parse(b'{"type":"result","result":"%s"}' % written.encode()) == {"type": "result", "result": read}
        assert parse(b'{"type":"result","result":"%s}' % written.encode()) is None


@pytest.mark.fault("A11")
def test_a_line_that_is_too_long_is_dropped_and_the_next_one_read() -> None:
    lines = LineSplitter(max_line=1000)
    assert [line for _ in range(100) for line in lines.feed(b"x" * 100)] == []
    assert lines.feed(b"\nnext\n") == [b"next"]
    assert lines.feed(b"y" * 1001 + b"\n" + b"z" * 1000 + b"\n") == [b"z" * 1000]


@pytest.mark.fault("A11")
def test_a_run_adds_up_its_cost_over_all_segments_and_its_tokens_over_all_models() -> None:
    transcript = transcript_of("several_turns")
    assert transcript.came
    assert transcript.turns == 6
    assert transcript.cost_usd == pytest.approx(0.1868675)
    assert transcript.tokens.output > 0
    assert transcript.text == "Fixed and committed. <promise>STORY_DONE</promise>"
    assert transcript.open_tools == {}
    transcript = transcript_of("input_format_stream_json")
    assert transcript.turns == 2
    assert transcript.cost_usd == pytest.approx(0.037)
    assert transcript.text == "second"
    used = {"inputTokens": 1, "outputTokens": 2, "cacheReadInputTokens": 3, "cacheCreationInputTokens": 4}
    transcript = Transcript()
    transcript.feed({"type": "result", "modelUsage": {"a": used, "b": used}}, 0.0)
    assert transcript.tokens == Tokens(2, 4, 6, 8)
    many = {str(n): dict.fromkeys(used, 1e300) for n in range(1000)}  # no run reaches this
    transcript.feed({"type": "result", "num_turns": 1e300, "modelUsage": many}, 0.0)
    assert orjson.loads(orjson.dumps([transcript.turns, transcript.tokens]))


@pytest.mark.fault("A11", "N1")
def test_a_cost_that_is_none_and_a_reset_that_no_calendar_has_are_unknown() -> None:
    costs: tuple[object, ...] = (None, "0.5", -1, True, 1e308, [])
    for cost in costs:
        transcript = Transcript()
        transcript.feed(spoken({"type": "text", "text": "done"}), 0.0)
        transcript.feed({"type": "result", "total_cost_usd": cost}, 1.0)
        assert (transcript.cost_usd, transcript.knows_its_cost) == (0.0, False), cost
        transcript.feed({"type": "result", "total_cost_usd": 0.25}, 2.0)
        assert (transcript.cost_usd, transcript.knows_its_cost) == (0.25, True)
    for at in (1795298839000, 1e17, 1e308, -1, "2026-11-22T10:00:00Z", None, True, [1795298839]):
        transcript = Transcript()
        transcript.feed({"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": at}}, 0.0)
        assert transcript.limit == RateLimit("rejected", None, "", None), at


def test_the_last_text_is_the_main_agents_own() -> None:
    transcript = Transcript()
    transcript.feed(spoken({"type": "text", "text": "mine"}), 0.0)
    transcript.feed(spoken({"type": "text", "text": "a subagent's"}, parent_tool_use_id="t1"), 1.0)
    transcript.feed(spoken({"type": "text", "text": "API Error"}, error="server_error"), 2.0)
    transcript.feed({"type": "result", "is_error": True, "result": "API Error"}, 3.0)
    assert transcript.text == "mine"
    assert transcript.error == "server_error"


@pytest.mark.fault("A10")
def test_what_the_provider_says_is_shown_in_one_short_line() -> None:
    bad, transcript = "\x1b[31mred\n\u202e" + "x" * 5000, Transcript()
    info = {"status": "rejected", "rateLimitType": bad, "resetsAt": 1795298839}
    for event in (
        {"type": "system", "subtype": "init", "model": bad},
        {"type": "system", "subtype": "api_retry", "error": bad, "retry_delay_ms": 1e300},
        {"type": "rate_limit_event", "rate_limit_info": info},
    ):
        shown = transcript.feed(event, 0.0)
        assert shown and shown.text.isprintable() and len(shown.text) < 250
    detail = classify(transcript, ExitFacts(1))[1]
    assert detail.isprintable() and len(detail) < 300


def test_refused_requests_count_in_a_row() -> None:
    refused = {"type": "system", "subtype": "api_retry", "error_status": 401, "retry_delay_ms": 512.5, "attempt": 1}
    transcript = Transcript()
    transcript.feed(refused, 0.0)
    assert transcript.retry_s == pytest.approx(0.5125)
    transcript.feed(spoken({"type": "text", "text": "on again"}), 1.0)
    assert transcript.unauthorized == 0
    assert [transcript.retry_s] == [None]
    transcript.feed(refused, 2.0)
    transcript.feed({**refused, "error_status": 403}, 3.0)
    assert transcript.unauthorized == 2


@pytest.mark.parametrize(
    ("name", "given_", "kind", "text"),
    [
        ("Read", {"file_path": "/repo/a.py"}, "reading", "/repo/a.py"),
        ("Edit", {"file_path": "/repo/a.py"}, "writing", "/repo/a.py"),
        ("Bash", {"command": "make\n  check"}, "running", "make check"),
        ("Skill", {}, "tool", "Skill"),
    ],
)
def test_a_tool_shows_what_it_is_about(name: str, given_: dict[str, Any], kind: str, text: str) -> None:
    event = spoken({"type": "tool_use", "id": "t1", "name": name, "input": given_})
    assert Transcript().feed(event, 0.0) == Activity(kind, text, event)


BLOCK = "---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (f"The login works.\n\n{BLOCK}", "The login works."),
        (f"Before.\n```\n{BLOCK}\n```\nAfter.\n<promise>STORY_DONE</promise>", "Before. After."),
        (f"**{BLOCK}**", ""),
        ("Done.\n---RALPH_STATUS---\nSTATUS: COMPLETE", "Done."),
        (f"{BLOCK}\nWait.\n{BLOCK}", "Wait."),
        ("I will end with a ---RALPH_STATUS--- block.", "I will end with a ---RALPH_STATUS--- block."),
        ("Say <promise>COMPLETE</promise> at the end.", "Say <promise>COMPLETE</promise> at the end."),
        (f"> ---RALPH_STATUS---\n{'x' * 10}", f"> ---RALPH_STATUS--- {'x' * 10}"),
    ],
)
def test_what_is_said_to_ralphy_alone_is_kept_and_not_shown(said: str, shown: str) -> None:
    transcript = Transcript()
    message = {"model": "m", "content": [{"type": "text", "text": said}]}
    activity = transcript.feed({"type": "assistant", "message": message}, 0.0)
    ended = transcript.feed({"type": "result", "result": said}, 0.0)
    assert activity and ended
    assert (activity.text, ended.text, transcript.text, transcript.last_text) == (shown, shown, said, said)
