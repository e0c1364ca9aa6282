"""The sandbox as a program in it meets it: what can be written, what cannot, and that nothing outlives it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from ralphy.files.memory_file import sealed
from ralphy.processes.supervision import Command, Supervisor
from ralphy.sandbox.bubblewrap import Place, Sandbox, find, open_sandbox, run_inside, why_not
from tests.adapters.test_supervisor import wait_until
from tests.conftest import RunGit, is_gone

pytestmark = pytest.mark.usefixtures("sandbox")


@pytest.fixture
def place(git_repo: Path) -> Place:
    feature = git_repo / "docs" / "features" / "login"
    for folder in (feature / ".ralphy" / "outbox", git_repo / ".ralphy", git_repo / ".git" / "ralphy"):
        folder.mkdir(parents=True)
    (feature / "prd.json").write_text("{}")
    (git_repo / ".git" / "ralphy" / "journal.jsonl").write_text("")
    git_dir = git_repo / ".git"
    return Place(git_repo, git_dir, git_dir, git_dir / "ralphy", feature, feature.parent)


@pytest.fixture
def box(place: Place) -> Sandbox:
    program = find(os.environ)
    assert program
    return open_sandbox(program, place)


def outbox(place: Place) -> Path:
    """The one folder of the feature that its agent may write to."""
    return place.feature / ".ralphy" / "outbox"


def inside(box: Sandbox, place: Place, script: str) -> tuple[int, str]:
    """(exit code, what was printed) of a shell script in the sandbox."""
    done = run_inside(box, ["sh", "-c", script], os.environ, cwd=str(place.root), shared=str(outbox(place)))
    return done.returncode, (done.stdout + done.stderr).decode()


@pytest.mark.parametrize(
    "attempt",
    [
        "git config core.fsmonitor evil",
        "echo x >> .git/config",
        "mv evil .git/config",
        "echo x > .git/hooks/post-commit",
        "echo '*' >> .git/info/exclude",
        "echo x >> .git/ralphy/journal.jsonl",
        "rm -rf .git/ralphy",
        "mv .git .hidden",
        "echo HACK > docs/features/login/prd.json",
        "mv evil docs/features/login/prd.json",
        "rm docs/features/login/prd.json",
        "touch docs/features/login/APPROVED",
        "touch docs/features/login/.ralphy/x",
        "mv docs/features/login elsewhere",
        "mv docs/features elsewhere",
        "mv docs elsewhere",
        "touch .ralphy/config.yaml",
        "umount docs/features/login",
        "mount -o remount,rw,bind docs/features/login",
        "unshare -rm sh -c 'mount -o remount,rw,bind docs/features/login; echo HACK > docs/features/login/prd.json'",
        "unshare -rm sh -c 'umount docs/features/login; echo HACK > docs/features/login/prd.json'",
    ],
)
@pytest.mark.fault("A4")
@pytest.mark.attempt(12, 14)
def test_what_is_trusted_cannot_be_changed(box: Sandbox, place: Place, attempt: str) -> None:
    (place.root / "evil").write_text("HACK")
    code, words = inside(box, place, attempt)
    assert code != 0, words
    assert (place.feature / "prd.json").read_text() == "{}"
    assert "HACK" not in (place.git_dir / "config").read_text()
    assert sorted(path.name for path in place.feature.iterdir()) == [".ralphy", "prd.json"]


def test_work_is_done_as_ever(box: Sandbox, place: Place, git: RunGit, private_home: Path) -> None:
    work = (
        "echo 'x = 1' > new.py && git add new.py && git commit --quiet -m 'my own' && touch ~/note"
        f" && echo spec > {outbox(place)}/SPEC.md && echo doc > docs/guide.md && git status --short"
    )
    assert inside(box, place, work)[0] == 0
    assert git("log", "-1", "--format=%s") == "my own"
    assert (private_home / "note").exists()
    assert (outbox(place) / "SPEC.md").read_text() == "spec\n"
    assert (place.root / "docs" / "guide.md").exists()


def test_a_file_that_ralphy_replaces_meanwhile_stays_out_of_reach(box: Sandbox, place: Place) -> None:
    script = "echo ready; read go; cat docs/features/login/prd.json; echo HACK > docs/features/login/prd.json"
    with sealed(box.filter) as filter_at, subprocess.Popen(
        box.around(["sh", "-c", script], os.environ, filter_at=filter_at), cwd=place.root, pass_fds=(filter_at,),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
    ) as process:  # fmt: skip
        assert process.stdin and process.stdout
        assert process.stdout.readline() == "ready\n"
        (place.feature / "new").write_text('{"new": 1}')
        (place.feature / "new").replace(place.feature / "prd.json")
        out, _ = process.communicate("go\n", timeout=20)
    assert out.strip() == '{"new": 1}'
    assert process.returncode != 0
    assert (place.feature / "prd.json").read_text() == '{"new": 1}'


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    with Supervisor() as running:
        yield running


def run(supervisor: Supervisor, box: Sandbox, place: Place, code: str, stop_at: bytes = b"") -> tuple[int | None, str]:
    """(exit code, what was printed) of a Python program that is stopped when it has printed `stop_at`."""
    heard = bytearray()
    argv = box.around([sys.executable, "-c", code], os.environ)
    command = Command(argv, str(place.root), dict(os.environ), 30.0, filter=box.filter)
    ended = supervisor.run(
        command, heard.extend, None, should_stop=lambda: "enough" if stop_at and stop_at in heard else None
    )
    return ended.returncode, heard.decode()


def test_an_interrupt_reaches_the_program_inside(supervisor: Supervisor, box: Sandbox, place: Place) -> None:
    code = """
import signal, sys, time
def end(*_):
    print("a clean end", flush=True)
    sys.exit(7)
signal.signal(signal.SIGINT, end)
print("ready", flush=True)
time.sleep(60)
"""
    assert run(supervisor, box, place, code, b"ready\n") == (7, "ready\na clean end\n")


@pytest.mark.fault("A13")
@pytest.mark.parametrize("how", ["it ends", "it is stopped"])
@pytest.mark.attempt(47)
def test_nothing_outlives_the_program(supervisor: Supervisor, box: Sandbox, place: Place, how: str) -> None:
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
    run(supervisor, box, place, code, b"ready" if how == "it is stopped" else b"")
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


def test_the_program_dies_with_ralphy(box: Sandbox, place: Place) -> None:
    argv = replace(box, filter=b"").around(["sh", "-c", "echo ready; exec sleep 300"], os.environ)
    starter = f"import subprocess,sys,time; p = subprocess.Popen({argv!r}); print(p.pid, flush=True); time.sleep(300)"
    with subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE, encoding="utf-8") as parent:
        assert parent.stdout
        lines = {parent.stdout.readline(), parent.stdout.readline()}
        pid = int((lines - {"ready\n"}).pop())
        parent.send_signal(signal.SIGKILL)
    assert is_gone(pid)


def test_a_program_that_does_not_exist_is_left_to_fail_by_itself(box: Sandbox) -> None:
    assert box.around(["is-not-there", "-x"], os.environ) == ("is-not-there", "-x")


def test_it_says_why_it_does_not_work(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    why, fix = why_not(Sandbox((str(broken),)))
    assert "No permissions to create a new namespace" in why
    assert "user namespaces" in fix
    assert why_not(Sandbox(("/is/not/there",)))[0].startswith("bubblewrap cannot be started")


def held(box: Sandbox, place: Place, script: str) -> Command:
    argv = box.held.around(["sh", "-c", script], os.environ)
    return Command(argv, str(place.root), dict(os.environ), 30.0, is_held=True, filter=box.filter)


def test_a_held_program_starts_when_it_is_let_go(supervisor: Supervisor, box: Sandbox, place: Place) -> None:
    heard = bytearray()
    command = held(box, place, f"cat {place.root}/laid-out; ls /proc/$$/fd")
    with supervisor.prepared(command, heard.extend, None) as held_run:
        (place.root / "laid-out").write_text("in time\n")
        held_run.start()
        ended = held_run.complete()
    assert (ended.returncode, bytes(heard)) == (0, b"in time\n0\n1\n2\n")  # what it waited at is closed


def test_of_a_held_program_that_is_not_wanted_nothing_runs(supervisor: Supervisor, box: Sandbox, place: Place) -> None:
    with pytest.raises(ZeroDivisionError), supervisor.prepared(held(box, place, "touch ran"), _unheard, None):
        assert wait_until(lambda: bool(walls_below(supervisor.pid)))
        raise ZeroDivisionError
    assert not walls_below(supervisor.pid)
    with supervisor.prepared(held(box, place, "touch ran"), _unheard, None):
        assert wait_until(lambda: bool(walls_below(supervisor.pid)))
    assert not walls_below(supervisor.pid)
    assert not (place.root / "ran").exists()
    assert supervisor.run(held(box, place, "touch ran"), _unheard, None).returncode == 0  # the next one is let go


def test_when_ralphy_dies_a_held_program_never_starts(box: Sandbox, place: Place) -> None:
    code = """
import os, signal, sys
from ralphy.files.memory_file import sealed
from ralphy.processes.supervision import Command, Supervisor
command = Command(tuple(sys.argv[2:]), sys.argv[1], dict(os.environ), 30.0, is_held=True)
with Supervisor().prepared(command, bytes, None):
    print(os.getpid(), flush=True)
    signal.pause()
"""
    argv = held(replace(box, filter=b""), place, "touch ran").argv
    with subprocess.Popen([sys.executable, "-c", code, place.root, *argv], stdout=subprocess.PIPE) as ralphy:
        assert ralphy.stdout and ralphy.stdout.readline()
        family = [*psutil.Process(ralphy.pid).children(recursive=True)]
        assert family
        ralphy.kill()
    _, alive = psutil.wait_procs(family, timeout=5)
    assert not alive
    assert not (place.root / "ran").exists()


def walls_below(pid: int) -> list[int]:
    """The sandboxes below a process."""
    return [child.pid for child in psutil.Process(pid).children(recursive=True) if child.name() == "bwrap"]


def _unheard(_: bytes) -> None:
    return
