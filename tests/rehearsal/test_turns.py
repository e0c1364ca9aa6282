"""What a turn does to the world, and what its last message says."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

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


def test_commands_are_really_run_without_a_shell(rehearse: Rehearse) -> None:
    commands = [["echo", "$HOME and {{story}}"], ["false"], ["no-such-program"]]
    said, failed, unknown = rehearse({"run": commands}).blocks("tool_result")
    assert said["content"] == "$HOME and US-001"
    assert failed["content"] == "Exit code 1"
    assert unknown["content"].startswith("Exit code 127")


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
