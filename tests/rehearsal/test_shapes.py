"""Every line has the shape of the line that the real CLI wrote; tests/streams holds real ones."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.rehearsal.conftest import PATIENCE_S, Played, Rehearse

CAPTURED = Path(__file__).parents[1] / "streams"
FREE = {"tools", "slash_commands", "agents", "skills", "plugins"}


def captured(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CAPTURED / f"{name}.ndjson").read_text().splitlines()]


def shape(value: Any, key: str = "") -> Any:
    """The keys and kinds of a value: numbers are one kind, a list is the shape of its first member."""
    if key == "modelUsage":
        return shape(list(value.values()))
    if isinstance(value, dict):
        return {name: shape(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return "list" if key in FREE else [shape(item) for item in value[:1]]
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "number"
    return type(value).__name__


def is_within(ours: Any, theirs: Any) -> bool:
    """Does the real value have all that ours has, in the same shape?"""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return all(key in theirs and is_within(value, theirs[key]) for key, value in ours.items())
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) <= len(theirs) and all(map(is_within, ours, theirs))
    return bool(ours == theirs)


def kinds(lines: list[dict[str, Any]]) -> list[str]:
    return [f"{line['type']}/{line.get('subtype', '')}" for line in lines]


def assert_alike(played: Played, name: str) -> None:
    """The same types of lines in the same order, announced retries apart, and no key that the real line has not."""
    real = [line for line in captured(name) if line.get("subtype") != "api_retry"]
    assert kinds(played.lines) == kinds(real)
    for ours, theirs in zip(played.lines, real, strict=True):
        assert is_within(shape(ours), shape(theirs)), (ours, theirs)


def test_a_tool_call_looks_like_the_real_one(rehearse: Rehearse) -> None:
    played = rehearse({"say": ["I will write the file.", "All set."], "run": "git log --oneline"})
    assert_alike(played, "success_tool_use")
    assert played.code == 0


def test_several_turns_look_like_the_real_ones(rehearse: Rehearse) -> None:
    turn = {
        "think": "Let me look first.",
        "read": ["calc.py"],
        "append": {"calc.py": "# checked\n"},
        "write": {"new.py": "x = 1\n"},
        "run": ["sh", "-c", "echo ok; exit 3"],
        "commit": "feat: add",
    }
    played, real = rehearse(turn), captured("several_turns")
    for name in ("Read", "Edit", "Write", "Bash"):
        for ours, theirs in zip(_exchanges(played.lines, name), _exchanges(real, name), strict=True):
            ours_input, theirs_input = (one[0]["message"]["content"][0].pop("input") for one in (ours, theirs))
            assert ours_input.keys() == theirs_input.keys()
            assert is_within(shape(ours), shape(theirs)), (ours, theirs)
    assert is_within(shape(played.result), shape(real[-1]))


def _exchanges(lines: list[dict[str, Any]], tool: str) -> list[list[dict[str, Any]]]:
    """Each call of the tool with the line that answers it."""
    found = []
    for line in lines:
        block = line["message"]["content"][0] if line["type"] == "assistant" else {}
        if block.get("name") == tool:
            answers = [one for one in lines if one["type"] == "user" and block["id"] in json.dumps(one)]
            found.append([line, *answers])
    return found


def test_the_message_id_is_shared_within_an_answer_and_new_after_a_tool_result(rehearse: Rehearse) -> None:
    played = rehearse({"say": ["First.", "Last."], "run": "true"})
    ids = [line["message"]["id"] for line in played.lines if line["type"] == "assistant"]
    assert ids[0] == ids[1] != ids[2]


@pytest.mark.parametrize(
    ("error", "name"),
    [
        ("overloaded", "error_529_max_retries_2"),
        ("server", "error_500"),
        ("rate_limit", "error_429_no_retry_after"),
        ("auth", "error_401"),
        ("not_logged_in", "not_logged_in"),
        ("prompt_too_long", "error_400_prompt_too_long"),
        ("model", "error_404_model"),
        ("connection", "error_connection_refused"),
    ],
)
def test_an_error_looks_like_the_real_one(rehearse: Rehearse, error: str, name: str) -> None:
    played, real = rehearse({"error": error}), captured(name)
    assert_alike(played, name)
    assert played.code == 1
    telling = ("subtype", "is_error", "api_error_status", "terminal_reason", "total_cost_usd", "num_turns")
    assert {key: played.result[key] for key in telling} == {key: real[-1][key] for key in telling}
    assert played.lines[-2]["error"] == real[-2]["error"]
    assert played.text[:18] == real[-1]["result"][:18]


def test_an_empty_purse_ends_with_a_billing_error(rehearse: Rehearse) -> None:
    played = rehearse({"error": "billing"})
    assert (played.code, played.text) == (1, "Credit balance is too low")
    assert played.lines[-2]["error"] == "billing_error"


def test_a_usage_limit_looks_like_the_real_one(rehearse: Rehearse) -> None:
    played = rehearse({"limit": {"resets_at": 1795298839, "kind": "five_hour"}})
    assert_alike(played, "error_429_session_limit_oauth")
    real = captured("error_429_session_limit_oauth")
    assert played.code == 1
    assert played.lines[1]["rate_limit_info"].items() <= real[1]["rate_limit_info"].items()


def test_a_warning_looks_like_the_real_one(rehearse: Rehearse) -> None:
    played = rehearse({"warning": {"utilization": 0.92, "resets_at": 1795298902}})
    real = captured("error_429_session_limit_after_two_turns")
    info = next(line for line in played.lines if line["type"] == "rate_limit_event")["rate_limit_info"]
    warning = {"status": "allowed_warning"}
    theirs = next(x["rate_limit_info"] for x in real if warning.items() <= x.get("rate_limit_info", {}).items())
    assert info.items() <= theirs.items()


@pytest.mark.parametrize(
    ("turn", "flags", "name"),
    [
        ({"run": [["echo", "hi"], ["echo", "hi"]], "error": "max_turns"}, ("--max-turns", "2"), "error_max_turns"),
        ({"run": "echo hi", "error": "max_budget"}, (), "error_max_budget"),
        ({"run": "echo hi", "cost_usd": 0.06}, ("--max-budget-usd", "0.05"), "error_max_budget"),
    ],
)
def test_a_run_cut_off_by_its_flags_looks_like_the_real_one(
    rehearse: Rehearse, turn: dict[str, Any], flags: tuple[str, ...], name: str
) -> None:
    played, real = rehearse(turn, *flags), captured(name)
    assert is_within(shape(played.result), shape(real[-1]))
    assert played.result["subtype"] == real[-1]["subtype"]
    assert played.code == 1
    if flags:
        assert played.result["errors"] == real[-1]["errors"]


def test_an_interrupt_in_a_command_looks_like_the_real_one(
    rehearse: Rehearse, running: list[subprocess.Popen[bytes]]
) -> None:
    child = rehearse.start({"run": "sleep 3002"})
    running.append(child)
    assert child.stdout is not None
    begun = b"".join(child.stdout.readline() for _ in range(2))  # init, and the call
    child.send_signal(signal.SIGINT)
    rest, _ = child.communicate(timeout=PATIENCE_S)
    played = Played(child.returncode, begun + rest, "")
    assert_alike(played, "killed_by_sigint")
    assert played.code == 1
