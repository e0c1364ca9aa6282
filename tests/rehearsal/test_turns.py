"""What a turn does to the world, and what its last message says."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import RunGit
from tests.rehearsal.conftest import SESSION, Rehearse

REPORT = """\
---RALPH_STATUS---
STATUS: COMPLETE
TASKS_COMPLETED_THIS_LOOP: 1
FILES_MODIFIED: 2
TESTS_STATUS: PASSING
WORK_TYPE: IMPLEMENTATION
EXIT_SIGNAL: true
RECOMMENDATION: none
---END_RALPH_STATUS---"""


def test_files_are_written_with_their_placeholders_filled(rehearse: Rehearse) -> None:
    turn = {"write": {"src/{{slug}}.py": "{{story}} of {{feature}}, attempt {{attempt}}, {{unknown}}"}}
    played = rehearse(turn)
    written = (rehearse.cwd / "src" / "us_001.py").read_text()
    assert written == "US-001 of login, attempt 1, {{unknown}}"
    assert played.tools() == ["Write"]
    assert played.blocks("tool_use")[0]["input"]["content"] == written


def test_files_are_appended_to_and_deleted(rehearse: Rehearse) -> None:
    played = rehearse({"append": {"calc.py": "# more\n", "notes.txt": "new\n"}, "delete": ["tests"]})
    assert (rehearse.cwd / "calc.py").read_text().endswith("left + right\n# more\n")
    assert (rehearse.cwd / "notes.txt").read_text() == "new\n"
    assert not (rehearse.cwd / "tests").exists()
    assert played.tools() == ["Bash", "Edit", "Write"]


def test_a_file_is_read_with_line_numbers(rehearse: Rehearse) -> None:
    played = rehearse({"read": ["calc.py", "missing.py"]})
    found, missing = played.blocks("tool_result")
    assert found["content"].startswith('1\t"""Sums')
    assert missing["is_error"] is True
    assert "File does not exist" in missing["content"]


def test_commands_are_really_run_without_a_shell(rehearse: Rehearse) -> None:
    commands = [["echo", "$HOME and {{story}}"], ["false"], ["no-such-program"]]
    said, failed, unknown = rehearse({"run": commands}).blocks("tool_result")
    assert said["content"] == "$HOME and US-001"
    assert failed["content"] == "Exit code 1"
    assert unknown["content"].startswith("Exit code 127")


def test_a_commit_is_made_as_an_agent_would(rehearse: Rehearse, git: RunGit) -> None:
    rehearse({"write": {"a.txt": "a"}, "commit": "feat: {{story}}\n\nCo-Authored-By: Nobody <n@example.org>"})
    assert git("log", "-1", "--format=%s|%(trailers:key=Co-Authored-By,valueonly)").strip() == (
        "feat: US-001|Nobody <n@example.org>"
    )
    assert git("status", "--porcelain") == ""


def test_artifacts_go_to_the_outbox(rehearse: Rehearse) -> None:
    turn = {
        "outbox": {"SPEC.md": "# {{feature}}\n", "stories.json": {"userStories": []}},
        "learnings": "Be quick.",
    }
    rehearse(turn)
    assert (rehearse.outbox / "SPEC.md").read_text() == "# login\n"
    assert json.loads((rehearse.outbox / "stories.json").read_text()) == {"userStories": []}
    assert (rehearse.outbox / "learnings.md").read_text() == "Be quick."


def test_the_report_tells_what_was_done(rehearse: Rehearse) -> None:
    played = rehearse({"say": "Ready.", "write": {"a": "1", "b": "2"}})
    assert played.text == f"Ready.\n\n{REPORT}\n\n<promise>STORY_DONE</promise>"
    assert played.blocks("text")[-1]["text"] == played.text


@pytest.mark.parametrize(
    ("turn", "present", "absent"),
    [
        ({"exit_signal": False}, "EXIT_SIGNAL: false", "<promise>"),
        ({"exit_signal": None, "say": "ok"}, "ok", "RALPH_STATUS"),
        ({"promise": None}, "EXIT_SIGNAL: true", "<promise>"),
        ({"promise": "COMPLETE", "exit_signal": None}, "<promise>COMPLETE</promise>", "EXIT_SIGNAL"),
        ({"status": {"TESTS_STATUS": "FAILING", "FILES_MODIFIED": 9}}, "FILES_MODIFIED: 9", "PASSING"),
        ({"question": "Which colour?"}, "STATUS: BLOCKED", "<promise>"),
        ({"run": "false"}, "TESTS_STATUS: FAILING", "PASSING"),
        ({"question": "Which colour?"}, "RECOMMENDATION: Which colour?", "EXIT_SIGNAL: true"),
    ],
)
def test_the_last_message_says_what_the_turn_wants(
    rehearse: Rehearse, turn: dict[str, Any], present: str, absent: str
) -> None:
    text = rehearse(turn).text
    assert present in text
    assert absent not in text


def test_other_steps_promise_nothing(rehearse: Rehearse) -> None:
    rehearse.step = "qa"
    text = rehearse({"say": "ok"}).text
    assert "WORK_TYPE: TESTING" in text
    assert "<promise>" not in text


def test_cost_and_tokens_are_in_the_result(rehearse: Rehearse) -> None:
    result = rehearse({"cost_usd": 1.5, "tokens": {"input": 7, "cache_read": 9}}, "--model", "opus").result
    assert result["total_cost_usd"] == 1.5
    assert (result["usage"]["input_tokens"], result["usage"]["cache_read_input_tokens"]) == (7, 9)
    assert result["modelUsage"]["claude-opus-4-8"]["costUSD"] == 1.5


def test_a_cheat_that_is_false_is_not_tried(rehearse: Rehearse) -> None:
    assert rehearse({"cheat": {"mark_passed": False, "edit_spec": False}}).tools() == []


def test_what_a_command_leaves_behind_outlives_the_run(rehearse: Rehearse) -> None:
    leaves = 'trap "" TERM; sleep 600 < /dev/null > /dev/null 2>&1 & echo $!'
    played = rehearse({"run": ["sh", "-c", leaves]}, "--session-id", SESSION)
    pid = int(played.blocks("tool_result")[0]["content"])
    try:
        assert os.getsid(pid) not in (pid, os.getsid(0))
        assert f"CLAUDE_CODE_SESSION_ID={SESSION}".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    finally:
        os.kill(pid, signal.SIGKILL)


def test_raw_lines_are_printed_as_they_are(rehearse: Rehearse) -> None:
    played = rehearse({"raw": ['{"type": "x"}', "not json {{story}}"]})
    assert b'\n{"type": "x"}\nnot json {{story}}\n' in played.stdout
    assert b"\njust one\n" in rehearse({"raw": "just one"}).stdout
