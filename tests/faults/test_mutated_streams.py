"""Captured streams of the real CLI, changed in many ways: whatever comes, it is judged, booked and shown, and no
success or limit is made of what is none."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from math import isfinite
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphy.agents.claude.outcome import ExitFacts, classify
from ralphy.agents.claude.stream import Transcript, parse
from ralphy.agents.claude.watchdog import Watchdog
from ralphy.agents.protocol import AgentResult, Outcome
from ralphy.agents.status_report import read
from ralphy.agents.usage_windows import noted_windows
from ralphy.cli.status.moments import moment
from ralphy.config.values import WatchdogLimits
from ralphy.engine.runs.ending import end_line
from ralphy.engine.runs.running import thresholds_of
from ralphy.pipeline.history import History
from ralphy.state.journal import Journal
from ralphy.text.line_splitter import LineSplitter
from tests.core.building import examples

TESTS = Path(__file__).parents[1]
STREAMS = {f"{path.parent.name}/{path.stem}": path.read_bytes().splitlines() for path in TESTS.glob("streams*/*")}
AT = 1_800_000_000.0
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 0.5, 1e300, -1e308, 2**63, AT, AT * 1000, "2026-11-22T10:00:00Z", "", " ", "0.5",
    "a\nb", "\x1b[31mred", "\u202eturned", "x" * 5000, [], {}, [None], "rejected", "success", "rate_limit", "completed",
    "authentication_failed",
)  # fmt: skip
SAID = (
    "You've hit your session limit", "API Error: 429 rate_limit", "Not logged in", "EXIT_SIGNAL: false", "",
    '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":1}}',
    "---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---",
)  # fmt: skip
Lines_ = list[bytes]
Change = Callable[[Lines_, int, random.Random], Lines_]


def with_value(lines: Lines_, at: int, chance: random.Random) -> Lines_:
    """A value anywhere in the line is another one, of any type, or nested very deep, or not there."""
    event = parse(lines[at]) if lines[at].count(b"{") < 200 else None  # this test is no deeper than Python goes
    places = list(fields_of(event)) if event else []
    if not places:
        return lines
    holder, name = chance.choice(places)
    if chance.random() < 0.2:
        del holder[name]
    else:
        holder[name] = chance.choice([*ODD, *SAID])
    whole = json.dumps(event).encode()
    if chance.random() < 0.1:
        depth = chance.choice([10, 300, 980, 1015, 5000])
        whole = whole.replace(b"null", b'{"a":' * depth + b"1" + b"}" * depth, 1)
    return [*lines[:at], whole, *lines[at + 1 :]]


def fields_of(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in the value, as what holds it and the name or number there."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in list(inside):
        yield value, name
        yield from fields_of(inner)


def with_event(lines: Lines_, at: int, chance: random.Random) -> Lines_:
    """An event more, of the kinds that decide something."""
    pick = chance.choice
    event = pick([
        {"type": "rate_limit_event", "rate_limit_info": {
            "status": pick(["rejected", "allowed_warning", None]), "resetsAt": pick(ODD), "rateLimitType": pick(ODD),
            "isUsingOverage": pick(ODD), "unifiedWindows": pick([None, {"five_hour": pick(ODD), "x": {
                "utilization": pick(ODD), "resetsAt": pick(ODD)}}])}},
        {"type": "result", "subtype": pick(["success", "error_max_turns", None]), "is_error": pick([True, False, None]),
         "terminal_reason": pick(["completed", "aborted_tools"]), "result": pick([*SAID, None]), "num_turns": pick(ODD),
         "total_cost_usd": pick(ODD), "api_error_status": pick([*ODD, 429, 529, 401, 413]), "usage": pick(ODD),
         "modelUsage": {"m": {"inputTokens": pick(ODD)}},
         "api_error": pick([*ODD, "usage_limit_reached"]), "api_error_type": pick(ODD), "stop_reason": pick(ODD)},
        {"type": "system", "subtype": "background_tasks_changed",
         "tasks": pick([[], [pick(ODD)], [{"task_id": "b1", "description": pick(ODD)}], pick(ODD)])},
        {"type": "system", "subtype": "task_started", "task_id": "b1", "tool_use_id": pick(ODD)},
        {"type": "system", "subtype": "permission_denied", "tool_name": pick(ODD), "tool_use_id": pick(ODD)},
        {"type": "system", "subtype": "status", "status": "compacting", "compact_output_chars": pick(ODD)},
        {"type": "tool_progress", "heartbeat": pick(ODD)},
        {"type": "user", "message": {"content": [
            {"type": "tool_result", "tool_use_id": pick(ODD), "content": pick(SAID), "is_error": pick(ODD)}]}},
        {"type": "assistant", "parent_tool_use_id": pick([None, "t"]),
         "message": {"model": "m", "content": [{"type": "text", "text": pick(SAID)}]}},
        {"type": "system", "subtype": "api_retry", "error_status": pick(ODD), "retry_delay_ms": pick(ODD)},
    ])  # fmt: skip
    return [*lines[:at], json.dumps(event).encode(), *lines[at:]]


CHANGES: tuple[Change, ...] = (
    with_value,
    with_value,
    with_event,
    lambda lines, at, _: lines[:at],
    lambda lines, at, _: [*lines[:at], *lines[at + 1 :]],
    lambda lines, at, _: [*lines[: at + 1], *lines[at:]],
    lambda lines, at, _: [*lines[:at], *lines[at].replace(b",", b",\n", 1).split(b"\n"), *lines[at + 1 :]],
    lambda lines, at, _: [*lines[:at], b"".join(lines[at : at + 2]), *lines[at + 2 :]],
    lambda lines, _, chance: chance.sample(lines, len(lines)),
    lambda lines, _, chance: lines + STREAMS[chance.choice(sorted(STREAMS))],
    lambda lines, at, _: [*lines[:at], lines[at].replace(b'":"', b'":"\\ud83d'), *lines[at + 1 :]],
    lambda lines, _, __: [line + b"\r" for line in lines],
    lambda lines, at, _: [*lines[:at], b"\x1b[?25h" + lines[at], *lines[at + 1 :]],
    lambda lines, at, chance: [*lines[:at], chance.randbytes(40).replace(b"\n", b" ") + lines[at], *lines[at + 1 :]],
)  # fmt: skip


def mutated(chance: random.Random) -> bytes:
    """A captured stream with a few changes."""
    lines = list(STREAMS[chance.choice(sorted(STREAMS))])
    for _ in range(chance.choice([1, 1, 2, 3])):
        if lines:
            lines = chance.choice(CHANGES)(lines, chance.randrange(len(lines)), chance)
    return b"\n".join(lines)


def heard(data: bytes, size: int) -> tuple[Transcript, list[dict[str, Any]]]:
    """The transcript of a stream that comes in pieces, looked at by a watchdog, and its events."""
    lines, transcript, events = LineSplitter(), Transcript(), []
    dog = Watchdog(thresholds_of(WatchdogLimits()), 0.0, 0.0)
    for line in [line for at in range(0, len(data), size) for line in lines.feed(data[at : at + size])] + lines.close():
        event = parse(line)
        if event is not None:
            events.append(dict(event))
            shown = transcript.feed(event, 0.0)
            assert shown is None or (len(shown.text) <= 250 and (shown.text.isprintable() or not shown.text))
            dog.feed(event, transcript.answers, 0.0)
            dog.look(0.0, 0.0, len(data), transcript)
    return transcript, events


def may_be_limited(event: dict[str, Any]) -> bool:
    """Does the structure of this event speak of a limit?"""
    info = event.get("rate_limit_info")
    is_rejected = isinstance(info, dict) and info.get("status") == "rejected"
    named = event.get("api_error") == "usage_limit_reached"
    return is_rejected or named or event.get("error") == "rate_limit" or event.get("api_error_status") == 429


@pytest.mark.fault("A6", "A11", "P18")
@settings(max_examples=examples(150), deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([0, 1, 143, -9, None]), st.sampled_from([None, "result", "deadline"]))
def test_a_changed_stream_is_judged_by_what_it_says(seed: int, code: int | None, stopped: str | None) -> None:
    chance = random.Random(seed)
    transcript, events = heard(mutated(chance), chance.choice([50, 4096, 1 << 20]))

    outcome, detail, _ = classify(transcript, ExitFacts(code, stopped))

    assert len(detail) < 600
    results = [event for event in events if event.get("type") == "result"]
    if outcome is Outcome.SUCCEEDED:
        last = results[-1]
        assert (last["subtype"], last["is_error"], last["terminal_reason"]) == ("success", False, "completed")
        assert code == 0 or stopped
    if outcome is Outcome.LIMITED:
        assert any(may_be_limited(event) for event in events)
    claim = read(transcript.text)
    assert not (claim.is_complete and claim.holds_back)


@pytest.mark.fault("A11", "N1")
@settings(max_examples=examples(50), deadline=None)
@given(seed=st.integers(0, 2**32))
def test_what_comes_of_a_changed_stream_can_be_booked_and_read_again(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    transcript, _ = heard(mutated(random.Random(seed)), 1 << 20)
    outcome, detail, retry_at = classify(transcript, ExitFacts(1))
    result = AgentResult(outcome, cost_usd=transcript.cost_usd, cost_known=transcript.knows_its_cost,
                         tokens=transcript.tokens, limit=transcript.limit, denials=transcript.denials,
                         background=transcript.background.summary)  # fmt: skip
    journal, history = Journal(tmp_path_factory.mktemp("journal") / "journal.jsonl"), History("login")
    run = {"run": "r1", "feature": "login"}
    journal.append({"ev": "run", "step": "story", "story": "US-001", "at": AT, **run}, durable=False)
    end = end_line("r1", result, outcome, detail=detail, retry_at=retry_at)
    journal.append({"ev": "end", "at": AT, **run, **end}, durable=False)

    journal.catch_up(history)

    assert history.last_end and history.last_end["outcome"] == outcome.value
    assert isfinite(history.cost_usd) and history.cost_usd >= 0
    assert all(0 <= number < 2**63 for number in history.tokens.values())
    assert moment(history.retry_at, AT)
    assert all(len(window.kind) <= 250 for window in noted_windows(history.limit, AT))
