"""What Ralphy relies on in the real Claude Code CLI, driven against a loopback Messages API."""

from __future__ import annotations

import json
import os
import re
import select
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ralphy.agents.claude.cli import SETTINGS
from ralphy.agents.claude.stream import Transcript, parse
from ralphy.agents.claude.variables import FIXED
from tests.doubles.messages_api import Asked, MessagesApi, Response
from tests.e2e.claude_cli import (
    PLAIN,
    environment,
    expected,
    finish,
    frame,
    real_claude,
    run,
    start,
    why_missing,
)
from tests.e2e.project import make_hostile

pytestmark = real_claude


@pytest.fixture
def api() -> Iterator[MessagesApi]:
    with MessagesApi(keep_bodies=True) as running:
        yield running


def answering(*steps: Any) -> MessagesApi:
    return MessagesApi({"steps": list(steps)}, keep_bodies=True)


def first_request(flags: list[str], repo: Path, env: dict[str, str], api: MessagesApi) -> Asked:
    seen = len(api.messages())
    run(flags, "hello", cwd=repo, env=env)
    return api.messages()[seen]


def test_the_flags_alone_save_half_and_leave_a_memory_that_outlives_the_run(
    git_repo: Path, private_home: Path, tmp_path: Path, api: MessagesApi
) -> None:
    env = environment(private_home, api.url)

    default = first_request([*PLAIN], git_repo, env, api)  # test_real_claude compares Ralphy's own with it
    flags_alone = first_request(frame(tmp_path), git_repo, env, api)
    lean = first_request(frame(tmp_path), git_repo, env | FIXED, api)

    assert flags_alone.bytes * 2 <= default.bytes
    assert expected().memory in json.dumps(flags_alone.body)
    assert expected().memory not in json.dumps(lean.body)


def test_without_the_frame_a_hostile_repository_does_start_a_program(
    git_repo: Path, private_home: Path, tmp_path: Path, api: MessagesApi
) -> None:
    canaries = tmp_path / "canaries"
    make_hostile(git_repo, canaries, "SessionStart")

    run([*PLAIN], "hello", cwd=git_repo, env=environment(private_home, api.url))

    assert (canaries / "hook").exists()


def test_an_answer_is_reported_while_it_comes(git_repo: Path, private_home: Path, tmp_path: Path) -> None:
    """Every few words of a text and of a tool's input, so that a long answer is told from a provider that hangs."""
    answer = [{"text": "word " * 50}, {"tool": "Write", "input": {"file_path": str(tmp_path / "a"), "content": "x"}}]
    with MessagesApi({"steps": [{"blocks": answer, "text_chunks": 10}, {"blocks": ["done"]}]}) as api:
        ended = run(frame(tmp_path), "hello", cwd=git_repo, env=environment(private_home, api.url))
    deltas = [line["event"].get("delta", {}).get("type") for line in ended.of("stream_event")]
    assert deltas.count("text_delta") >= 10
    assert "input_json_delta" in deltas
    assert ended.result["is_error"] is False


@pytest.mark.fault("A10", "A11")
def test_every_line_is_read_although_outputs_are_cut_in_the_middle_of_an_emoji(
    git_repo: Path, private_home: Path, tmp_path: Path
) -> None:
    shows = [f"python3 -c \"print('{'x' * odd}' + chr(0x1F600) * 20000)\"" for odd in (0, 1)]
    calls = [{"blocks": [{"tool": "Bash", "input": {"command": show, "description": "Show"}}]} for show in shows]
    with answering(*calls, "done") as api:
        process = start(frame(tmp_path), "go", cwd=git_repo, env=environment(private_home, api.url))
        out, _ = process.communicate(timeout=60)

    transcript = Transcript()
    for line in out.encode().splitlines():
        event = parse(line)
        assert event is not None, line[:200]
        transcript.feed(event, 0.0)
    assert len(api.messages()) == 3
    assert out.count('"type":"result"') == 1
    assert (transcript.text, transcript.open_tools) == ("done", {})


def test_a_command_past_its_timeout_is_an_error_in_the_same_turn(
    git_repo: Path, private_home: Path, tmp_path: Path
) -> None:
    """Newer versions would move it to the background, print a result, and call the model again at its end."""
    late = {"tool": "Bash", "input": {"command": "true; sleep 8", "description": "Wait", "timeout": 1000}}
    with answering({"blocks": [late]}, "noticed") as api:
        ended = run(frame(tmp_path), "hello", cwd=git_repo, env=environment(private_home, api.url) | FIXED)
        asked = (api.messages()[1].body or {})["messages"]
    blocks = [block for message in asked if isinstance(message["content"], list) for block in message["content"]]
    assert [block["is_error"] for block in blocks if block["type"] == "tool_result"] == [True]
    assert (len(ended.of("result")), ended.result["result"]) == (1, "noticed")
    assert ended.of("system", "background_tasks_changed") == []


class Sender(MessagesApi):
    """A model that looks for other sessions, and sends the first one a message."""

    def pick(self, path: str, request: Mapping[str, Any]) -> tuple[Response, str]:
        told = json.dumps(request["messages"][-1])
        if "tool_result" not in told:
            return {"blocks": [{"tool": "ListAgents", "input": {}}]}, "list"
        peer = re.search(r"Peer sessions.*?\\n\s+([\w.-]+) \[", told)
        if not peer:
            return {"blocks": ["done"]}, "end"
        message = {"to": peer[1], "summary": "a task", "message": "PLEASE-PUSH"}
        return {"blocks": [{"tool": "SendMessage", "input": message}]}, "send"


@pytest.mark.skipif(why_missing() is None and not expected().listens_for_sessions, reason="no session listens")
@pytest.mark.parametrize(("settings", "comes"), [
    pytest.param("{}", True, marks=pytest.mark.soak), (SETTINGS, False),
], ids=["by default", "Ralphy's"])  # fmt: skip
def test_a_message_of_another_session_reaches_no_run_of_ralphys(
    settings: str, comes: bool, git_repo: Path, private_home: Path, tmp_path: Path
) -> None:
    for name in ("begun", "sent"):
        os.mkfifo(tmp_path / name)
    call = {"tool": "Bash", "input": {"command": f"echo y > '{tmp_path}/begun'; read x < '{tmp_path}/sent'"}}
    with answering({"blocks": [call]}, "done") as api, Sender() as other:
        flags = [*frame(tmp_path), "--settings", settings]
        working = start(flags, "hello", cwd=git_repo, env=environment(private_home, api.url))
        assert first_words(tmp_path / "begun", timeout_s=180)
        flags = [*PLAIN, "--tools", "ListAgents,SendMessage"]
        run(flags, "hello", cwd=tmp_path, env=environment(private_home, other.url))
        (tmp_path / "sent").write_text("y\n")
        ended = finish(working)
    assert "send" in [asked.source for asked in other.messages()]
    assert ended.result["result"] == "done"
    assert ("PLEASE-PUSH" in json.dumps([asked.body for asked in api.messages()])) == comes


def first_words(fifo: Path, *, timeout_s: float) -> str:
    """What is written to a pipe, once it is."""
    with os.fdopen(os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)) as reading:
        assert select.select([reading], [], [], timeout_s)[0], "nothing written"
        return reading.read()
