"""What a turn does to the world, and what its last message says."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from ralphy.agents.claude.loop_detection import error_key
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


def test_a_file_that_cannot_be_written_is_a_failed_tool_call(rehearse: Rehearse) -> None:
    played = rehearse({"write": {"calc.py/below": "x"}})
    assert played.code == 0
    assert played.blocks("tool_result")[0]["is_error"] is True
    assert "FILES_MODIFIED: 0" in played.text


def test_commands_are_really_run_without_a_shell(rehearse: Rehearse) -> None:
    commands = [["echo", "$HOME and {{story}}"], ["false"], ["no-such-program"]]
    said, failed, unknown = rehearse({"run": commands}).blocks("tool_result")
    assert said["content"] == "$HOME and US-001"
    assert failed["content"] == "Exit code 1"
    assert unknown["content"].startswith("Exit code 127")


def test_a_command_sees_the_session_as_with_the_real_cli(rehearse: Rehearse) -> None:
    played = rehearse({"run": "env"}, "--session-id", SESSION)
    output = played.blocks("tool_result")[0]["content"]
    assert f"CLAUDE_CODE_SESSION_ID={SESSION}" in output
    assert "CLAUDECODE=1" in output


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


def test_an_artifact_without_an_outbox_is_refused(rehearse: Rehearse) -> None:
    rehearse.env["RALPHY_OUTBOX"] = ""
    played = rehearse({"outbox": {"SPEC.md": "x"}})
    assert (played.code, played.stdout) == (1, b"")
    assert "RALPHY_OUTBOX: no outbox to write SPEC.md to" in played.stderr


def test_the_report_tells_what_was_done(rehearse: Rehearse) -> None:
    played = rehearse({"say": "Ready.", "write": {"a": "1", "b": "2"}})
    assert played.text == f"Ready.\n\n{REPORT}\n\n<promise>STORY_DONE</promise>"
    assert played.blocks("text")[-1]["text"] == played.text


def test_a_failed_command_makes_the_tests_failing(rehearse: Rehearse) -> None:
    assert "TESTS_STATUS: FAILING" in rehearse({"run": "false"}).text


@pytest.mark.parametrize(
    ("turn", "present", "absent"),
    [
        ({"exit_signal": False}, "EXIT_SIGNAL: false", "<promise>"),
        ({"exit_signal": None, "say": "ok"}, "ok", "RALPH_STATUS"),
        ({"promise": None}, "EXIT_SIGNAL: true", "<promise>"),
        ({"promise": "COMPLETE", "exit_signal": None}, "<promise>COMPLETE</promise>", "EXIT_SIGNAL"),
        ({"status": {"TESTS_STATUS": "FAILING", "FILES_MODIFIED": 9}}, "FILES_MODIFIED: 9", "PASSING"),
        ({"question": "Which colour?"}, "STATUS: BLOCKED", "<promise>"),
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


def test_the_work_waits_for_its_delay(rehearse: Rehearse) -> None:
    assert rehearse({"delay_s": 0.25}).result["duration_ms"] >= 250


def test_a_cheat_marks_all_stories_as_passed(rehearse: Rehearse) -> None:
    prd = _folder(rehearse) / "prd.json"
    prd.write_text('{"userStories": [{"id": "US-001", "passes": false}, {"id": "US-002"}]}')
    rehearse({"cheat": {"mark_passed": True}})
    stories = json.loads(prd.read_text())["userStories"]
    assert [(story["passes"], story["status"]) for story in stories] == [(True, "completed")] * 2


def test_a_cheat_approves_and_edits_what_is_not_its_own(rehearse: Rehearse) -> None:
    folder = _folder(rehearse)
    (folder / "SPEC.md").write_text("# Spec\n")
    rehearse({"cheat": {"approve": True, "edit_progress": "all green", "edit_spec": True}})
    assert (folder / "APPROVED").is_file()
    assert (folder / "progress.txt").read_text() == "\nall green\n"
    assert (folder / "SPEC.md").read_text() == "# Spec\n\nNote: US-001 needs no tests.\n"


def test_a_cheat_that_is_false_is_not_tried(rehearse: Rehearse) -> None:
    played = rehearse({"cheat": {"shadow_runner": False, "edit_spec": False}, "orphan": False, "garbage": False})
    assert played.tools() == []


def test_a_cheat_forges_trailers(rehearse: Rehearse, git: RunGit) -> None:
    rehearse({"cheat": {"forge_trailer": True}})
    assert git("log", "-1", "--format=%(trailers:key=Ralphy-Story,valueonly)").strip() == "login/US-001"


def test_a_cheat_empties_tests(rehearse: Rehearse) -> None:
    rehearse({"cheat": {"empty_tests": True}})
    asserts = [line for line in (rehearse.cwd / "tests" / "test_calc.py").read_text().splitlines() if "assert" in line]
    assert {line.strip() for line in asserts} == {"assert True"}


@pytest.mark.parametrize(
    ("name", "file", "text"),
    [
        ("narrow_runner", "pytest.ini", "addopts = --ignore=tests/test_calc.py"),
        ("ignore_by_conftest", "conftest.py", "collect_ignore = ['tests/test_calc.py']"),
        ("fake_report", "conftest.py", 'report.outcome = "passed"'),
        ("leave_early", "conftest.py", "atexit.register(os._exit, 0)"),
        ("shadow_runner", "pytest.py", "raise SystemExit(0)"),
    ],
)
def test_a_cheat_tampers_with_the_runner(rehearse: Rehearse, name: str, file: str, text: str) -> None:
    rehearse({"cheat": {name: True}})
    assert text in (rehearse.cwd / file).read_text()


def test_a_cheat_skips_tests(rehearse: Rehearse) -> None:
    rehearse({"cheat": {"skip_tests": True}})
    text = (rehearse.cwd / "tests" / "test_calc.py").read_text()
    assert text.count("@pytest.mark.skip") == text.count("def test") > 0


def test_a_cheat_deletes_tests(rehearse: Rehearse) -> None:
    rehearse({"cheat": {"delete_tests": True}})
    assert not (rehearse.cwd / "tests" / "test_calc.py").exists()
    assert (rehearse.cwd / "calc.py").exists()


def test_a_cheat_deletes_the_files_it_names(rehearse: Rehearse) -> None:
    rehearse({"cheat": {"delete_tests": ["conftest.py"]}})
    assert not (rehearse.cwd / "conftest.py").exists()
    assert (rehearse.cwd / "tests" / "test_calc.py").exists()


def test_an_orphan_outlives_the_run(rehearse: Rehearse) -> None:
    played = rehearse({"orphan": {"seconds": 600, "ignore_sigterm": True}}, "--session-id", SESSION)
    pid = int(played.blocks("tool_result")[0]["content"])
    try:
        assert os.getsid(pid) not in (pid, os.getsid(0))
        assert f"CLAUDE_CODE_SESSION_ID={SESSION}".encode() in Path(f"/proc/{pid}/environ").read_bytes()
    finally:
        os.kill(pid, signal.SIGKILL)


def test_the_same_error_comes_as_often_as_asked_for_and_differs_in_times_alone(rehearse: Rehearse) -> None:
    answers = rehearse({"same_error": 3}).blocks("tool_result")
    assert [answer["is_error"] for answer in answers] == [True, True, True]
    assert len({answer["content"] for answer in answers}) == 3
    assert len({error_key(answer["content"]) for answer in answers}) == 1


def test_a_flood_is_as_big_as_asked_for(rehearse: Rehearse) -> None:
    played = rehearse({"flood_mb": 2})
    assert len(played.stdout) > 2_000_000
    assert max(map(len, played.stdout.splitlines())) < 6_000


def test_a_long_line_is_one_line(rehearse: Rehearse) -> None:
    assert max(map(len, rehearse({"long_line_mb": 3}).stdout.splitlines())) > 3_000_000


def test_garbage_is_printed_between_good_lines(rehearse: Rehearse) -> None:
    lines = rehearse({"garbage": True}).stdout.split(b"\n")
    assert b"\x00\x00\x00" in lines
    assert b'{"type":"assistant","message":{"conte' in lines
    with pytest.raises(UnicodeDecodeError):
        lines[2].decode()
    assert json.loads(lines[0])["type"] == "system"
    assert json.loads(lines[-2])["type"] == "result"


def test_raw_lines_are_printed_as_they_are(rehearse: Rehearse) -> None:
    played = rehearse({"raw": ['{"type": "x"}', "not json {{story}}"]})
    assert b'\n{"type": "x"}\nnot json {{story}}\n' in played.stdout
    assert b"\njust one\n" in rehearse({"raw": "just one"}).stdout


def _folder(rehearse: Rehearse) -> Path:
    folder = rehearse.cwd / "docs" / "features" / "login"
    folder.mkdir(parents=True)
    return folder
