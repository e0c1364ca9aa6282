"""The Claude adapter against small programs that print what the real CLI prints, and end as it ends."""

from __future__ import annotations

import errno
import json
import os
import stat
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ralphy.agents import program as adapter
from ralphy.agents.claude.cli import Claude
from ralphy.agents.program import Conditions
from ralphy.agents.protocol import Activity, AgentRequest, AgentResult, Outcome, Thresholds
from ralphy.errors import EnvironmentProblem
from ralphy.files.capped_file import CappedFile

STREAMS = Path(__file__).parents[1] / "streams"
PROMPT = "Make it so: \u2713"
SESSION = "11111111-2222-4333-8444-555555555555"

# What every stand-in begins with: `say` prints events, `play` a captured stream.
PRELUDE = f"""
import json, os, signal, sys, time

def say(*events):
    for event in events:
        sys.stdout.write(json.dumps(event) + "\\n")
    sys.stdout.flush()

def play(name):
    with open({str(STREAMS)!r} + "/" + name + ".ndjson") as file:
        sys.stdout.write(file.read())
    sys.stdout.flush()

INIT = {{"type": "system", "subtype": "init", "session_id": "s", "model": "m"}}
GOOD = {{"type": "result", "subtype": "success", "is_error": False, "terminal_reason": "completed",
        "num_turns": 2, "result": "done", "total_cost_usd": 0.5}}
RETRY = {{"type": "system", "subtype": "api_retry", "retry_delay_ms": 500.0, "error_status": 401}}
"""


@pytest.fixture
def request_(tmp_path: Path) -> AgentRequest:
    return AgentRequest(
        run="run-1",
        cwd=str(tmp_path),
        run_dir=str(tmp_path / "runs" / "run-1"),
        model="sonnet",
        deadline_s=30.0,
        session=SESSION,
        env={"PATH": "/usr/bin:/bin", "RALPHY_RUN_ID": "run-1"},
    )


def stand_in(source: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", PRELUDE + textwrap.dedent(source))


def run(request: AgentRequest, source: str, **options: Any) -> AgentResult:
    return Claude(stand_in(source), Conditions(**options)).prepared(request, lambda _: None)(PROMPT)


def kept(request: AgentRequest, name: str) -> bytes:
    return (Path(request.run_dir) / name).read_bytes()


@pytest.mark.fault("S2")
def test_the_frame_starts_nothing_of_the_repository(request_: AgentRequest) -> None:
    assert Claude(("claude",), Conditions()).frame(request_) == (
        "claude", "-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages",
        "--dangerously-skip-permissions", "--model", "sonnet", "--tools", "Bash,Read,Edit,Write,Glob,Grep",
        "--setting-sources", "user", "--strict-mcp-config", "--session-id", SESSION, "--settings",
        '{"attribution":{"commit":"","pr":""},"crossSessionInbound":"refuse"}',
    )  # fmt: skip


def test_the_frame_has_what_the_request_adds(request_: AgentRequest) -> None:
    asked = replace(request_, max_cost_usd=0.00001, system_prompt_file="/r/CLAUDE.md")
    argv = Claude(("nice", "claude"), Conditions()).frame(asked)
    assert argv[:3] == ("nice", "claude", "-p")
    assert argv[argv.index("--max-budget-usd") + 1] == "0.0001"
    assert argv[argv.index("--append-system-prompt-file") + 1] == "/r/CLAUDE.md"


def test_a_good_run_tells_everything(request_: AgentRequest) -> None:
    seen: list[Activity] = []
    source = "play('several_turns'); print('a warning', file=sys.stderr)"
    result = Claude(stand_in(source), Conditions()).prepared(request_, seen.append)(PROMPT)
    assert result.outcome is Outcome.SUCCEEDED
    assert result.text == "Fixed and committed. <promise>STORY_DONE</promise>"
    assert result.cost_usd == pytest.approx(0.1868675)
    assert result.tokens.output > 0
    assert result.duration_s > 0
    assert {"start", "thinking", "reading", "writing", "running", "text", "result"} <= {one.kind for one in seen}
    assert kept(request_, "stream.ndjson") == (STREAMS / "several_turns.ndjson").read_bytes()
    assert kept(request_, "stderr.log") == b"a warning\n"


def test_the_prompt_goes_through_stdin_and_stays_in_a_private_folder(request_: AgentRequest) -> None:
    source = "said = sys.stdin.read(); say(INIT, {**GOOD, 'result': said + os.environ['RALPHY_RUN_ID']})"
    assert run(request_, source).text == "Make it so: \u2713run-1"
    folder = Path(request_.run_dir)
    assert kept(request_, "prompt.md").decode() == PROMPT
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()} == {0o600}


@pytest.mark.fault("P11")
def test_a_run_that_hangs_after_its_result_is_ended_and_counts(request_: AgentRequest) -> None:
    result = run(request_, "say(INIT, GOOD); time.sleep(600)", exit_grace_s=0.3)
    assert (result.outcome, result.text) == (Outcome.SUCCEEDED, "done")
    assert result.trigger == "result"


def test_a_second_segment_is_waited_for(request_: AgentRequest) -> None:
    source = """
        say(INIT, GOOD, INIT)
        time.sleep(1.0)
        say({**GOOD, "result": "later", "total_cost_usd": 0.75})
        """
    result = run(request_, source, exit_grace_s=0.3)
    assert (result.outcome, result.text, result.trigger) == (Outcome.SUCCEEDED, "later", "")
    assert result.cost_usd == 0.75


@pytest.mark.fault("A12")
def test_what_is_said_after_the_stop_counts_only_for_the_cost(request_: AgentRequest) -> None:
    """As the real CLI does: told to end, it reports success."""
    source = """
        def succeed(*_):
            say({**GOOD, "total_cost_usd": 3.5})
            raise SystemExit(143)
        signal.signal(signal.SIGINT, succeed)
        say(INIT)
        time.sleep(600)
        """
    result = run(replace(request_, deadline_s=1.0), source)
    assert (result.outcome, result.text) == (Outcome.TIMED_OUT, "")
    assert result.cost_usd == 3.5


@pytest.mark.fault("N3")
def test_a_refused_key_is_not_repeated_for_minutes(request_: AgentRequest) -> None:
    result = run(request_, "say(INIT, RETRY); say(RETRY); time.sleep(600)")
    assert result.outcome is Outcome.FATAL
    assert "log in" in result.detail


def test_what_cannot_be_started_is_named_and_no_link_in_the_place_of_a_log_is_followed(
    request_: AgentRequest, tmp_path: Path
) -> None:
    (tmp_path / "runs").write_text("in the way")
    with pytest.raises(EnvironmentProblem, match="cannot be written"):
        run(request_, "")
    (tmp_path / "runs").unlink()
    result = Claude(("no-such-claude",), Conditions()).prepared(request_, lambda _: None)(PROMPT)
    assert result.outcome is Outcome.FATAL
    assert f"no-such-claude cannot be started: {os.strerror(errno.ENOENT)}" in result.detail
    assert "PATH" in result.detail
    result = Claude(stand_in("open('ran', 'w')"), Conditions()).prepared(request_, lambda _: None)("x" * 10_000_001)
    assert result.outcome is Outcome.TOO_LARGE
    assert not Path(request_.cwd, "ran").exists()

    linked = replace(request_, run_dir=f"{request_.run_dir}-2")
    Path(linked.run_dir).mkdir(parents=True)
    (tmp_path / "precious").write_text("mine")
    (Path(linked.run_dir) / "stream.ndjson").symlink_to(tmp_path / "precious")
    result = run(linked, "say(GOOD)")
    assert (tmp_path / "precious").read_text() == "mine"
    assert "could not be kept" in result.detail


SOON = Thresholds(0.3, 0.6, 3, 600.0, 524288, 3)
OPEN_TOOL = """{"type": "assistant", "message": {"model": "m", "content": [
    {"type": "tool_use", "id": "t", "name": "Bash", "input": {}}]}}"""


@pytest.mark.fault("P10")
def test_a_tool_that_hangs_is_a_stalled_run_and_silence_without_one_is_the_providers(request_: AgentRequest) -> None:
    silent = run(request_, "say(INIT); time.sleep(600)", thresholds=SOON)
    assert (silent.outcome, silent.trigger) == (Outcome.TRANSIENT, "silence")
    assert silent.warnings >= 3  # one more, if the start took its time
    patient = replace(SOON, silence_s=30.0)
    hung = run(request_, f"say(INIT, {OPEN_TOOL}); time.sleep(600)", thresholds=patient)
    assert (hung.outcome, hung.trigger) == (Outcome.STALLED, "tool_silence")
    assert "without output" in hung.detail


def test_words_on_the_way_are_life_and_are_not_kept(request_: AgentRequest) -> None:
    source = """
        say(INIT)
        for word in range(20):
            sys.stdout.write('{"type":"stream_event","event":{"type":"content_block_delta"}}\\n')
            sys.stdout.flush()
            time.sleep(0.1)
        say(GOOD)
        """
    result = run(request_, source, thresholds=replace(SOON, silence_s=0.6))
    assert (result.outcome, result.duration_s > 1.9) == (Outcome.SUCCEEDED, True)
    assert [json.loads(line)["type"] for line in kept(request_, "stream.ndjson").splitlines()] == ["system", "result"]


@pytest.mark.fault("A10")
def test_what_a_terminal_would_obey_is_never_shown(request_: AgentRequest) -> None:
    bad = "red \x1b[31m title \x1b]0;x\x07 bell \x07 back \b\r c1 \x9b31m right \u202e nul \x00 end"
    said = {"type": "assistant", "message": {"model": "m", "content": [{"type": "text", "text": bad}]}}
    seen: list[Activity] = []
    source = f"say(INIT, {said!r}, {{**GOOD, 'is_error': True, 'result': {bad!r}}}); sys.exit(1)"
    result = Claude(stand_in(source), Conditions()).prepared(request_, seen.append)(PROMPT)
    (shown,) = (one.text for one in seen if one.kind == "text")
    assert shown == "red title bell back c1 right nul end"
    assert shown in result.detail
    assert result.detail.isprintable()


@pytest.mark.fault("A9")
def test_a_stream_that_is_too_long_is_cut_and_keeps_its_last_result(
    request_: AgentRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapter, "MAX_STREAM", 10_000)
    monkeypatch.setattr(adapter, "MAX_STDERR", 100)
    source = """
        say(INIT, *({"type": "new", "n": n} for n in range(10_000)), GOOD)
        sys.stderr.write("word\\n" * 100)
        """
    assert run(request_, source).outcome is Outcome.SUCCEEDED
    lines = [json.loads(line) for line in kept(request_, "stream.ndjson").splitlines() if line]
    assert lines[0]["subtype"] == "init"
    assert lines[-2]["type"] == "ralphy_cut"
    assert lines[-2]["bytes_left_out"] > 100_000
    assert lines[-1]["result"] == "done"
    assert len(kept(request_, "stream.ndjson")) < 11_000
    assert kept(request_, "stderr.log") == b"word\n" * 20 + b"\n[400 bytes left out]\n"


@pytest.mark.fault("F12")
def test_a_full_disk_costs_the_log_and_not_the_run() -> None:
    log = CappedFile(Path("/dev/full"), 100)
    log.add(b"line\n")
    log.add(b"another\n")
    log.close()
    assert log.trouble == os.strerror(errno.ENOSPC)
    assert log.tail == b"line\nanother\n"
