"""The sandbox as a program in it meets it: what can be written, what cannot, and that nothing outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ralphy.processes.command import Command, NotStarted
from ralphy.processes.supervision import run_supervised
from ralphy.sandbox.bubblewrap import Sandbox
from tests.conftest import RunGit, is_gone
from tests.sandbox.inside import Box, Boxes


@pytest.fixture
def place(boxes: Boxes) -> Box:
    """A lane of a repository with one feature. Inside, it is seen at the repository's path."""
    return boxes("open")


@pytest.fixture
def box(place: Box) -> Sandbox:
    return place.sandbox


def test_work_is_done_as_ever(place: Box, git: RunGit) -> None:
    work = (
        "echo 'x = 1' > new.py && git add new.py && git commit --quiet -m 'my own' && touch ~/.cache/note /tmp/note"
        f" && echo spec > {place.outbox}/SPEC.md && echo doc > docs/guide.md && git log -1 --format=%s"
    )
    assert place.runs("sh", "-c", work) == (0, "my own\n")
    assert git("log", "-1", "--format=%s") == "a feature"
    assert (place.outbox / "SPEC.md").read_text() == "spec\n"
    assert (place.tree / "docs" / "guide.md").exists()


def run(box: Sandbox, place: Box, code: str, stop_at: bytes = b"") -> tuple[int | None, str]:
    """(exit code, what was printed) of a Python program that is stopped when it has printed `stop_at`."""
    heard = bytearray()
    argv = box.around([sys.executable, "-c", code], os.environ)
    command = Command(argv, str(place.root), dict(os.environ), 30.0, filter=box.filter)
    ended = run_supervised(
        command, heard.extend, should_stop=lambda _: "enough" if stop_at and stop_at in heard else None
    )
    return ended.returncode, heard.decode()


def test_an_interrupt_reaches_the_program_inside(box: Sandbox, place: Box) -> None:
    code = """
import signal, sys, time
def end(*_):
    print("a clean end", flush=True)
    sys.exit(7)
signal.signal(signal.SIGINT, end)
print("ready", flush=True)
time.sleep(600)
"""
    assert run(box, place, code, b"ready\n") == (7, "ready\na clean end\n")


@pytest.mark.fault("A13")
@pytest.mark.parametrize("how", ["it ends", "it is stopped"])
@pytest.mark.attempt(47)
def test_nothing_outlives_the_program(box: Sandbox, place: Box, how: str) -> None:
    """Not even a server that was put into a session of its own, twice, and ignores every signal."""
    mark = place.root / "mark"
    server = f"""
import signal, time
for n in (1, 2, 15):
    signal.signal(n, signal.SIG_IGN)
open({str(mark)!r}, "w").close()
time.sleep(300)
"""
    code = f"""
import os, signal, subprocess, sys, time
subprocess.Popen(["setsid", "setsid", sys.executable, "-c", {server!r}])
while not os.path.exists({str(mark)!r}):
    time.sleep(0.01)
for n in (2, 15):
    signal.signal(n, signal.SIG_IGN)
print("ready", flush=True)
if {how!r} == "it is stopped":
    time.sleep(300)
"""
    before = sleepers()
    run(box, place, code, b"ready" if how == "it is stopped" else b"")
    assert all(is_gone(pid) for pid in sleepers() - before)


def sleepers() -> set[int]:
    """Processes that hold the long sleep of these tests."""
    found = set()
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and b"time.sleep(300)" in (entry / "cmdline").read_bytes():
                found.add(int(entry.name))
        except OSError:
            continue
    return found


def test_the_program_dies_with_ralphy(box: Sandbox, place: Box) -> None:
    argv = replace(box, filter=b"").around(["sh", "-c", "echo ready; exec sleep 300"], os.environ)
    starter = f"import subprocess,sys,time; p = subprocess.Popen({argv!r}); print(p.pid, flush=True); time.sleep(300)"
    with subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE, encoding="utf-8") as parent:
        assert parent.stdout
        lines = {parent.stdout.readline(), parent.stdout.readline()}
        pid = int((lines - {"ready\n"}).pop())
        parent.send_signal(signal.SIGKILL)
    assert is_gone(pid)


def test_a_program_that_does_not_exist_is_named(box: Sandbox) -> None:
    with pytest.raises(NotStarted, match="is-not-there cannot be started"):
        box.around(["is-not-there", "-x"], os.environ)
