"""The circuit breaker: runs that get nowhere open it, a cool-down or a person lets it go on, two successes close it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ralphy.agents.protocol import Outcome
from ralphy.config.values import BreakerRules, Config, Limits
from ralphy.errors import ExitCode
from ralphy.pipeline import decision as d
from ralphy.pipeline.breaker import Breaker, State, signature
from ralphy.pipeline.decide import decide
from tests.core.building import NOW, a_run, an_end, done, examples, history, snapshot, story

SECOND = story("US-002", priority=2)


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


def test_a_success_leaves_nothing_of_what_was_counted() -> None:
    red = end(changed="a", error="red", detail="test exit 1", tree="kept", test_only=True)

    assert after(red, end(), end("succeeded", changed="b")) == after() == Breaker()
    assert (Breaker().attempts, Breaker().idle, Breaker().same_error, Breaker().test_only, Breaker().good) == (0,) * 5


def test_a_changed_tree_is_progress() -> None:
    assert after(*[end(changed=f"t{n}") for n in range(10)]).state is State.CLOSED


@pytest.mark.fault("A7")
def test_going_to_and_fro_is_no_progress() -> None:
    assert after(*[end(changed="ab"[n % 2]) for n in range(6)]).trigger == "no_progress"


@pytest.mark.fault("A7")
def test_the_same_error_five_times_opens_it_whatever_changed() -> None:
    runs = [end(changed=f"t{n}", error="red", detail="test exit 1") for n in range(5)]
    assert after(*runs[:4]).state is State.CLOSED
    breaker = after(*runs)
    assert (breaker.state, breaker.trigger, breaker.last_error) == (State.OPEN, "same_error", "test exit 1")
    assert breaker.why == "5 agent runs in a row failed the same way"


def test_another_error_in_between_begins_anew() -> None:
    runs = [end(changed=f"t{n}", error="b" if n == 3 else "a") for n in range(7)]
    assert after(*runs).state is State.CLOSED


def test_three_runs_that_change_tests_alone_saturate() -> None:
    assert after(*[end(changed=f"t{n}", test_only=True) for n in range(3)]).trigger == "test_saturation"
    verified = [end("succeeded", changed=f"t{n}", test_only=True) for n in range(9)]
    assert after(*verified).state is State.CLOSED


@pytest.mark.parametrize("outcome", ["limited", "transient", "fatal", "stopped", "of a later version"])
def test_what_is_no_fault_of_the_work_counts_for_nothing(outcome: str) -> None:
    assert after(*[end(outcome)] * 9) == Breaker()


def test_a_run_that_nobody_judged_counts_for_nothing() -> None:
    assert after(*[{"outcome": "crashed", "at": 1.0}] * 9) == Breaker()


def test_it_cools_down_to_half_open_and_two_successes_close_it() -> None:
    breaker = after(*IDLE)
    assert [breaker.state_at(at).value for at in (1.0, 1800.0, 1801.0)] == ["OPEN", "OPEN", "HALF_OPEN"]
    breaker.count("US-001", end("succeeded", at=1900.0))
    assert breaker.state is State.HALF_OPEN
    breaker.count("US-002", end("succeeded", at=2000.0))
    assert (breaker.state, breaker.trigger, breaker.attempts) == (State.CLOSED, "no_progress", 0)


def test_a_clock_that_was_set_back_does_not_hold_it_open() -> None:
    assert after(*[end(at=NOW)] * 4).state_at(NOW - 8 * 3600) is State.HALF_OPEN


def test_a_bad_run_after_the_cool_down_opens_it_again() -> None:
    breaker = after(*IDLE, end(at=5000.0))
    assert (breaker.state_at(5000.0), breaker.opens_again_at) == (State.OPEN, 6800.0)


def test_progress_after_the_cool_down_leads_towards_closed() -> None:
    assert after(*IDLE, end(changed="t1")).state is State.HALF_OPEN
    assert after(*IDLE, end(changed="t1"), end(changed="t2")).state is State.CLOSED


def test_switched_off_it_is_always_closed() -> None:
    assert after(*IDLE, rules=BreakerRules(enabled=False)).state_at(1.0) is State.CLOSED


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


def test_attempts_are_named_as_the_place_to_look_only_where_one_was_kept() -> None:
    kept = [{**line, "tree": "c0ffee"} if line["ev"] == "end" else line for line in idle("US-001", 1, NOW - 1)]
    halt = decide(snapshot(lines=[*kept, *idle("US-001", 3)]), Config())
    assert "See `ralphy attempts login` and `ralphy logs login`;" in halt.reason


def test_after_the_cool_down_one_run_is_let_through() -> None:
    lines = idle("US-001", 4)
    assert isinstance(decide(snapshot(lines=lines, now=NOW + 1801), Config()), d.RunAgent)
    more = [*lines, a_run("US-001", "again"), an_end(run="again", changed="", at=NOW + 1900)]
    halt = decide(snapshot(lines=more, now=NOW + 1901), Config(limits=Limits(max_attempts=9)))
    assert isinstance(halt, d.Halt) and halt.exit_code == ExitCode.BREAKER_OPEN


def test_giving_a_story_up_comes_before_the_breaker() -> None:
    config = Config(limits=Limits(max_splits=0))
    assert isinstance(decide(snapshot(lines=idle("US-001", 5)), config), d.GiveUp)


def test_one_story_alone_does_not_end_the_night() -> None:
    decision = decide(snapshot(story(), SECOND, lines=idle("US-001", 4)), Config())
    assert isinstance(decision, d.GiveUp)
    assert decision.story == "US-001" and "no_progress" in decision.reason


def test_a_story_that_was_given_up_has_paid_and_the_next_gets_its_chance() -> None:
    given_up = (story(status="failed"), SECOND)
    chance = decide(snapshot(*given_up, lines=idle("US-001", 5)), Config())
    assert isinstance(chance, d.RunAgent) and chance.story == "US-002"
    lines = [*idle("US-001", 5), *idle("US-002", 1)]
    halt = decide(snapshot(*given_up, lines=lines), Config())
    assert isinstance(halt, d.Halt) and halt.exit_code == ExitCode.BREAKER_OPEN


def test_a_next_story_that_works_closes_it_again() -> None:
    lines = idle("US-001", 5)
    for n in (2, 3):
        lines += [a_run(f"US-{n}", f"r{n}"), an_end("succeeded", f"r{n}", changed="t", landed=True)]
    assert history(*lines).breaker.state is State.CLOSED


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


@pytest.mark.parametrize("line", [{"ev": "reset_circuit"}, {"ev": "reset"}, {"ev": "reset", "story": "US-001"}])
def test_a_person_closes_it(line: dict[str, Any]) -> None:
    lines = [*idle("US-001", 4), {"feature": "login", **line}]
    assert history(*lines).breaker.state is State.CLOSED
    assert isinstance(decide(snapshot(lines=lines), Config()), d.RunAgent)


def test_dealing_with_another_story_does_not_close_it() -> None:
    lines = [*idle("US-001", 4), {"ev": "reset", "feature": "login", "story": "US-002"}]
    assert history(*lines).breaker.state is State.OPEN


few = st.sampled_from
ends = st.fixed_dictionaries(
    {"outcome": few([*(outcome.value for outcome in Outcome), "of a later version", None])},
    optional={
        "changed": few(["", "a", "b", None, 5]),
        "error": few(["", "x", "y", None, 5]),
        "test_only": few([True, False, None, "yes"]),
        "detail": few(["why", None, 5]),
        "at": few([0.0, 1.0, 5000.0, None, "soon", -1.0, float("nan"), float("inf")]),
    },
)
rules = st.builds(
    BreakerRules,
    st.booleans(),
    st.integers(1, 4),
    st.integers(1, 4),
    st.integers(1, 4),
    few([1.0, 1800.0]),
    st.integers(1, 3),
)


@settings(deadline=None)
@given(rules, st.lists(st.tuples(few(["US-001", "US-002", "qa"]), ends), max_size=40))
def test_any_lines_give_a_state_that_ends_by_itself(
    given_rules: BreakerRules, runs: list[tuple[str, dict[str, Any]]]
) -> None:
    breaker = Breaker(given_rules)
    for subject, one in runs:
        breaker.count(subject, one)
        assert min(breaker.attempts, breaker.idle, breaker.same_error, breaker.test_only, breaker.good) >= 0
        assert len(breaker.subjects) <= 2
        if breaker.state is State.OPEN:
            assert breaker.trigger and breaker.why and breaker.subjects
    assert breaker.state_at(breaker.opens_again_at) is not State.OPEN
    breaker.close()
    assert breaker.state is State.CLOSED


class Circuit(RuleBasedStateMachine):
    """Runs of any kind, time and a person, in any order."""

    @initialize(given_rules=rules)
    def begin(self, given_rules: BreakerRules) -> None:
        self.breaker = Breaker(given_rules)
        self.now = 0.0

    @rule(subject=few(["US-001", "US-002"]), one=ends)
    def run(self, subject: str, one: dict[str, Any]) -> None:
        self.breaker.count(subject, {**one, "at": self.now})

    @rule(seconds=few([1.0, 600.0, 1800.0, -3600.0]))
    def wait(self, seconds: float) -> None:
        self.now = max(0.0, self.now + seconds)

    @rule()
    def cool_down(self) -> None:
        self.now += self.breaker.rules.cooldown_s
        assert self.breaker.state_at(self.now) is not State.OPEN

    @rule(subject=few(["US-001", "US-002"]))
    def forgive(self, subject: str) -> None:
        self.breaker.forgive(subject)

    @rule()
    def recover(self) -> None:
        for _ in range(self.breaker.rules.successes):
            self.breaker.count("US-002", end("succeeded", at=self.now))
        assert self.breaker.state is State.CLOSED

    @rule()
    def reset(self) -> None:
        self.breaker.close()
        assert self.breaker.state is State.CLOSED

    @invariant()
    def only_runs_in_a_row_open_it(self) -> None:
        if hasattr(self, "breaker") and self.breaker.state is State.OPEN:
            assert self.breaker.attempts > 0


TestCircuit = Circuit.TestCase
TestCircuit.settings = settings(max_examples=examples(60), stateful_step_count=30, deadline=None)
