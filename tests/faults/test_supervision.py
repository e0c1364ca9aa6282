"""Whole loops whose agent hangs, circles, multiplies, eats, hides or freezes: it is ended, and the night goes on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from ralphy.errors import ExitCode
from ralphy.files.disk_space import free_bytes
from tests.conftest import is_gone
from tests.engine.building import PATIENCE_S, ROOT, Ended, Project, assert_clean, build, story, works
from tests.engine.test_interruptions import Scene
from tests.sampling import sampled

SILENCE = "RALPHY_CIRCUIT_BREAKER_INACTIVITY_TIMEOUT"
CODES = {signal.SIGINT: ExitCode.INTERRUPTED, signal.SIGTERM: ExitCode.TERMINATED, signal.SIGHUP: ExitCode.TERMINATED}


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    yield Scene(tmp_path)


def troubled(tmp_path: Path, act: dict[str, Any], **settings: Any) -> tuple[Project, Ended]:
    """A story whose first run is this act, and whose second works; the first run has been made."""
    project = build(tmp_path, story("US-001"), **settings)
    project.play(stories={"US-001": [act, works()], "*": [works()]})
    ended = project.loop(waits=False)
    return project, ended


def first_end(project: Project) -> dict[str, Any]:
    return project.journal("end")[0]


def goes_on(project: Project) -> str:
    """Let the loop go on, long after every pause; the number of the attempt that succeeded."""
    project.env.pop(SILENCE, None)
    project.loop(clock=lambda: time.time() + 7200, agents=1)
    assert project.landed() == ["login/US-001"]
    assert_clean(project)
    return project.trailer("Ralphy-Attempt", project.commit_of("US-001"))


@pytest.mark.fault("P7", "P10")
def test_an_agent_that_hangs_or_is_frozen_is_ended_and_uses_no_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SILENCE, "0.7")
    project = build(tmp_path, story("US-001"))
    project.play(stories={"US-001": [works(hang=True), works(freeze=True), works()]})
    ended = project.loop(waits=False)
    assert ended.code == ExitCode.LIMITED
    assert [line.split(":")[0] for line in ended.said if line.startswith("warning")] == [
        "warning 1/3 (HALF_OPEN)",
        "warning 2/3 (HALF_OPEN)",
        "warning 3/3 (OPEN, stopping the run)",
    ]
    project.loop(waits=False, clock=lambda: time.time() + 3600)

    assert project.outcomes() == [("US-001", "transient")] * 2
    assert [(end["trigger"], end["warnings"]) for end in project.journal("end")] == [("silence", 3)] * 2
    assert goes_on(project) == "1"


@pytest.mark.fault("P10")
def test_an_agent_that_never_starts_is_ended_in_time_and_uses_no_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RALPHY_TIMEOUTS_STARTUP", "1")
    project, ended = troubled(tmp_path, works(silent_hang=True), circuit_breaker={"enabled": False})
    monkeypatch.delenv("RALPHY_TIMEOUTS_STARTUP")

    assert ended.code == ExitCode.LIMITED
    assert project.outcomes() == [("US-001", "transient")]
    end = first_end(project)
    assert (end["trigger"], end["detail"]) == ("startup", "the agent did not start within 1 s (timeouts.startup)")
    project.env.pop("RALPHY_TIMEOUTS_STARTUP", None)
    assert goes_on(project) == "1"


@pytest.mark.fault("P12")
def test_a_tool_that_is_silent_for_longer_than_an_agent_may_be_is_not_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(SILENCE, "0.8")
    project, _ = troubled(tmp_path, works(run=["sleep", "3.2"]))
    assert project.outcomes()[0] == ("US-001", "succeeded")
    assert first_end(project)["seconds"] > 3.2


HIDDEN = "env -i sh -c 'trap \"\" TERM; echo $$; exec sleep 600' "
# Nine times the same; but the time of day and two numbers differ.
SAME_ERROR = [
    ["sh", "-c", f"date +%T.%N; echo 'E   assert 3 == 4'; echo '1 failed in 0.{n}s'; exit 1"] for n in range(9)
]
BOMB = "n=0; while [ $n -lt 2000 ]; do sleep 60 & n=$((n+1)); done; wait"
EATS = "import time; held = bytearray(b'x') * (600 << 20); time.sleep(60)"
# What the first agent of each story does: its act, how the run ends, by what, and what is said of it.
NIGHT: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "US-001": ({"run": SAME_ERROR, "hang": True}, "stalled", "repeated_error",
               "the same error occurred 9 times in a row: 1 failed in 0.8s"),
    "US-002": ({"say": ["x" * 4000] * 2000, "hang": True}, "stalled", "output", "printed without progress"),
    "US-003": ({"run": ["sh", "-c", BOMB]}, "crashed", "processes", "limits.max_processes: 300"),
    "US-004": ({"run": [sys.executable, "-I", "-S", "-c", EATS]}, "crashed", "memory", "limits.max_memory_mb: 400"),
}  # fmt: skip


@pytest.mark.fault("P8", "P13", "P14")
@pytest.mark.attempt(45, 47)
def test_agents_that_circle_flood_multiply_or_eat_the_memory_are_ended_and_the_next_are_told_why(
    tmp_path: Path,
) -> None:
    before = psutil.Process().children(recursive=True)
    project = build(tmp_path, *map(story, [*NIGHT, "US-005"]), limits={"max_processes": 300, "max_memory_mb": 400})
    hides = ["sh", "-c", f"setsid {HIDDEN} > '{tmp_path}/pid' 2> /dev/null < /dev/null & sleep 0.3"]
    acts = {name: [act, works()] for name, (act, *_) in NIGHT.items()}
    project.play(stories={**acts, "US-005": [works(run=hides)]})

    ended = project.loop(agents=2 * len(NIGHT) + 1)

    assert ended.runs == [*(name for name in NIGHT for _ in range(2)), "US-005"]
    for end, (name, (_, outcome, trigger, said)) in zip(project.journal("end")[::2], NIGHT.items(), strict=False):
        assert (name, end["outcome"], end["trigger"]) == (name, outcome, trigger)
        assert said in end["detail"] and said in project.prompts(name)[1]
        assert project.trailer("Ralphy-Attempt", project.commit_of(name)) == "2"
    assert is_gone(int((tmp_path / "pid").read_text()))
    assert [child for child in psutil.Process().children(recursive=True) if child not in before] == []
    assert_clean(project)


@pytest.mark.fault("P13")
def test_a_fork_bomb_among_the_tests_makes_the_check_red(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_processes": 200, "max_attempts": 1})
    bomb = "import os, subprocess\nif os.path.exists('src/us_001.py'):\n"
    bomb += "    for child in [subprocess.Popen(['sleep', '60']) for _ in range(1000)]:\n        child.wait()\n"
    (project.repo / "check.py").write_text(bomb, encoding="utf-8")
    project.git("commit", "--quiet", "-am", "test: a bomb")
    project.loop()
    assert project.outcomes() == [("US-001", "rejected")]
    assert "processes at once (limits.max_processes: 200)" in first_end(project)["detail"]


@pytest.mark.attempt(46)
def test_a_disk_that_runs_full_during_a_run_ends_it_and_uses_no_attempt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ralphy.processes.resource_limits.free_bytes", lambda folders: (7 << 20, next(iter(folders))))
    project, _ = troubled(tmp_path, works())
    end = first_end(project)
    assert (end["outcome"], end["trigger"]) == ("transient", "disk")
    assert end["detail"] == f"the disk is nearly full: 7 MB are free at {project.repo} (limits.min_free_mb: 500)"
    monkeypatch.setattr("ralphy.processes.resource_limits.free_bytes", free_bytes)
    assert goes_on(project) == "1"


@pytest.mark.fault("P8")
def test_when_the_supervisor_is_killed_nothing_lives_on_and_the_next_loop_goes_on(scene: Scene, tmp_path: Path) -> None:
    told = tmp_path / "sleeper.pid"
    sleeper = f"setsid sleep 600 > /dev/null 2>&1 < /dev/null & echo $! > '{told}'"
    process = scene.begin(before=["sh", "-c", sleeper])
    supervisor = psutil.Process(scene.hanging).ppid()
    asleep = int(told.read_text())
    os.kill(supervisor, signal.SIGKILL)
    _, said = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == ExitCode.ENVIRONMENT
    assert "supervisor" in said
    assert is_gone(scene.hanging)
    assert is_gone(asleep)
    assert scene.project.loop(agents=1).runs == ["US-001"]
    assert_clean(scene.project)


@pytest.mark.fault("P4")
@pytest.mark.parametrize(
    ("phase", "number"),
    sampled(
        [
            ("an agent works", signal.SIGHUP),
            ("a check runs", signal.SIGTERM),
            ("a check runs", signal.SIGHUP),
            ("at a gate", signal.SIGINT),
            ("at a gate", signal.SIGTERM),
            ("a limit is waited for", signal.SIGINT),
            ("a limit is waited for", signal.SIGHUP),
        ],
        ("a limit is waited for", signal.SIGINT),
    ),
)
def test_a_signal_in_any_phase_ends_everything_at_once_and_the_next_loop_goes_on(
    phase: str, number: signal.Signals, scene: Scene
) -> None:
    process = PHASES[phase](scene)
    family = [child.pid for child in psutil.Process(process.pid).children(recursive=True)]
    process.send_signal(number)
    process.communicate(timeout=PATIENCE_S)

    assert process.returncode == CODES[number]
    assert [pid for pid in family if not is_gone(pid)] == []
    assert_clean(scene.project)
    scene.project.play(stories={"*": [works()]})
    scene.project.loop(clock=lambda: time.time() + 7200, agents=1)
    assert scene.project.landed() == ["login/US-001"]
    assert scene.project.trailer("Ralphy-Attempt", scene.project.commit_of("US-001")) == "1"


def waits(scene: Scene, act: dict[str, Any], words: str) -> subprocess.Popen[str]:
    """Start, and come back when Ralphy says these words."""
    scene.project.play(stories={"*": [act]})
    process = scene.project.start("start", "login")
    assert process.stderr
    assert any(words in line for line in process.stderr), words
    return process


PHASES: dict[str, Callable[[Scene], subprocess.Popen[str]]] = {
    "an agent works": lambda scene: scene.begin(),
    "a check runs": lambda scene: scene.begin_check(),
    "at a gate": lambda scene: waits(scene, works(), "APPROVED"),
    "a limit is waited for": lambda scene: waits(scene, {"limit": {"resets_in_s": 3600}}, "waiting until"),
}


@pytest.mark.fault("P16")
@pytest.mark.parametrize(
    "words",
    sampled(
        ["loop login --json | head -1", "loop login --json >&- 2>&-", "loop login 2>&1 | true"],
        "loop login --json | head -1",
    ),
)
def test_a_loop_that_nobody_listens_to_goes_on(words: str, tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    called = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -P -m ralphy {words}'],
        cwd=project.repo,
        env={**project.env, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert b"Traceback" not in called.stderr
    assert project.landed() == ["login/US-001"]
    assert len(list((project.folder / ".ralphy" / "runs").glob("*/stream.ndjson"))) == 2
    assert_clean(project)


@pytest.mark.fault("P16")
def test_what_nohup_started_outlives_its_terminal(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    for name in ("there", "gone"):
        os.mkfifo(tmp_path / name)
    wait = ["sh", "-c", f"echo there > '{tmp_path}/there'; read word < '{tmp_path}/gone'"]
    project.play(stories={"US-001": [works(run=wait)]})
    with subprocess.Popen(
        ["nohup", sys.executable, "-P", "-m", "ralphy", "loop", "login"],
        cwd=project.repo,
        env={**project.env, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        (tmp_path / "there").read_text()
        process.send_signal(signal.SIGHUP)
        (tmp_path / "gone").write_text("now\n")
        assert process.wait(PATIENCE_S) == ExitCode.WAITING
    assert project.outcomes()[0] == ("US-001", "succeeded")


# Prints with `w`, and ends well; the memory of the Ralphy that reads it is measured.
FLOODS = {
    "500 MB in one line": "for _ in range(500): w(b'x' * 1000000)\nw(b'\\n')",
    "500 MB in one object": "w(b'{\"a\": \"')\nfor _ in range(500): w(b'x' * 1000000)\nw(b'\"}\\n')",
    "500 MB in lines": "for _ in range(500): w((b'x' * 3999 + b'\\n') * 250)",
    "500 MB of NUL": "for _ in range(500): w(bytes(1000000))\nw(b'\\n')",
    "2 million lines": "for _ in range(4): w(b'\\n' * 500000)",
    "broken text": "for _ in range(100): w(b'\\xff\\xfe\\xed\\xa0\\x80\\x1b]52;c;eA==\\x07\\r' * 100000 + b'\\n')",
}
READER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from ralphy.agents.claude.cli import Claude
from ralphy.agents.program import Conditions
from ralphy.agents.protocol import AgentRequest
program = "import os\\ndef w(b):\\n    v = memoryview(b)\\n    while v: v = v[os.write(1, v):]\\n" + sys.argv[2] + '''
w(b'{"type": "result", "subtype": "success", "is_error": false, "terminal_reason": "completed", '
  b'"num_turns": 1, "result": "done"}\\\\n')
'''
request = AgentRequest("r", ".", "runs/r", "m", 100.0, "s", {"PATH": os.defpath})
agent = Claude((sys.executable, "-I", "-S", "-c", program), Conditions())
result = agent.prepared(request, lambda _: None)("do")
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM:"))  # getrusage has the parent's, too
print(result.outcome.value, int(peak.split()[1]) // 1024,
      sum(os.path.getsize(f"runs/r/{name}") for name in os.listdir("runs/r")) >> 20)
"""


@pytest.mark.fault("A9", "A11")
@pytest.mark.parametrize("flood", sampled(FLOODS, "500 MB in one line"))
def test_no_flood_makes_ralphy_grow_or_hang_or_fills_the_disk(flood: str, tmp_path: Path) -> None:
    """Without the watchdog, which would end them all after 1.5 MB."""
    argv = [sys.executable, "-c", READER, str(ROOT), FLOODS[flood]]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.stderr == ""
    outcome, memory_mb, logs_mb = done.stdout.split()
    assert (outcome, int(memory_mb) < 200, int(logs_mb) <= 65) == ("succeeded", True, True), done.stdout
