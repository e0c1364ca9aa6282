"""The Messages double answers, refuses and breaks off as its scenario says."""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from typing import Any

import pytest

from tests.doubles.messages_api import MessagesApi


def ask(api: MessagesApi, **request: Any) -> tuple[int, str, dict[str, str]]:
    """The status, the body and the headers that a request for a message gets."""
    connection = http.client.HTTPConnection(api.url.removeprefix("http://"), timeout=60)
    try:
        body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "hi"}], **request})
        connection.request("POST", "/v1/messages", body, {"x-api-key": "sk-secret"})
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), dict(answer.getheaders())
    finally:
        connection.close()


def text(body: str) -> str:
    return str(json.loads(body)["content"][0]["text"])


def test_steps_come_in_order_then_the_default() -> None:
    with MessagesApi({"steps": ["one", {"blocks": ["two"], "repeat": 2}], "default": "rest"}) as api:
        assert [text(ask(api)[1]) for _ in range(4)] == ["one", "two", "two", "rest"]
        assert [asked.source for asked in api.messages()] == ["step 0", "step 1", "step 1", "default"]


def test_a_rule_that_matches_uses_up_no_step() -> None:
    rules = [{"match": {"last": "b(ye|oo)", "tools": False}, "respond": ["so long", "again"]}]
    with MessagesApi({"rules": rules, "steps": ["step"]}) as api:
        bye = [{"role": "user", "content": "bye"}]
        assert [text(ask(api, messages=bye)[1]) for _ in range(3)] == ["so long", "again", "again"]
        assert text(ask(api)[1]) == "step"


def test_an_error_has_its_status_its_kind_and_headers_that_count_from_now() -> None:
    with MessagesApi({"default": {"status": 429, "headers": {"x-reset": "@+60"}}}) as api:
        before = int(time.time())
        status, body, headers = ask(api)

    assert status == 429
    assert json.loads(body)["error"]["type"] == "rate_limit_error"
    assert before + 60 <= int(headers["x-reset"]) <= time.time() + 60


def test_a_stream_ends_with_its_stop_reason() -> None:
    call = {"tool": "Bash", "input": {"command": "true"}}
    with MessagesApi({"default": {"blocks": ["a text", call], "text_chunks": 3}}) as api:
        body = ask(api, stream=True)[1]

    kinds = [line.removeprefix("event: ") for line in body.splitlines() if line.startswith("event: ")]
    assert kinds[0] == "message_start"
    assert kinds.count("content_block_delta") == 4
    assert kinds[-1] == "message_stop"
    assert '"stop_reason": "tool_use"' in body


@pytest.mark.parametrize(
    ("response", "error"),
    [
        ({"drop": "reset"}, ConnectionResetError),
        ({"drop": "close"}, http.client.RemoteDisconnected),
        ({"hang": 0.01}, http.client.RemoteDisconnected),
        ({"drop_after": 2}, http.client.IncompleteRead),
        ({"stall_after": 1, "stall": 0.01}, http.client.IncompleteRead),
    ],
)
def test_a_connection_breaks_off_as_told(response: dict[str, Any], error: type[Exception]) -> None:
    with MessagesApi({"default": response}) as api, pytest.raises(error):
        ask(api, stream=True)


def test_a_stream_can_end_in_an_error_event() -> None:
    with MessagesApi({"default": {"error_after": 1}}) as api:
        assert "overloaded_error" in ask(api, stream=True)[1]


def test_credentials_are_named_and_not_kept() -> None:
    with MessagesApi(keep_bodies=True) as api:
        ask(api, tools=[{"name": "Bash"}], system="be brief")
        (asked,) = api.messages()

    assert asked.auth == ("x-api-key",)
    assert "sk-secret" not in repr(asked)
    assert (asked.tools, asked.tools_bytes, asked.system_bytes) == (1, len('[{"name":"Bash"}]'), 10)
    assert asked.body is not None and asked.body["system"] == "be brief"


def test_it_runs_as_a_program_too() -> None:
    argv = [sys.executable, "-m", "tests.doubles.messages_api"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, encoding="utf-8") as program:
        assert program.stdout is not None
        assert program.stdout.readline().startswith("listening on http://127.0.0.1:")
        program.terminate()
