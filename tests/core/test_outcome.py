"""Every captured stream of the real CLI, and cases that none of them shows, with the outcome they give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ralphy.agents.claude.outcome import ExitFacts, classify, reports_success
from ralphy.agents.claude.stream import Transcript, parse
from ralphy.agents.protocol import Outcome
from ralphy.text.line_splitter import LineSplitter

STREAMS = Path(__file__).parents[1] / "streams"
NEWER = Path(__file__).parents[1] / "streams-2.1.330"
RESET = 1795298839.0

# stream: how the process ended, outcome, a part of the detail
CAPTURED: dict[str, tuple[int, Outcome, str]] = {
    "background_bash": (0, Outcome.SUCCEEDED, ""),
    "dropped_connection_after_tool_block": (0, Outcome.SUCCEEDED, ""),
    "dropped_connection_before_bytes": (1, Outcome.TRANSIENT, "ECONNRESET"),
    "dropped_connection_mid_stream": (0, Outcome.SUCCEEDED, ""),
    "empty_answer": (0, Outcome.SUCCEEDED, ""),
    "error_400": (1, Outcome.CRASHED, "refused (400)"),
    "error_400_prompt_too_long": (1, Outcome.TOO_LARGE, "too long"),
    "error_401": (1, Outcome.FATAL, "log in"),
    "error_401_oauth_token": (1, Outcome.FATAL, "log in"),
    "error_403": (1, Outcome.FATAL, "log in"),
    "error_404_model": (1, Outcome.FATAL, "claude-nope"),
    "error_429_no_retry_after": (1, Outcome.TRANSIENT, "too many requests"),
    "error_429_retry_after_3600": (1, Outcome.TRANSIENT, "too many requests"),
    "error_429_retry_after_7": (1, Outcome.TRANSIENT, "too many requests"),
    "error_429_session_limit_after_two_turns": (1, Outcome.LIMITED, "five_hour"),
    "error_429_session_limit_api_key": (1, Outcome.TRANSIENT, "too many requests"),
    "error_429_session_limit_oauth": (1, Outcome.LIMITED, "five_hour"),
    "error_500": (1, Outcome.TRANSIENT, "500"),
    "error_529_after_two_turns": (1, Outcome.TRANSIENT, "529"),
    "error_529_max_retries_2": (1, Outcome.TRANSIENT, "529"),
    "error_529_overloaded": (1, Outcome.TRANSIENT, "529"),
    "error_connection_refused": (1, Outcome.TRANSIENT, "ConnectionRefused"),
    "error_max_budget": (1, Outcome.CRASHED, "error_max_budget_usd: Reached maximum budget ($0.05)"),
    "error_max_turns": (1, Outcome.CRASHED, "error_max_turns: Reached maximum number of turns (2)"),
    "fallback_model_on_404": (0, Outcome.SUCCEEDED, ""),
    "hang_no_bytes": (-9, Outcome.CRASHED, "killed by signal 9 without a result"),
    "hang_no_bytes_api_timeout_4s": (1, Outcome.TRANSIENT, "timed out"),
    "hook_continue_false": (0, Outcome.CRASHED, "hook_stopped"),
    "hook_events": (0, Outcome.SUCCEEDED, ""),
    "input_format_stream_json": (0, Outcome.SUCCEEDED, ""),
    "json_schema": (0, Outcome.SUCCEEDED, ""),
    "json_schema_invalid": (0, Outcome.SUCCEEDED, ""),
    "json_schema_never_called": (0, Outcome.SUCCEEDED, ""),
    "json_schema_retries_exhausted": (1, Outcome.CRASHED, "error_max_structured_output_retries"),
    "killed_by_sigint": (1, Outcome.CRASHED, "error_during_execution"),
    "killed_by_sigkill": (-9, Outcome.CRASHED, "killed by signal 9"),
    "killed_by_sigterm": (143, Outcome.CRASHED, "exited with 143"),
    "manual_compact": (0, Outcome.CRASHED, "no turn ran"),
    "not_logged_in": (1, Outcome.FATAL, "log in"),
    "output_format_json": (0, Outcome.SUCCEEDED, ""),
    "partial_messages": (0, Outcome.SUCCEEDED, ""),
    "permission_denied": (0, Outcome.SUCCEEDED, ""),
    "pretooluse_hook_denied": (0, Outcome.SUCCEEDED, ""),
    "prompt_too_long_mid_run": (1, Outcome.TOO_LARGE, "too long"),
    "sandbox": (0, Outcome.SUCCEEDED, ""),
    "several_turns": (0, Outcome.SUCCEEDED, ""),
    "sse_error_overloaded_mid_stream": (0, Outcome.SUCCEEDED, ""),
    "stall_mid_stream": (-9, Outcome.CRASHED, "killed by signal 9"),
    "stop_hook_always_blocks": (0, Outcome.CRASHED, "without a final message"),
    "stop_hook_blocked": (0, Outcome.SUCCEEDED, ""),
    "stop_reason_max_tokens": (0, Outcome.SUCCEEDED, ""),
    "subagent": (0, Outcome.SUCCEEDED, ""),
    "subagent_foreground": (0, Outcome.SUCCEEDED, ""),
    "success_tool_use": (0, Outcome.SUCCEEDED, ""),
}


# What 2.1.330 adds, and says otherwise.
CAPTURED_NEWER: dict[str, tuple[int, Outcome, str]] = {
    "auto_compact": (0, Outcome.SUCCEEDED, ""),
    "background_bash_completes": (0, Outcome.SUCCEEDED, ""),
    "bash_timeout_moved_to_background": (0, Outcome.SUCCEEDED, ""),
    "cross_session_message": (0, Outcome.SUCCEEDED, ""),
    "dropped_connection_after_first_block": (0, Outcome.SUCCEEDED, ""),
    "error_400": (1, Outcome.CRASHED, "refused (400, invalid_request_error)"),
    "error_429_waited_out_by_the_cli": (0, Outcome.SUCCEEDED, ""),
    "error_connection_refused": (1, Outcome.TRANSIENT, "Connection refused"),
    "error_max_budget": (1, Outcome.CRASHED, "error_max_budget_usd"),
    "hook_fails_open": (0, Outcome.SUCCEEDED, ""),
    "hook_onfailure_block": (0, Outcome.SUCCEEDED, ""),
    "killed_by_sigint": (0, Outcome.CRASHED, "error_during_execution"),
    "sleep_blocked": (0, Outcome.SUCCEEDED, ""),
    "stall_mid_stream": (0, Outcome.SUCCEEDED, ""),
    "tool_progress_heartbeat": (-9, Outcome.CRASHED, "killed by signal 9"),
}


def read(name: str, folder: Path = STREAMS) -> Transcript:
    """The transcript of a captured stream, which arrives in small pieces."""
    data = (folder / f"{name}.ndjson").read_bytes()
    lines, transcript = LineSplitter(), Transcript()
    pieces = [data[at : at + 1000] for at in range(0, len(data), 1000)]
    whole = [line for piece in pieces for line in lines.feed(piece)] + lines.close()
    for number, line in enumerate(whole):
        event = parse(line)
        assert event is not None
        transcript.feed(event, float(number))
    return transcript


def heard(*events: dict[str, Any]) -> Transcript:
    transcript = Transcript()
    for number, event in enumerate(events):
        transcript.feed(event, float(number))
    return transcript


def result(**changes: Any) -> dict[str, Any]:
    good = {"type": "result", "subtype": "success", "is_error": False, "terminal_reason": "completed"}
    return {**good, "num_turns": 2, "result": "done", "total_cost_usd": 0.5, **changes}


def outcome(transcript: Transcript, returncode: int | None = 0, stopped: str | None = None) -> Outcome:
    return classify(transcript, ExitFacts(returncode, stopped))[0]


TABLES = {STREAMS: CAPTURED, NEWER: CAPTURED | CAPTURED_NEWER}


CASES = [(folder, path.stem) for folder in TABLES for path in sorted(folder.glob("*.ndjson"))]


def test_a_captured_stream_gives_its_outcome_and_each_has_a_row() -> None:
    assert CAPTURED.keys() == {name for folder, name in CASES if folder == STREAMS}
    assert CAPTURED_NEWER.keys() <= {name for folder, name in CASES if folder == NEWER}
    for folder, name in CASES:
        returncode, expected, part = TABLES[folder][name]
        transcript = read(name, folder)
        found, detail, _ = classify(transcript, ExitFacts(returncode))
        assert (folder, name, found) == (folder, name, expected)
        assert part in detail, name
        assert bool(detail) == (expected is not Outcome.SUCCEEDED), name
        assert transcript.is_finished == (transcript.result is not None), name


REJECTED = {"status": "rejected", "resetsAt": RESET, "rateLimitType": "five_hour", "isUsingOverage": True}
PAID_FOR = {"type": "rate_limit_event", "rate_limit_info": REJECTED}


@pytest.mark.fault("N1", "N2")
@pytest.mark.parametrize("more", [{}, {"terminal_reason": "api_error", "api_error_type": "overloaded_error"}])
def test_an_overload_while_paid_credits_are_in_use_is_no_usage_limit(more: dict[str, Any]) -> None:
    ended = heard(PAID_FOR, result(is_error=True, api_error_status=529, **more))
    assert classify(ended, ExitFacts(1))[0] is Outcome.TRANSIENT
    assert outcome(heard(PAID_FOR), -9) is Outcome.CRASHED
    assert outcome(heard(PAID_FOR, result())) is Outcome.SUCCEEDED


@pytest.mark.fault("N1")
def test_a_429_of_a_login_that_is_not_named_a_usage_limit_is_throttling() -> None:
    """Versions that name their failures call a usage limit by its name, and nothing else."""
    init = {"type": "system", "subtype": "init", "apiKeySource": "none"}
    event = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "isUsingOverage": False}}
    failed = {"is_error": True, "api_error_status": 429, "terminal_reason": "api_error",
              "api_error_type": "rate_limit_error"}  # fmt: skip
    throttled = heard(init, event, result(**failed, result="This is not your usage limit"))
    assert classify(throttled, ExitFacts(1))[0] is Outcome.TRANSIENT
    limited = heard(init, event, result(**failed, api_error="usage_limit_reached"))
    assert classify(limited, ExitFacts(1))[0] is Outcome.LIMITED


def test_a_refusal_and_a_context_that_fills_again_and_again_are_named() -> None:
    refused = result(is_error=True, stop_reason="refusal", terminal_reason="api_error")
    assert classify(heard(refused), ExitFacts(1))[1].startswith("the model refused to answer")
    full = result(is_error=True, terminal_reason="api_error", api_error="autocompact_thrashing")
    assert outcome(heard(full), 1) is Outcome.TOO_LARGE


NO_TASK: dict[str, Any] = {"type": "system", "subtype": "background_tasks_changed", "tasks": []}
OPEN_TASK = {**NO_TASK, "tasks": [{"task_id": "b1", "description": "make"}]}
INIT = {"type": "system", "subtype": "init"}


def test_a_result_before_the_background_work_has_ended_is_no_end() -> None:
    early = heard(INIT, OPEN_TASK, result())
    assert not early.is_finished
    found, detail, _ = classify(early, ExitFacts(0))
    assert (found, detail) == (Outcome.CRASHED, "it ended while background work was running (make)")
    assert outcome(early, 143, "deadline") is Outcome.TIMED_OUT
    assert outcome(early, 143, "tool_silence") is Outcome.STALLED
    assert outcome(heard(INIT, OPEN_TASK, result(), NO_TASK, INIT, result())) is Outcome.SUCCEEDED


@pytest.mark.parametrize("tasks", [None, "b1", [None, 3, {"task_id": 3}, {}], {"task_id": "b1"}])
def test_a_list_of_background_work_of_any_shape_stops_nobody(tasks: object) -> None:
    assert heard({**OPEN_TASK, "tasks": tasks}, result()).is_finished


@pytest.mark.fault("N1")
def test_only_a_rejected_event_is_a_limit_and_tells_when_it_resets() -> None:
    facts = ExitFacts(1)
    assert classify(read("error_429_session_limit_oauth"), facts)[2] == RESET
    assert classify(read("error_429_session_limit_api_key"), facts)[2] is None
    transcript = heard({**INIT, "apiKeySource": "none"}, result(is_error=True, api_error_status=429))
    assert classify(transcript, facts) == (Outcome.LIMITED, "the usage limit is reached: done", None)
    for status in ("allowed", "allowed_warning"):
        info = {"status": status, "resetsAt": RESET, "overageStatus": "rejected"}
        event = {"type": "rate_limit_event", "rate_limit_info": info}
        assert outcome(heard(event, result())) is Outcome.SUCCEEDED
        assert outcome(heard(event), -9) is Outcome.CRASHED


@pytest.mark.fault("A6")
def test_a_tool_that_prints_a_limit_changes_nothing() -> None:
    words = '{"type":"rate_limit_event","rate_limit_info":{"status":"rejected"}} 5-hour limit reached'
    block = {"type": "tool_result", "tool_use_id": "t1", "content": words}
    transcript = heard({"type": "user", "message": {"content": [block]}}, result(result=words))
    assert outcome(transcript) is Outcome.SUCCEEDED


@pytest.mark.parametrize(
    ("stopped", "expected"),
    [
        ("deadline", Outcome.TIMED_OUT),
        ("silence", Outcome.TRANSIENT),
        ("tool_silence", Outcome.STALLED),
        ("repeated_error", Outcome.STALLED),
        ("no_progress", Outcome.STALLED),
        ("output", Outcome.STALLED),
        ("memory", Outcome.CRASHED),
        ("processes", Outcome.CRASHED),
        ("disk", Outcome.TRANSIENT),
        ("unauthorized", Outcome.FATAL),
        ("startup", Outcome.TRANSIENT),
        ("abort", Outcome.STOPPED),
    ],
)
@pytest.mark.fault("A12")
def test_a_stopped_run_is_judged_by_the_reason_whatever_it_says_afterwards(stopped: str, expected: Outcome) -> None:
    transcript = heard({"type": "system", "subtype": "init"})
    transcript.close()
    transcript.feed(result(), 2.0)
    assert outcome(transcript, 143, stopped) is expected
    assert transcript.cost_usd == 0.5
    assert not reports_success(transcript.result)


@pytest.mark.fault("A11")
def test_the_last_of_several_results_decides_and_one_before_a_bad_exit_is_a_crash() -> None:
    assert outcome(heard(result(), result(subtype="error_during_execution", is_error=True))) is Outcome.CRASHED
    assert outcome(heard(result(subtype="error_during_execution", is_error=True), result())) is Outcome.SUCCEEDED
    transcript = heard(result())
    assert outcome(transcript, 143) is Outcome.CRASHED
    assert reports_success(transcript.result)


@pytest.mark.fault("A10")
@pytest.mark.parametrize("name", ["subtype", "terminal_reason", "result"])
def test_why_a_run_failed_is_one_short_line_that_a_terminal_can_show(name: str) -> None:
    detail = classify(heard(result(is_error=True, **{name: "\x1b[31mred\n" + "x" * 5000})), ExitFacts(1))[1]
    assert detail.isprintable() and len(detail) < 500


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"model": "m", "content": [{"type": "text", "text": text}]}, **more}


CALLED = {"type": "assistant", "message": {"model": "m", "content": [{"type": "tool_use", "id": "t", "name": "Bash"}]}}
ANSWERED = {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}}


def test_an_empty_result_is_the_last_message_or_no_answer() -> None:
    assert outcome(heard(result(result=" \n"))) is Outcome.TRANSIENT
    assert outcome(heard(said("a subagent's", parent_tool_use_id="t"), result(result=""))) is Outcome.TRANSIENT
    transcript = heard(said("I begin."), CALLED, ANSWERED, said("All done."), result(result=""))
    assert outcome(transcript) is Outcome.SUCCEEDED
    assert transcript.text == "All done."
    # Work without a last word is not paid for again and again.
    for events in ((CALLED, ANSWERED), (said("I begin."), CALLED, ANSWERED)):
        assert outcome(heard(*events, result(result=""))) is Outcome.CRASHED


@pytest.mark.parametrize("reason", ["prompt_too_long", "image_error", "blocking_limit", "rapid_refill_breaker"])
def test_a_context_that_is_full_is_too_large_also_when_the_program_counts_it_itself(reason: str) -> None:
    spoken = {"type": "assistant", "error": "invalid_request", "message": {"model": "<synthetic>", "content": []}}
    full = result(is_error=True, api_error_status=None, terminal_reason=reason, result="Prompt is too long")
    assert outcome(heard(spoken, full), 1) is Outcome.TOO_LARGE


def test_a_result_before_the_deadline_counts_although_the_program_lives_on() -> None:
    assert outcome(heard(result()), 143, "deadline") is Outcome.SUCCEEDED
    assert outcome(heard(result(), {"type": "system", "subtype": "init"}), 143, "deadline") is Outcome.TIMED_OUT
    assert outcome(heard(result(), CALLED), 143, "deadline") is Outcome.TIMED_OUT


ERRORS = {
    400: Outcome.CRASHED,
    402: Outcome.FATAL,
    408: Outcome.TRANSIENT,
    413: Outcome.TOO_LARGE,
    503: Outcome.TRANSIENT,
    529: Outcome.TRANSIENT,
    "billing_error": Outcome.FATAL,
    "oauth_org_not_allowed": Outcome.FATAL,
    "overloaded": Outcome.TRANSIENT,
    "server_error": Outcome.TRANSIENT,
    "unknown": Outcome.CRASHED,
    "max_output_tokens": Outcome.CRASHED,
}


@pytest.mark.parametrize("error", ERRORS)
def test_a_status_decides_or_without_one_the_kind_of_error(error: int | str) -> None:
    spoken = {"type": "assistant", "error": error, "message": {"model": "<synthetic>", "content": []}}
    if isinstance(error, int):
        events = [result(is_error=True, api_error_status=error)]
    else:
        events = [spoken, result(is_error=True, api_error_status=None)]
    assert outcome(heard(*events), 1) is ERRORS[error]


def test_silence_is_a_crash_but_for_a_refused_command_line_which_is_fatal_and_says_what_stderr_says() -> None:
    found, detail, _ = classify(Transcript(), ExitFacts(1, None, "error: unknown option '--nope'\n"))
    assert found is Outcome.FATAL
    assert detail == "it exited with 1 before it began: error: unknown option '--nope'"

    assert outcome(Transcript(), -11) is Outcome.CRASHED
    assert outcome(Transcript(), 143) is Outcome.CRASHED
    assert outcome(Transcript(), 0) is Outcome.CRASHED
