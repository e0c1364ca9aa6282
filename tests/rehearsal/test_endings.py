"""How runs end that do not end well: hangs, crashes and signals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

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


def test_a_crash_with_0_has_no_result_either(rehearse: Rehearse) -> None:
    played = rehearse({"crash": 0})
    assert (played.code, [line["type"] for line in played.lines]) == (0, ["system"])


def test_an_interrupted_hang_ends_with_a_result(rehearse: Rehearse, running: Running) -> None:
    child = begin(rehearse, running, {"hang": True})
    child.send_signal(signal.SIGINT)
    last = rest(child)[-1]
    assert child.returncode == 1
    assert (last["subtype"], last["is_error"]) == ("error_during_execution", True)


def test_an_interrupted_delay_ends_with_a_result(rehearse: Rehearse, running: Running) -> None:
    child = begin(rehearse, running, {"delay_s": 3000})
    child.send_signal(signal.SIGINT)
    assert rest(child)[-1]["subtype"] == "error_during_execution"
    assert child.returncode == 1


def test_a_terminated_hang_ends_without_a_result(rehearse: Rehearse, running: Running) -> None:
    child = begin(rehearse, running, {"hang": True})
    child.send_signal(signal.SIGTERM)
    assert rest(child) == []
    assert child.returncode == 143


def test_an_interrupt_kills_the_running_command(rehearse: Rehearse, running: Running) -> None:
    child = begin(rehearse, running, {"run": ["sh", "-c", "echo $$ > pid; exec sleep 3000"]}, lines=2)
    pid = int(until(lambda: _content(rehearse.cwd / "pid"), "the command wrote its pid"))
    child.send_signal(signal.SIGINT)
    rest(child)
    assert until(lambda: not _is_alive(pid), "the command is dead")


def test_a_termination_leaves_the_running_command_behind(rehearse: Rehearse, running: Running) -> None:
    child = begin(rehearse, running, {"run": ["sh", "-c", "echo $$ > pid; exec sleep 3000 >&- 2>&-"]}, lines=2)
    pid = int(until(lambda: _content(rehearse.cwd / "pid"), "the command wrote its pid"))
    child.send_signal(signal.SIGTERM)
    child.wait(timeout=PATIENCE_S)
    try:
        assert child.returncode == 143
        assert _is_alive(pid)
    finally:
        os.kill(pid, signal.SIGKILL)


def test_a_reader_that_goes_away_does_not_stop_the_work(rehearse: Rehearse, running: Running) -> None:
    child = begin(rehearse, running, {"run": [*[["seq", "20000"]] * 9, ["touch", "done.txt"]]})
    assert child.stdout is not None
    child.stdout.close()
    child.stdout = None
    assert child.wait(timeout=PATIENCE_S) == 0
    assert (rehearse.cwd / "done.txt").exists()


def _content(path: Path) -> str:
    return path.read_text().strip() if path.exists() else ""


def _is_alive(pid: int) -> bool:
    try:
        return "Z (zombie)" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False
