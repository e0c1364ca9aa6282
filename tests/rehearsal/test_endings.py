"""How runs end that do not end well: hangs, crashes and signals."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import lives
from tests.rehearsal.conftest import PATIENCE_S, Rehearse, until

Running = list[subprocess.Popen[bytes]]


def begin(rehearse: Rehearse, running: Running, turn: dict[str, Any], lines: int = 1) -> subprocess.Popen[bytes]:
    """Start the turn and wait until it has printed so many lines."""
    child = rehearse.start(turn)
    running.append(child)
    assert child.stdout is not None
    for _ in range(lines):
        assert child.stdout.readline(), "ended too early"
    return child


def rest(child: subprocess.Popen[bytes]) -> list[dict[str, Any]]:
    """Wait for the end and return the lines that were still printed."""
    out, _ = child.communicate(timeout=PATIENCE_S)
    return [json.loads(line) for line in out.splitlines()]


def test_a_crash_has_its_exit_code_and_no_result(rehearse: Rehearse) -> None:
    played = rehearse({"write": {"half.py": "x"}, "crash": 7})
    assert played.code == 7
    assert [line["type"] for line in played.lines] == ["system", "assistant", "user"]
    assert (rehearse.cwd / "half.py").exists()


@pytest.mark.parametrize("ignored", [[], ["ignore_sigterm"]])
def test_a_silent_hang_prints_nothing_and_an_interrupt_ends_it_with_0(
    rehearse: Rehearse, running: Running, ignored: list[str]
) -> None:
    child = rehearse.start({"silent_hang": True, "write": {"done.txt": "x"}, **dict.fromkeys(ignored, True)})
    running.append(child)
    until(lambda: _is_caught(child.pid, signal.SIGTERM), "its handlers are installed")
    until(lambda: _is_sleeping(child.pid), "it sleeps")
    assert child.stdout is not None
    assert not select.select([child.stdout], [], [], 0)[0]
    if ignored:
        child.send_signal(signal.SIGTERM)
    child.send_signal(signal.SIGINT)
    assert rest(child) == []
    assert child.returncode == 0
    assert not (rehearse.cwd / "done.txt").exists()


@pytest.mark.parametrize(
    ("turn", "signals", "last", "code"),
    [
        ({"hang": True}, [signal.SIGINT], "error_during_execution", 1),
        ({"delay_s": 3000}, [signal.SIGINT], "error_during_execution", 1),
        ({"hang": True}, [signal.SIGTERM], "", 143),
        ({"hang": True, "ignore_sigterm": True}, [signal.SIGTERM, signal.SIGINT], "error_during_execution", 1),
        ({"hang": True, "ignore_sigint": True}, [signal.SIGINT, signal.SIGTERM], "", 143),
    ],
)
def test_an_interrupt_ends_a_wait_with_a_result_and_a_termination_without(
    rehearse: Rehearse, running: Running, turn: dict[str, Any], signals: list[signal.Signals], last: str, code: int
) -> None:
    child = begin(rehearse, running, turn)
    for number in signals:
        child.send_signal(number)
    assert [line["subtype"] for line in rest(child)[-1:]] == [last] * bool(last)
    assert child.returncode == code


def test_a_run_that_does_not_exit_has_printed_its_result(rehearse: Rehearse, running: Running) -> None:
    child = begin(rehearse, running, {"no_exit": True}, lines=2)
    assert child.stdout is not None
    assert json.loads(child.stdout.readline())["subtype"] == "success"
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    assert rest(child) == []
    assert child.returncode == 0


def test_a_background_command_writes_after_the_first_result_and_a_second_one_follows(rehearse: Rehearse) -> None:
    played = rehearse({"say": "Ready.", "background": {"seconds": 0, "write": {"{{slug}}.txt": "{{story}}"}}})
    kinds = [f"{line['type']}/{line.get('subtype', '')}" for line in played.lines]
    first = kinds.index("result/success")
    assert kinds[first + 1 : first + 4] == [
        "system/task_notification", "system/background_tasks_changed", "system/init"]  # fmt: skip
    assert kinds.count("result/success") == 2 and played.code == 0
    assert (rehearse.cwd / "us_001.txt").read_text() == "US-001"


def test_a_termination_leaves_the_running_command_behind(rehearse: Rehearse, running: Running) -> None:
    child = begin(rehearse, running, {"run": ["sh", "-c", "echo $$ > pid; exec sleep 3000 >&- 2>&-"]}, lines=2)
    pid = int(until(lambda: _content(rehearse.cwd / "pid"), "the command wrote its pid"))
    child.send_signal(signal.SIGTERM)
    child.wait(timeout=PATIENCE_S)
    try:
        assert child.returncode == 143
        assert lives(pid)
    finally:
        os.kill(pid, signal.SIGKILL)


def _content(path: Path) -> str:
    return path.read_text().strip() if path.exists() else ""


def _is_caught(pid: int, number: signal.Signals) -> bool:
    """Does the process have a handler for this signal?"""
    caught = Path(f"/proc/{pid}/status").read_text().split("SigCgt:")[1].split()[0]
    return bool(int(caught, 16) >> (number - 1) & 1)


def _is_sleeping(pid: int) -> bool:
    return "S (sleeping)" in Path(f"/proc/{pid}/status").read_text()
