"""Real programs under their supervisor: how they end, what they leave behind, what they print."""

from __future__ import annotations

import errno
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import psutil
import pytest

from ralphy.errors import EnvironmentProblem
from ralphy.processes import supervision
from ralphy.processes.capture import Excerpt
from ralphy.processes.command import Command, Exit, NotStarted
from ralphy.processes.process_table import sweep
from ralphy.processes.supervision import StopGrace, run_supervised
from tests.conftest import lives

ROOT = Path(__file__).parents[2]

# Descendants as agents leave them: plain, its own session, forked twice and deaf to everything but KILL, and
# the same with stdout still open. Each writes its pid to a file of its own before the main program goes on.
LEAVER = """
import os, signal, sys, time

def leave(name, session, twice, deaf, hold):
    if os.fork():
        while not os.path.exists(name + ".pid"):
            time.sleep(0.005)
        return
    if session:
        os.setsid()
    if twice and os.fork():
        os._exit(0)
    if deaf:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    if not hold:
        os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
        os.dup2(1, 2)
    with open(name + ".tmp", "w") as file:
        file.write(str(os.getpid()))
    os.rename(name + ".tmp", name + ".pid")
    time.sleep(600)
    os._exit(0)

leave("plain", False, False, False, False)
leave("session", True, False, False, False)
leave("twice", True, True, True, False)
leave("holder", True, True, True, True)
"""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervision, "PATIENT", StopGrace(interrupt_s=0.3, terminate_s=0.3))


def ignore(_: bytes) -> None:
    return


def python(source: str, folder: Path, deadline_s: float = 30.0, **env: str) -> Command:
    argv = (sys.executable, "-I", "-S", "-c", textwrap.dedent(source))
    return Command(argv, str(folder), {"PATH": os.defpath, **env}, deadline_s)


def run(command: Command) -> tuple[Exit, bytes, bytes]:
    out, err = bytearray(), bytearray()
    ended = run_supervised(command, out.extend, err.extend)
    return ended, bytes(out), bytes(err)


def pids_in(folder: Path) -> list[int]:
    return [int(path.read_text()) for path in folder.glob("*.pid")]


def wait_until(claim: Callable[[], bool], within_s: float = 60.0) -> bool:
    end = time.monotonic() + within_s
    while not claim():
        if time.monotonic() > end:
            return False
        select.select([], [], [], 0.005)
    return True


def test_the_exit_code_and_both_outputs_come_through(tmp_path: Path) -> None:
    """A broken pipe ends a program as in any shell."""
    source = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    ended, out, err = run(python(source, tmp_path))
    assert (ended.returncode, ended.stopped) == (3, None)
    assert (out, err) == (b"out\n", b"err\n")
    command = Command(("sh", "-c", "kill -PIPE $$; exit 7"), str(tmp_path), {"PATH": os.defpath}, 10.0)
    assert run(command)[0].returncode == -signal.SIGPIPE


def test_a_program_that_has_ended_before_ralphy_looks_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hear = supervision._SupervisedRun._hear

    def hear_late(run: supervision._SupervisedRun) -> None:
        assert run.supervisor
        run.supervisor.wait()
        hear(run)

    monkeypatch.setattr(supervision._SupervisedRun, "_hear", hear_late)
    ended, out, _ = run(python("print('out'); raise SystemExit(3)", tmp_path))
    assert (ended.returncode, ended.stopped, out) == (3, None, b"out\n")


def test_the_child_is_a_clean_process(tmp_path: Path) -> None:
    """Own session, default signals, no core files, no foreign descriptors, exactly the environment given."""
    source = """
        import os, resource, signal
        assert os.getsid(0) == os.getpid()
        assert signal.getsignal(signal.SIGINT) == signal.default_int_handler
        status = dict(line.split(":", 1) for line in open("/proc/self/status"))
        print(int(status["SigBlk"], 16), resource.getrlimit(resource.RLIMIT_CORE)[0])
        names = sorted(set(os.environ) - {"LC_CTYPE"})  # Python's own
        print(sorted(os.listdir("/proc/self/fd"), key=int)[:-1], names, os.getcwd())
        """
    ended, out, err = run(python(source, tmp_path, ONE="1", TWO="\udcff"))
    assert ended.returncode == 0, err
    limits, rest = out.decode().splitlines()
    assert limits == "0 0"
    assert rest == f"['0', '1', '2'] ['ONE', 'PATH', 'TWO'] {tmp_path}"


NOT_STARTED = [
    ("no-such-program", "", f"no-such-program cannot be started: {os.strerror(errno.ENOENT)}"),
    ("/no/such/program", "", f"/no/such/program cannot be started: {os.strerror(errno.ENOENT)}"),
    ("./script", "", f"cannot be started: {os.strerror(errno.EACCES)}"),
    ("sh", "gone", "gone: cannot work there"),
]


def test_what_cannot_be_started_is_named(tmp_path: Path) -> None:
    (tmp_path / "script").write_text("#!/bin/sh\n")
    for name, folder, why in NOT_STARTED:
        with pytest.raises(NotStarted, match=why):
            run(Command((name,), str(tmp_path / folder), {"PATH": os.defpath}, 5.0))
        assert run(python("", tmp_path))[0].returncode == 0


def test_stdin_is_what_was_given_or_nothing(tmp_path: Path) -> None:
    source = "import sys; print(len(sys.stdin.buffer.read()))"
    command = python(source, tmp_path)
    assert run(command)[1] == b"0\n"
    given = replace(command, stdin=b"x" * 1_000_000)
    assert run(given)[1] == b"1000000\n"


@pytest.mark.fault("P8", "A13")
@pytest.mark.parametrize("ends", ["by itself", "at its deadline"])
def test_nothing_survives_a_program_that_ends(tmp_path: Path, ends: str) -> None:
    last = "\nsys.exit(5)"
    if ends == "at its deadline":
        last = "\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(600)"
    ended, _, err = run(python(LEAVER + last, tmp_path, 30.0 if ends == "by itself" else 1.0))
    expected = (5, None) if ends == "by itself" else (-signal.SIGTERM, "deadline")
    assert (ended.returncode, ended.stopped) == expected, err
    assert len(pids_in(tmp_path)) == 4
    assert not any(lives(pid) for pid in pids_in(tmp_path))


@pytest.mark.fault("P9")
def test_a_pipe_that_is_held_open_by_a_stranger_delays_the_end_by_a_second_at_most(tmp_path: Path) -> None:
    """A process that is no descendant of the program takes its stdout (by opening it through /proc)."""
    holder = subprocess.Popen(
        ["sh", "-c", "read pid; exec 3>/proc/$pid/fd/1; echo held; read gone"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdin
    assert holder.stdout

    def introduce(data: bytes) -> None:
        assert holder.stdin
        assert holder.stdout
        if b"pid" in data:
            holder.stdin.write(data.split()[1] + b"\n")
            holder.stdin.flush()
            holder.stdout.readline()
            (tmp_path / "go").touch()

    source = """
        import os, time
        print("pid", os.getpid(), flush=True)
        while not os.path.exists("go"):
            time.sleep(0.005)
        """
    ended = run_supervised(python(source, tmp_path), introduce, ignore)
    holds_on = holder.poll() is None
    with holder:
        holder.kill()
    assert (ended.returncode, holds_on, supervision._DRAIN_S) == (0, True, 1.0)


@pytest.mark.parametrize(("deaf", "returncode"), [("", -signal.SIGINT), ("INT", -signal.SIGTERM), ("INT TERM", -9)])
@pytest.mark.fault("P6")
def test_a_stop_climbs_from_interrupt_to_terminate_to_kill(tmp_path: Path, deaf: str, returncode: int) -> None:
    trap = f"trap '' {deaf};" if deaf else ""
    argv = ("sh", "-c", f"{trap} echo up; while :; do sleep 600 & wait; done")
    command = Command(argv, str(tmp_path), {"PATH": os.defpath}, 0.5)
    ended, _, _ = run(command)
    assert (ended.returncode, ended.stopped) == (returncode, "deadline")


def test_a_program_that_may_not_be_interrupted_is_terminated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As one that runs as another user may not."""
    kill = os.kill

    def refuse(pid: int, number: int) -> None:
        if number == signal.SIGINT:
            raise PermissionError(errno.EPERM, "not permitted")
        kill(pid, number)

    monkeypatch.setattr(os, "kill", refuse)
    ended, _, _ = run(python("import time; time.sleep(600)", tmp_path, deadline_s=0.2))
    assert (ended.returncode, ended.stopped) == (-signal.SIGTERM, "deadline")


@pytest.mark.fault("P7")
def test_a_stopped_program_is_woken_to_be_ended(tmp_path: Path) -> None:
    def is_stopped(root: int) -> str | None:
        family = psutil.Process(root).children()
        return "frozen" if any(one.status() == psutil.STATUS_STOPPED for one in family) else None

    command = Command(("sh", "-c", "kill -STOP $$"), str(tmp_path), {"PATH": os.defpath}, 60.0)
    ended = run_supervised(command, ignore, ignore, should_stop=is_stopped)
    assert (ended.returncode, ended.stopped) == (-signal.SIGINT, "frozen")


@pytest.mark.fault("C2")
def test_the_time_in_which_ralphy_was_stopped_does_not_count_for_the_deadline(tmp_path: Path) -> None:
    """Ralphy is stopped for longer than the deadline and woken; the program comes to its end."""
    program = "print(1, flush=True); open('go').read(); print(2)"
    source = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from ralphy.processes import supervision
from ralphy.processes.command import Command
from ralphy.processes.supervision import run_supervised
supervision._ASLEEP_S = 0.3
command = Command((sys.executable, "-I", "-S", "-c", {program!r}), {str(tmp_path)!r}, {{}}, 3.0)
ended = run_supervised(command, lambda data: print(data.decode(), end="", flush=True), print,
                         should_stop=lambda _: None)
print(ended.returncode, ended.stopped)
"""
    os.mkfifo(tmp_path / "go")
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True) as ralphy:
        assert ralphy.stdout
        assert ralphy.stdout.readline() == "1\n"
        ralphy.send_signal(signal.SIGSTOP)
        select.select([], [], [], 4.0)
        ralphy.send_signal(signal.SIGCONT)
        (tmp_path / "go").write_text("")
        assert ralphy.stdout.read() == "2\n0 None\n"


def test_the_caller_may_stop_a_run_and_hears_the_reason_before_the_first_signal(tmp_path: Path) -> None:
    heard, reasons = bytearray(), []
    source = """
        import os, signal, time
        def leave(*_):
            os.write(1, b"interrupted\\n")
            raise SystemExit(4)
        signal.signal(signal.SIGINT, leave)
        print("ready", flush=True)
        time.sleep(600)
        """
    ended = run_supervised(
        python(source, tmp_path),
        heard.extend,
        ignore,
        should_stop=lambda _: "output" if heard else None,
        on_stop=lambda reason: reasons.append((reason, bytes(heard))),
    )
    assert (ended.returncode, ended.stopped) == (4, "output")
    assert reasons == [("output", b"ready\n")]
    assert bytes(heard) == b"ready\ninterrupted\n"


@pytest.mark.fault("P5")
def test_an_impatient_second_interrupt_kills_at_once(tmp_path: Path) -> None:
    def interrupt_twice() -> None:
        wait_until((tmp_path / "ready").exists)
        os.kill(os.getpid(), signal.SIGINT)
        wait_until((tmp_path / "interrupted").exists)
        os.kill(os.getpid(), signal.SIGINT)

    deaf = """
def note(*_):
    open("interrupted", "w").close()
signal.signal(signal.SIGINT, note)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
open("ready", "w").close()
while True:
    time.sleep(600)
"""
    friend = threading.Thread(target=interrupt_twice)
    friend.start()
    with pytest.raises(KeyboardInterrupt):
        run(python(LEAVER + deaf, tmp_path))
    friend.join()
    assert not any(lives(pid) for pid in pids_in(tmp_path))


def ralphy_over(program: str, folder: Path) -> subprocess.Popen[bytes]:
    """A Ralphy of its own that runs this program."""
    source = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from ralphy.processes.command import Command
from ralphy.processes.supervision import run_supervised
argv = (sys.executable, "-I", "-S", "-c", {program + "time.sleep(600)"!r})
run_supervised(Command(argv, {str(folder)!r}, {{}}, 600.0), print, print)
"""
    return subprocess.Popen([sys.executable, "-c", source])


@pytest.mark.fault("P15")
def test_a_killed_ralphy_leaves_nothing_behind(tmp_path: Path) -> None:
    ralphy = ralphy_over(LEAVER, tmp_path)
    assert wait_until(lambda: len(pids_in(tmp_path)) == 4)
    ralphy.kill()
    ralphy.wait()
    assert wait_until(lambda: not any(lives(pid) for pid in pids_in(tmp_path)))


@pytest.mark.fault("P15")
def test_what_runs_ends_when_ralphy_and_its_supervisor_are_killed_at_once(tmp_path: Path) -> None:
    """Nobody is left to sweep: the kernel ends the program."""
    said = tmp_path / "pids"
    tells = f"import os, time; open({str(said)!r}, 'w').write(f'{{os.getpid()}} {{os.getppid()}}\\n'); "
    ralphy = ralphy_over(tells, tmp_path)
    assert wait_until(lambda: said.exists() and said.read_text().endswith("\n"))
    main, supervisor = map(int, said.read_text().split())
    ralphy.send_signal(signal.SIGSTOP)
    os.kill(supervisor, signal.SIGKILL)
    ralphy.kill()
    ralphy.wait()
    assert wait_until(lambda: not lives(main))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_supervisor_that_is_ended_takes_its_tree_along_and_the_next_run_works(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Killed, it leaves them behind: the marker finds them."""
    source = LEAVER + "\nprint(os.getppid(), flush=True); time.sleep(600)"
    marked = python(source, tmp_path, RALPHY_RUN_ID=f"run-{tmp_path}")
    with pytest.raises(EnvironmentProblem, match="supervisor"):
        run_supervised(marked, lambda data: os.kill(int(data), number), ignore)
    assert len(pids_in(tmp_path)) == 4
    assert not any(lives(pid) for pid in pids_in(tmp_path))
    assert run(python("", tmp_path))[0].returncode == 0


def test_a_supervisor_that_is_stopped_is_woken_to_end_its_program(tmp_path: Path) -> None:
    source = LEAVER + "\nos.kill(os.getppid(), signal.SIGSTOP); time.sleep(600)"

    def is_stopped(root: int) -> str | None:
        return "memory" if psutil.Process(root).status() == psutil.STATUS_STOPPED else None

    ended = run_supervised(python(source, tmp_path, 60.0), ignore, ignore, should_stop=is_stopped)
    assert (ended.returncode, ended.stopped) == (-signal.SIGKILL, "memory")
    assert len(pids_in(tmp_path)) == 4
    assert not any(lives(pid) for pid in pids_in(tmp_path))


def test_an_excerpt_is_whole_or_says_how_much_is_missing() -> None:
    data = bytes(range(256)) * 10
    for limit, piece in product([0, 1, 63, 64, 65, 100, 1000], [1, 7, 5000]):
        for size in (0, limit, limit + 1, len(data)):
            excerpt = Excerpt(limit)
            for at in range(0, min(size, len(data)), piece):
                excerpt.add(data[at : min(at + piece, size)])
            whole = data[:size]
            assert excerpt.value() == whole if len(whole) <= limit else b" bytes left out" in excerpt.value()
            assert len(excerpt.value()) <= max(limit, limit // 4 + 64)


def test_a_sweep_kills_what_carries_all_the_marks_and_nothing_else(tmp_path: Path) -> None:
    """A run of the same name in another repository lives on."""

    def start(repo: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(["sleep", "600"], env={**os.environ, "RALPHY_REPO": repo, "RALPHY_RUN_ID": "setup"})

    with start(f"{tmp_path}") as ours, start(f"{tmp_path}-other") as other:
        assert sweep({"RALPHY_REPO": str(tmp_path), "RALPHY_RUN_ID": "setup"}) == 1
        assert ours.wait() == -signal.SIGKILL
        assert lives(other.pid)
        other.kill()
    assert sweep({}) == 0


def test_a_sweep_spares_itself_and_its_ancestors(tmp_path: Path) -> None:
    source = f"""
import os, subprocess, sys
sys.path.insert(0, {str(ROOT)!r})
from ralphy.processes.process_table import sweep
child = subprocess.Popen(["sleep", "600"])
print(sweep({{"RALPHY_REPO": {str(tmp_path)!r}}}), child.wait())
"""
    argv = ["sh", "-c", '"$0" -c "$1"; echo parent lives', sys.executable, source]
    env = {**os.environ, "RALPHY_REPO": str(tmp_path)}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "1 -9\nparent lives\n"
