"""The circuit breaker: runs that get nowhere open it, a cool-down or a person lets it go on, two successes close it."""

from __future__ import annotations

from typing import Any

import pytest

from ralphy.config.values import BreakerRules, Config
from ralphy.errors import ExitCode
from ralphy.pipeline import decision as d
from ralphy.pipeline.breaker import Breaker, BreakerState, signature
from ralphy.pipeline.decide import decide
from tests.core.building import NOW, a_run, an_end, done, history, snapshot, story


def end(outcome: str = "rejected", changed: str = "", error: str = "", at: float = 1.0, **more: Any) -> dict[str, Any]:
    return {"outcome": outcome, "changed": changed, "error": error, "at": at, **more}


def after(*ends: dict[str, Any], rules: BreakerRules = BreakerRules(), subject: str = "US-001") -> Breaker:  # noqa: B008  # frozen
    breaker = Breaker(rules)
    for one in ends:
        breaker.count(subject, one)
    return breaker


IDLE = [end()] * 4


@pytest.mark.parametrize(("runs", "state"), [(0, "CLOSED"), (2, "CLOSED"), (3, "HALF_OPEN"), (4, "OPEN")])
def test_three_runs_without_progress_half_open_it_and_one_more_opens_it(runs: int, state: str) -> None:
    breaker = after(*[end()] * runs)
    assert (breaker.state.value, breaker.attempts) == (state, runs)
    assert breaker.trigger == ("no_progress" if state == "OPEN" else "")


def changing(count: int, **fields: Any) -> list[dict[str, Any]]:
    """So many, each of which changed something else."""
    return [end(changed=f"t{n}", **fields) for n in range(count)]


@pytest.mark.fault("A7")
@pytest.mark.parametrize(
    ("ends", "trigger"),
    [
        pytest.param(changing(10), "", id="a changed tree is progress"),
        pytest.param([end(changed="ab"[n % 2]) for n in range(6)], "no_progress", id="going to and fro is none"),
        pytest.param(changing(4, error="red"), "", id="the same error four times"),
        pytest.param(changing(5, error="red"), "same_error", id="the same error five times"),
        pytest.param(
            [end(changed=f"t{n}", error="b" if n == 3 else "a") for n in range(7)], "", id="another error between"
        ),
        pytest.param(changing(3, test_only=True), "test_saturation", id="tests alone"),
        pytest.param(changing(9, outcome="succeeded", test_only=True), "", id="tests that were verified"),
        pytest.param([{"outcome": "crashed", "at": 1.0}] * 9, "", id="runs that nobody judged"),
    ],
)
def test_what_opens_it(ends: list[dict[str, Any]], trigger: str) -> None:
    breaker = after(*ends)
    assert (breaker.trigger, breaker.state is BreakerState.OPEN) == (trigger, bool(trigger))


@pytest.mark.parametrize("outcome", ["limited", "transient", "fatal", "stopped", "of a later version"])
def test_what_is_no_fault_of_the_work_counts_for_nothing(outcome: str) -> None:
    assert after(*[end(outcome)] * 9) == Breaker()


def test_it_cools_down_to_half_open_where_two_successes_close_it_and_a_bad_run_opens_it() -> None:
    breaker = after(*IDLE)
    assert [breaker.state_at(at).value for at in (1.0, 1800.0, 1801.0)] == ["OPEN", "OPEN", "HALF_OPEN"]
    breaker.count("US-001", end("succeeded", at=1900.0))
    assert breaker.state is BreakerState.HALF_OPEN
    breaker.count("US-002", end("succeeded", at=2000.0))
    assert (breaker.state, breaker.trigger, breaker.attempts) == (BreakerState.CLOSED, "no_progress", 0)
    breaker = after(*IDLE, end(at=5000.0))
    assert (breaker.state_at(5000.0), breaker.opens_again_at) == (BreakerState.OPEN, 6800.0)
    assert after(*[end(at=NOW)] * 4).state_at(NOW - 8 * 3600) is BreakerState.HALF_OPEN  # the clock was set back


@pytest.mark.parametrize(
    "other",
    [
        "test exit 1 (13.94 s): tests/test_a.py::test_b",
        "test  exit 1 (2.1 s):\ntests/test_a.py::test_b",
        "TEST exit 1 (2 s): tests/test_a.py::test_b",
    ],
)
def test_the_same_failure_has_the_same_signature(other: str) -> None:
    assert signature("test exit 1 (2.1 s): tests/test_a.py::test_b") == signature(other)
    assert signature("test exit 1 (2.1 s): tests/test_a.py::test_c") != signature(other)


def idle(subject: str, runs: int, at: float = NOW) -> list[dict[str, Any]]:
    """The journal's lines of runs that changed nothing."""
    lines = []
    for n in range(runs):
        name = f"{subject}-{n}-{at}"
        step = {} if subject.startswith("US") else {"step": subject}
        lines += [a_run(subject if not step else None, name, **step)]
        lines += [an_end(run=name, changed="", error=str(n), detail="nothing changed", at=at)]
    return lines


def test_an_open_breaker_halts_with_twelve_and_says_why_and_what_to_do() -> None:
    halt = decide(snapshot(lines=idle("US-001", 4)), Config())
    assert isinstance(halt, d.Halt)
    assert (halt.exit_code, halt.until) == (ExitCode.BREAKER_OPEN, NOW + 1800)
    for words in ("no_progress", "4 agent runs", "US-001", "nothing changed", "See `ralphy logs login`;",
                  "`ralphy reset-circuit login`", "08:30 UTC"):  # fmt: skip
        assert words in halt.reason


def test_a_story_left_alone_and_given_up_ends_with_eleven() -> None:
    halt = decide(snapshot(story(status="failed"), done("US-002"), lines=idle("US-001", 5)), Config())
    assert isinstance(halt, d.Halt) and halt.exit_code == ExitCode.STORIES_OPEN


def test_a_step_that_goes_nowhere_opens_it_too() -> None:
    halt = decide(snapshot(done(), lines=idle("qa", 3)), Config(breaker=BreakerRules(no_progress=2)))
    assert isinstance(halt, d.RunAgent)  # the fold has the rules it was begun with
    found = history()
    found.breaker = Breaker(BreakerRules(no_progress=2))
    for line in idle("qa", 3):
        found.add(line)
    halt = decide(snapshot(done(), history=found), Config())
    assert isinstance(halt, d.Halt) and halt.exit_code == ExitCode.BREAKER_OPEN


def test_a_person_closes_it_but_not_by_dealing_with_another_story() -> None:
    for line in ({"ev": "reset_circuit"}, {"ev": "reset"}, {"ev": "reset", "story": "US-001"}):
        lines = [*idle("US-001", 4), {"feature": "login", **line}]
        assert history(*lines).breaker.state is BreakerState.CLOSED
        assert isinstance(decide(snapshot(lines=lines), Config()), d.RunAgent)
    lines = [*idle("US-001", 4), {"ev": "reset", "feature": "login", "story": "US-002"}]
    assert history(*lines).breaker.state is BreakerState.OPEN
