"""The command line: what is taken and what is refused, as by the real CLI."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.rehearsal.conftest import AGENT, FLAGS, PATIENCE_S, Rehearse

FORMAT = ["--output-format", "stream-json"]


def call(*argv: str, stdin: bytes = b"", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        argv, input=stdin, env={**os.environ, **(env or {})}, capture_output=True, timeout=PATIENCE_S, check=False
    )


def test_every_flag_of_a_guarded_run_is_taken(rehearse: Rehearse, tmp_path: Path) -> None:
    system = tmp_path / "system.md"
    system.write_text("Be brief.")
    flags = ["--model", "haiku", "--tools", "Bash,Read, Edit", "--setting-sources", "user", "--strict-mcp-config"]
    flags += ["--settings", '{"permissions": {}}', "--max-turns=40", "--max-budget-usd", "5"]
    flags += ["--append-system-prompt-file", str(system), "--fallback-model", "opus", "--effort", "low"]
    played = rehearse({"say": "x"}, *flags)
    assert played.code == 0, played.stderr
    init = played.lines[0]
    assert init["model"] == "claude-haiku-4-5-20251001"
    assert init["tools"] == ["Bash", "Read", "Edit"]
    assert init["permissionMode"] == "bypassPermissions"
    assert init["cwd"] == str(rehearse.cwd)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["-p", *FORMAT], "--output-format=stream-json requires --verbose"),
        (["-p", *FORMAT, "--verbose", "--permission-mode", "wild"], "invalid choice: 'wild'"),
        (["-p", *FORMAT, "--verbose", "--session-id", "not-a-uuid"], "invalid UUID value: 'not-a-uuid'"),
        (["-p", *FORMAT, "--verbose", "--no-such-flag"], "--no-such-flag"),
        (["-p", "--input-format", "stream-json"], "invalid choice: 'stream-json'"),
        (FORMAT, "no interactive mode"),
    ],
)
def test_a_usage_error_is_exit_1_with_nothing_on_stdout(flags: list[str], words: str) -> None:
    refused = call(*AGENT, *flags, stdin=b"x")
    assert (refused.returncode, refused.stdout) == (1, b"")
    assert words in refused.stderr.decode()


def test_an_empty_prompt_is_refused(rehearse: Rehearse) -> None:
    played = rehearse({"say": "x"}, prompt="")
    assert played.code == 1
    assert "Input must be provided" in played.stderr


def test_the_version_says_that_it_is_a_rehearsal() -> None:
    assert call(*AGENT, "--version").stdout.decode() == "2.1.197 (Claude Code rehearsal)\n"


def test_the_prompts_first_line_stands_in_for_the_environment(rehearse: Rehearse, tmp_path: Path) -> None:
    outbox = tmp_path / "an out box"
    marker = f'<!-- ralphy step=qa feature=search attempt=3 outbox="{outbox}" -->\nCheck it.'
    bare = {name: value for name, value in rehearse.environ(None).items() if not name.startswith("RALPHY_")}
    ended = subprocess.run(
        [*AGENT, *FLAGS], cwd=rehearse.cwd, env=bare, input=marker.encode(), capture_output=True, check=True
    )
    assert json.loads(ended.stdout.splitlines()[-1])["subtype"] == "success"
    assert "# QA report: search" in (outbox / "QA_REPORT.md").read_text()


def test_without_any_word_about_the_step_it_answers_and_touches_nothing(rehearse: Rehearse) -> None:
    bare = {name: value for name, value in rehearse.environ(None).items() if not name.startswith("RALPHY_")}
    ended = subprocess.run(
        [*AGENT, *FLAGS, "Hello"], cwd=rehearse.cwd, env=bare, stdin=subprocess.DEVNULL, capture_output=True, check=True
    )
    assert "this is a rehearsal" in json.loads(ended.stdout.splitlines()[-1])["result"]
