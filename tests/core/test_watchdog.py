"""The watchdog inside a run, driven by hand: what warns, what stops, and what a healthy run may do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.agents.claude.loop_detection import output_key
from ralphy.agents.claude.stream import Transcript, parse
from ralphy.agents.claude.watchdog import Trigger, Watchdog, WatchdogWarning
from ralphy.config.values import WatchdogLimits
from ralphy.engine.runs.running import thresholds_of
from ralphy.pipeline.steps.pr import PR

TESTS = Path(__file__).parents[1]
HEALTHY = sorted(TESTS.glob("streams*/*.ndjson"))
SEED = WatchdogLimits()
TICK_S = 0.25


@dataclass
class Run:
    """A run on a clock of its own: `passes` lets time go by, looked at as often as in earnest."""

    patience: float = 1.0
    breaker: WatchdogLimits = SEED
    tool_timeout_s: float = 0.0
    starts: bool = True
    now: float = 1000.0
    slept: float = 500.0
    printed: int = 0
    transcript: Transcript = field(default_factory=Transcript)
    warned: list[WatchdogWarning] = field(default_factory=list)

    def __post_init__(self) -> None:
        limits = replace(thresholds_of(self.breaker, self.patience), tool_timeout_s=self.tool_timeout_s)
        self.dog = Watchdog(limits, self.now, self.now + self.slept)
        if self.starts:
            self.says({"type": "system", "subtype": "init"})

    @property
    def stopped_by(self) -> Trigger | None:
        return self.warned[-1].trigger if self.warned and self.warned[-1].stops else None

    def says(self, event: dict[str, Any], size: int | None = None) -> None:
        self.printed += len(orjson.dumps(event)) if size is None else size
        self.transcript.feed(event, self.now)
        self.dog.feed(event, self.transcript.answers, self.now)
        self.look()

    def look(self) -> None:
        while self.stopped_by is None:
            warned = self.dog.look(self.now, self.now + self.slept, self.printed, self.transcript)
            if warned is None:
                return
            self.warned.append(warned)

    def passes(self, seconds: float) -> float:
        """Let time go by, until the run is stopped at the latest; how much it was."""
        began = self.now
        while self.now - began < seconds and self.stopped_by is None:
            self.now += TICK_S
            self.look()
        return self.now - began

    def calls(self, name: str = "Bash", number: object = 1, **given: Any) -> None:
        block = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        self.says({"type": "assistant", "message": {"model": "m", "content": [block]}})

    def answers(self, content: Any = "", number: object = 1, *, error: bool = False, size: int | None = None) -> None:
        block = {"type": "tool_result", "tool_use_id": f"t{number}", "content": content, "is_error": error}
        self.says({"type": "user", "message": {"content": [block]}}, size)

    def uses(self, name: str, said: Any, *, error: bool = False, size: int | None = None, **given: Any) -> None:
        self.calls(name, **given)
        self.answers(said, error=error, size=size)


def numbers(run: Run) -> list[tuple[Trigger, int]]:
    return [(warned.trigger, warned.number) for warned in run.warned]


def test_silence_warns_twice_and_stops_at_the_third_time_and_any_word_forgets_its_warnings() -> None:
    run = Run()
    assert run.passes(1000) == pytest.approx(180, abs=1)
    assert numbers(run) == [(Trigger.SILENCE, 1), (Trigger.SILENCE, 2), (Trigger.SILENCE, 3)]
    assert [warned.text.split(":")[0] for warned in run.warned] == [
        "warning 1/3 (HALF_OPEN)",
        "warning 2/3 (HALF_OPEN)",
        "warning 3/3 (OPEN, stopping the run)",
    ]
    assert "no output for 180 s" in run.warned[-1].seen
    assert run.dog.warnings == 3

    run = Run()
    for _ in range(8):
        run.says({"type": "system", "subtype": "status"})
        run.passes(70)
    assert numbers(run) == [(Trigger.SILENCE, 1)] * 8


def test_how_long_a_run_may_be_silent_is_said_by_its_step_and_the_settings_from_its_start_on() -> None:
    assert Run(patience=PR.patience).passes(1000) == pytest.approx(360, abs=1)
    assert Run(breaker=WatchdogLimits(max_attempts=1)).passes(1000) == pytest.approx(60, abs=1)
    run = Run(starts=False)
    run.passes(500)
    assert run.warned == []
    run.says({"type": "system", "subtype": "init"})
    assert run.passes(1000) == pytest.approx(180, abs=1)


@pytest.mark.fault("P12")
def test_long_tests_long_thinking_an_hour_by_the_environment_and_a_pause_after_the_result_are_healthy() -> None:
    run = Run()
    run.calls(command="make test")
    run.passes(299)
    run.answers("281 passed in 298.4s")
    for tokens in range(0, 30_000, 1000):
        run.passes(19)
        run.says({"type": "system", "subtype": "thinking_tokens", "estimated_tokens": tokens})
    run.says({"type": "result", "subtype": "success", "result": "done"})
    run.passes(4000)
    assert run.warned == []
    run = Run(tool_timeout_s=3600)
    run.calls(command="make bench")
    run.passes(3600)
    assert run.warned == []


def test_a_tool_that_hangs_is_stopped_as_stalled_after_three_times_300_s_unless_it_reports_progress() -> None:
    run = Run()
    run.calls(command="cat")
    assert run.passes(2000) == pytest.approx(900, abs=1)
    assert run.stopped_by is Trigger.TOOL_SILENCE

    run = Run()  # a heartbeat says only that the program is there
    run.calls("Read", file_path="pipe")
    for number in range(60):
        run.passes(30)
        run.says({"type": "tool_progress", "heartbeat": True, "elapsed_time_seconds": 30 * number, "tool_name": "Read"})
    assert run.stopped_by is Trigger.TOOL_SILENCE
    assert run.now - 1000 == pytest.approx(900, abs=31)

    run = Run()
    run.calls("Agent")
    for _ in range(60):
        run.passes(200)
        run.says({"type": "tool_progress", "tool_name": "Agent", "subagent_retry": {"attempt": 1}})
    assert run.warned == []


def compacts(run: Run, chars: list[int]) -> None:
    for number in chars:
        run.passes(30)
        run.says({"type": "system", "subtype": "status", "status": "compacting", "compact_output_chars": number})


def test_a_compaction_that_hangs_is_the_providers_silence_and_one_that_writes_may_take_its_time() -> None:
    run = Run()
    compacts(run, [0, 120, *[120] * 20])
    assert run.stopped_by is Trigger.SILENCE
    run = Run()
    for _ in range(2):
        compacts(run, list(range(0, 4000, 500)))
        run.says({"type": "system", "subtype": "status", "status": None, "compact_result": "success"})
    assert run.warned == []


def in_the_background(run: Run, **given: int) -> None:
    """A command that is moved to the background, and the result that comes before its end."""
    run.calls("Bash", 1, command="make bench", **given)
    task = {"task_id": "b1", "description": "make bench"}
    run.says({"type": "system", "subtype": "background_tasks_changed", "tasks": [task]})
    run.says({"type": "system", "subtype": "task_started", **task, "tool_use_id": "t1"})
    run.answers("moved to the background")
    run.says({"type": "result", "subtype": "success", "result": "noticed"})


def test_background_work_that_outlives_the_result_may_take_what_a_tool_may_or_its_call_says() -> None:
    run = Run()
    in_the_background(run)
    run.passes(299)
    assert run.warned == []
    assert run.passes(2000) == pytest.approx(601, abs=1)
    assert run.stopped_by is Trigger.TOOL_SILENCE
    run = Run()
    in_the_background(run, timeout=3_600_000)
    run.passes(3629)
    assert run.warned == []
    run.says({"type": "system", "subtype": "background_tasks_changed", "tasks": []})
    run.passes(4000)
    assert run.warned == []


@pytest.mark.parametrize(("timeout", "limit"), [(600_000, 630), (1000, 300), ("soon", 300), (-5, 300)])
def test_a_tool_has_its_own_timeout_and_half_a_minute(timeout: Any, limit: float) -> None:
    run = Run()
    run.calls(command="make bench", timeout=timeout)
    run.passes(limit - 1)
    assert run.warned == []
    run.passes(2)
    assert numbers(run) == [(Trigger.TOOL_SILENCE, 1)]


def test_an_announced_wait_is_no_silence() -> None:
    run = Run()
    retry = {"type": "system", "subtype": "api_retry", "retry_delay_ms": 240_000, "error_status": 529}
    run.says(retry)
    run.passes(299)
    assert run.warned == []
    run.passes(2)
    assert numbers(run) == [(Trigger.SILENCE, 1)]


ERROR = """\
E   assert 3 == 4
tests/test_a.py:{line}: AssertionError
started 2026-03-04T05:06:{second:02}Z, pid {pid}, <Thing at 0x7f{pid}a>
1 failed in {second}.25s"""


def an_error(number: int) -> str:
    return ERROR.format(line=number * 3, second=number, pid=4000 + number)


def test_the_same_error_nine_times_stops_although_times_and_lines_differ() -> None:
    run = Run()
    for number in range(1, 20):
        run.uses("Bash", an_error(number), error=True, command="pytest")
        run.uses("Edit", "ok", file_path="a.py", new_string=str(number))
        if run.stopped_by:
            break
    assert number == 9
    assert run.stopped_by is Trigger.REPEATED_ERROR
    assert "occurred 9 times in a row: 1 failed in 9.25s" in run.warned[-1].seen


@pytest.mark.parametrize("said", ["Exit code 1", ""])
def test_commands_that_fail_without_a_word_fail_alike_only_if_they_are_the_same(said: str) -> None:
    healthy, circling = Run(), Run()
    for number in range(9):
        healthy.uses("Bash", said, error=True, command=f"command -v tool-{number}")
        circling.uses("Bash", said, error=True, command="command -v tool")
    assert healthy.warned == []
    assert circling.stopped_by is Trigger.REPEATED_ERROR


def test_another_number_of_failures_or_the_command_that_works_ends_the_row_and_other_commands_do_not() -> None:
    run = Run()
    for number in range(30):
        run.uses("Bash", f"{40 - number} failed, {number} passed in 3.21s", error=True, command="pytest")
    assert run.warned == []
    run = Run()
    for number in range(30):
        failed = number % 3 != 2
        run.uses("Bash", an_error(number) if failed else f"passed {number}", error=failed, command="pytest")
    assert run.warned == []
    run = Run()
    for number in range(9):
        run.uses("Bash", an_error(number), error=True, command="pytest")
        run.uses("Bash", f"line {number} of many", command="cat a.py")
    assert run.stopped_by is Trigger.REPEATED_ERROR


def circle(run: Run, minutes: float) -> None:
    """Read the same file and run the same command, a minute between them, and say something."""
    for number in range(int(minutes)):
        run.uses("Read", "the same", file_path="a.py")
        run.uses("Bash", f"nothing to do, took {number} s", command="make")
        for _ in range(6):
            run.passes(10)
            run.says({"type": "stream_event"})


def test_an_agent_in_a_circle_is_stopped_after_half_an_hour() -> None:
    run = Run()
    circle(run, 40)
    assert numbers(run) == [(Trigger.NO_PROGRESS, 1), (Trigger.NO_PROGRESS, 2), (Trigger.NO_PROGRESS, 3)]
    assert 1795 <= run.now - 1000 <= 1860


@pytest.mark.parametrize("news", ["a file is written", "a tool says something new"])
def test_one_new_thing_in_ten_minutes_is_progress(news: str) -> None:
    run = Run()
    for number in range(10):
        circle(run, 9)
        if news == "a file is written":
            run.uses("Write", "File updated", file_path="a.py", content=f"x = {number}")
        else:
            run.uses("Bash", f"step {number} of 10", command="make")
    assert run.warned == []


def test_the_time_in_which_tools_work_is_no_standstill() -> None:
    run = Run()
    for _ in range(20):
        run.calls(command="make test")
        run.passes(290)
        run.answers("the same 7 failures")
        run.passes(20)
    assert run.warned == []


def test_a_flood_without_progress_stops_and_megabytes_with_progress_are_healthy() -> None:
    run = Run()
    for _ in range(20):
        run.printed += 100_000
        run.look()
        if run.stopped_by:
            break
    assert run.stopped_by is Trigger.OUTPUT
    assert 1_572_864 < run.printed < 1_700_000
    run = Run()
    for number in range(200):
        run.uses("Read", [{"type": "text", "text": f"page {number} " * 1000}], size=350_000, file_path="a.py")
    assert run.printed > 64_000_000
    assert run.warned == []
    run = Run()
    for _ in range(10):
        run.uses("Read", "the same", size=350_000, file_path="a.py")
    assert run.stopped_by is Trigger.OUTPUT


@pytest.mark.fault("C2")
@pytest.mark.parametrize(
    ("is_stopped", "seconds"), [(True, 3600), (False, 3600), (False, 10)],
    ids=["everything was stopped", "the machine slept", "the machine slept for a moment"],
)  # fmt: skip
def test_a_suspend_is_no_silence_and_no_standstill(is_stopped: bool, seconds: int) -> None:
    """A stopped Ralphy sees its own clock jump; in a sleep the monotonic clock stands, the other one goes on."""
    run = Run()
    for _ in range(40):
        run.passes(50)
        if is_stopped:
            run.now += seconds
        else:
            run.slept += seconds
        run.look()
    assert run.warned == []


def test_no_stream_of_the_real_cli_is_stopped() -> None:
    """One has the same error five times, and is warned of it."""
    warned = {}
    for path in HEALTHY:
        run = Run()
        for line in path.read_bytes().splitlines():
            event = parse(line)
            if event:
                run.passes(5)
                run.says(dict(event), len(line) + 1)
        if run.warned:
            warned[path] = [warning.number for warning in run.warned]
    assert warned == {TESTS / "streams" / "json_schema_retries_exhausted.ndjson": [1]}


@pytest.mark.fault("A11")
@pytest.mark.parametrize("depth", [100, 500, 950, 1000, 1015])
def test_what_is_nested_deep_stops_nobody(depth: int) -> None:
    run, deep = Run(), b'{"a":' * depth + b"1" + b"}" * depth
    call = b'{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t","name":"Write","input":%s}]}}'
    answer = b'{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[%s]}]}}'
    for line in (call, answer):
        event = parse(line % deep)
        assert event
        run.says(dict(event), len(deep))
    assert not run.transcript.open_tools
    assert not run.warned


@given(st.lists(st.floats(0, 400), max_size=30))
def test_every_run_that_falls_silent_ends_within_its_three_limits(pauses: list[float]) -> None:
    run = Run(breaker=WatchdogLimits(task_stagnation_timeout=1e6))
    for pause in pauses:
        run.passes(min(pause, 170))
        run.says({"type": "stream_event"})
    assert run.stopped_by is None
    assert run.passes(10_000) <= 181


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("failed at 12:01:02.123", "failed at 13:44:59"),
        ("at 0x7f00aa", "at 0xdeadbeef"),
        ("took 3.2s", "took 12 s"),
        ("a.py:12:3: boom", "a.py:99:1: boom"),
        ('File "a.py", line 12', 'File "a.py", line 13'),
        ("process 123 died", "process 4567 died"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("in /tmp/pytest-1/x", "in /tmp/pytest-2/x"),
    ],
)
def test_what_differs_from_time_to_time_makes_no_other_error(one: str, other: str) -> None:
    assert output_key(one) == output_key(other)
