"""History is a fold: attempts, costs, waits and baselines come from the journal's lines and from nowhere else."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ralphy.agents.protocol import Outcome
from ralphy.documents.report import costs_of
from ralphy.pipeline.history import History
from ralphy.pipeline.nights import past_of
from tests.core.building import FEATURE, a_run, an_end, attempts, history

LANDED: dict[str, Any] = {"landed": True, "code": "c1"}
RESET = {"ev": "reset", "feature": FEATURE}

few = st.sampled_from
entries = st.fixed_dictionaries(
    {"ev": few(["run", "end", "reset", "gate", "accept_red", "baseline", "of a later version"])},
    optional={
        "feature": few([FEATURE, FEATURE, "other"]),
        "run": few(["a", "b", None]),
        "step": few(["spec", "story", "qa"]),
        "story": few([None, "US-001", "US-002"]),
        "attempt": few([1, 2, "two", None]),
        "outcome": few([*(outcome.value for outcome in Outcome), "of a later version", None]),
        "retry_at": few([5.0, None, "soon"]),
        "cost": few([0.5, None, "much", float("nan"), True]),
        "seconds": few([1.0, None]),
        "tokens": few([{"input": 5}, {"input": None}, None, [1]]),
        "landed": st.booleans(),
        "changed": few(["", "t1", None]),
        "error": few(["a", None, 5]),
        "story_seconds": few([60.0, None, "long", -1.0]),
        "story_cost": few([0.5, None]),
        "cost_unknown": few([True, None, "yes"]),
        "test_only": few([True, None, "yes"]),
        "at": few([1.0, 5000.0, None, "soon", -1.0, float("nan"), float("inf")]),
        "code": few(["c1", "c2"]),
        "key": few(["c1:x", "c2:x"]),
        "red": few([["test_a"], [], None]),
        "gate": few(["spec", "qa"]),
        "digest": few(["1", "2"]),
        "ctime_ns": few([1, None]),
        "tests": few([["test_a", "test_b"], None, "test_a"]),
    },
)


@given(st.lists(entries, max_size=30))
def test_no_line_stops_the_fold_and_those_of_other_features_change_only_what_the_project_shares(
    lines: list[dict[str, Any]],
) -> None:
    found = history(*lines)
    assert found.cost_usd >= 0 and found.iterations >= 0
    assert all(past.attempts >= 0 for past in found.stories.values())

    found = history(*({**line, "feature": "other", "at": 1.0} for line in lines))
    assert found == History(FEATURE, baselines=found.baselines, calls=found.calls, paces=found.paces)
    assert len(found.calls) == sum(line.get("ev") == "run" for line in lines)


outcomes = st.lists(few([outcome.value for outcome in Outcome]), max_size=8)


@given(outcomes, outcomes)
def test_attempts_are_the_runs_since_the_last_landing_that_cost_one(before: list[str], after: list[str]) -> None:
    after = [end for end in after if end != "succeeded"]
    first = history(*attempts(*after, cost=0.5, seconds=2.0)).of("story", "US-001")
    assert (first.runs, first.cost_usd, first.active_s) == (len(after), 0.5 * len(after), 2.0 * len(after))
    lines = [*attempts(*before, cost=1.0), a_run(run="won"), an_end("succeeded", "won", **LANDED)]
    past = history(*lines, *attempts(*after, cost=1.0)).of("story", "US-001")
    assert past.attempts == first.attempts == sum(Outcome(end).costs_an_attempt for end in after)
    assert past.cost_usd == len(after)


def test_a_reset_counts_attempts_and_a_steps_time_and_rounds_anew() -> None:
    for reset in ({**RESET, "story": "US-001"}, RESET):
        past = history(*attempts("rejected", "crashed", heals=True, tree="t"), reset).of("story", "US-001")
        assert (past.attempts, past.runs, past.cost_usd, past.tree, past.heals) == (0, 0, 0.0, "", False)
    reviews = attempts("succeeded", "rejected", story_id=None, step="qa", seconds=5.0)
    before, after = history(*reviews), history(*reviews, {**RESET, "step": "qa"})
    assert (before.qa_rounds, before.of("qa", None).attempts, before.active_s) == (1, 1, {"qa": 10.0})
    assert (after.qa_rounds, after.of("qa", None).attempts, after.active_s) == (0, 0, {})


def test_an_answer_counts_attempts_anew_and_goes_on_with_the_number_of_the_runs() -> None:
    tried = attempts("rejected", "rejected")
    for words, runs in (("Blue.", 2), ("", 0)):
        past = history(*tried, {**RESET, "story": "US-001", "feedback": words}).of("story", "US-001")
        assert (past.attempts, past.runs) == (0, runs)


def test_a_reset_of_everything_keeps_baselines_known_red_and_what_was_spent() -> None:
    lines: list[dict[str, Any]] = [
        {"ev": "baseline", "key": "c1:x"},
        {"ev": "accept_red", "feature": FEATURE, "tests": ["t"]},
        a_run(model="opus REHEARSAL"),
        an_end("crashed"),
    ]
    lines[-1]["cost_unknown"] = True
    found = history(*lines, RESET)
    assert (found.stories, found.iterations, found.open_runs, found.unknown_cost_runs) == ({}, 1, (), 1)
    assert found.is_rehearsed
    assert (set(found.baselines), set(found.known_red)) == ({"c1:x"}, {"t"})


def test_a_run_that_begins_closes_an_open_one_which_costs_no_attempt() -> None:
    found = history(a_run(run="r1"), a_run(run="r2"))
    past = found.of("story", "US-001")
    assert (past.attempts, past.deaths, past.idle_deaths) == (0, 1, 1)
    assert found.open_runs == (a_run(run="r2"),)


def test_deaths_cost_no_attempt_and_without_new_work_are_no_progress() -> None:
    ends: list[dict[str, Any]] = [{"tree": "t1", "work": "w1", "heals": True, "detail": "died"}, {}]
    past = history(*attempts("rejected"), *attempts_with(*ends)).of("story", "US-001")
    assert (past.attempts, past.tree, past.cut_off) == (1, "t1", "died")
    assert (past.deaths, past.idle_deaths) == (2, 1)

    ends = [{"tree": name, "work": name, "heals": True} for name in ("a", "b", "a", "b", "a")]
    assert history(*attempts_with(*ends)).of("story", "US-001").idle_deaths == 3


def test_an_attempt_that_counts_ends_a_row_of_deaths_and_its_own_work_is_no_news() -> None:
    rejected = [a_run(run="x"), an_end("rejected", run="x", tree="t", heals=True, changed="w")]
    past = history(*attempts_with({}, {}), *rejected).of("story", "US-001")
    assert (past.idle_deaths, past.deaths, past.cut_off) == (0, 2, "")
    again = history(*rejected, *attempts_with({"tree": "t2", "work": "w", "heals": True}))
    assert again.of("story", "US-001").idle_deaths == 1


def test_deaths_are_counted_since_the_last_success() -> None:
    found = history(*({**line, "step": "qa", "story": None} for line in attempts_with({}, {})))
    assert found.of("qa", None).deaths == 2
    found.add(a_run(run="x", step="qa", story=None))
    found.add(an_end("succeeded", run="x"))
    assert found.of("qa", None).deaths == 0


def attempts_with(*ends: dict[str, Any]) -> list[dict[str, Any]]:
    """Runs in which Ralphy died, with these words of what they left."""
    return [line for n, end in enumerate(ends)
            for line in (a_run(run=f"dead-{n}"), an_end("died", run=f"dead-{n}", **end))]  # fmt: skip


def test_an_end_without_its_run_changes_nothing() -> None:
    assert history(an_end(cost=1.0)) == History(FEATURE)
    found = history(a_run(run="r1"), an_end(run="r2"))
    assert found.open_runs == (a_run(run="r1"),)


def test_waiting_costs_no_attempt_and_ends_with_a_run_that_came_through() -> None:
    for outcome in ("limited", "transient"):
        found = history(*attempts(outcome, outcome, retry_at=9.0, detail="later"))
        assert found.of("story", "US-001").attempts == 0
        assert (found.retry_at, found.retry_reason, found.waits_in_a_row) == (9.0, "later", 2)
    for outcome in ("fatal", "stopped"):  # no fault of the work either
        found = history(*attempts("limited", outcome, retry_at=9.0))
        assert found.of("story", "US-001").attempts == 0
        assert found.waits_in_a_row == 1
    found = history(*attempts("limited", "rejected", retry_at=9.0))
    assert (found.retry_at, found.retry_reason, found.waits_in_a_row) == (0.0, "", 0)


def test_the_number_of_a_run_outlives_a_wiped_journal() -> None:
    past = history(a_run(attempt=4), an_end()).of("story", "US-001")
    assert past.attempts == 4
    assert history(a_run(attempt=4), an_end("limited")).of("story", "US-001").attempts == 0


def accepted(*tests: str) -> dict[str, Any]:
    return {"ev": "accept_red", "feature": FEATURE, "tests": list(tests)}


def baseline(*red: str, code: str = "c1") -> dict[str, Any]:
    return {"ev": "baseline", "feature": FEATURE, "key": f"{code}:x", "green": not red, "red": list(red)}


def test_known_red_shrinks_only_when_a_story_lands_that_mends_a_test() -> None:
    landed = [a_run(), an_end("succeeded", **LANDED)]
    assert history(accepted("a", "b"), baseline("b"), *landed).known_red == {"b"}
    assert history(accepted("a", "b"), baseline(), *landed).known_red == frozenset()

    assert history(accepted("a"), baseline(), a_run(), an_end("rejected")).known_red == {"a"}
    assert history(accepted("a"), baseline(code="c2"), a_run(), an_end("succeeded", **LANDED)).known_red == {"a"}


def test_what_a_night_cost_is_kept_over_landings() -> None:
    lines = [a_run(), an_end("succeeded", cost=1.0, seconds=2.0, tokens={"input": 5, "output": 1}, **LANDED)]
    lines += attempts("rejected", cost=0.5, seconds=1.0, tokens={"input": 5})
    found = history(*lines)
    assert (found.cost_usd, found.iterations, found.active_s) == (1.5, 2, {"story": 3.0})
    assert (found.tokens, found.started_at) == ({"input": 10, "output": 1}, 1.0)
    assert [(cost.of, cost.model, cost.usd) for cost in costs_of(past_of(lines).turns)] == [("US-001", "", 1.5)]


def test_the_last_run_is_the_last_of_this_checkout() -> None:
    found = History(FEATURE, checkout="/here")
    for line in (a_run(checkout="/there"), an_end()):
        found.add(line)
    assert (found.last_end, found.last_step, found.iterations) == (None, "", 1)


def test_runs_in_several_lanes_are_open_side_by_side_and_each_ends_for_itself() -> None:
    begun = [a_run(run="r1", lane="1"), a_run(run="r2", lane="2", story="US-002"), a_run(run="r3", lane="3")]
    found = history(*begun, an_end("crashed", run="r2"))
    assert [run["run"] for run in found.open_runs] == ["r1", "r3"]
    assert found.is_open("r1") and not found.is_open("r2")
    assert (found.of("story", "US-001").deaths, found.of("story", "US-002").attempts) == (0, 1)


def test_a_limit_that_several_agents_meet_at_once_is_one_wait() -> None:
    begun = [a_run(run=f"r{n}", lane=str(n), story=f"US-{n}", at=10.0 + n) for n in (1, 2, 3)]
    ends = [an_end("transient", run=f"r{n}", at=20.0, retry_at=25.0) for n in (1, 2)]
    found = history(*begun, *ends, an_end("succeeded", run="r3", at=21.0))
    assert (found.waits_in_a_row, found.retry_at) == (1, 25.0)
    found.add(a_run(run="r4", at=26.0))
    found.add(an_end("succeeded", run="r4", at=30.0))
    assert (found.waits_in_a_row, found.retry_at) == (0, 0.0)
