"""Whatever acts come to: deciding never raises, always comes to a rest, and loses or repeats no story."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from ralphy.config.values import BreakerRules, Config, Gates, Limits
from ralphy.errors import EXIT_MEANINGS
from ralphy.pipeline import decision as d
from ralphy.pipeline.breaker import Breaker, BreakerState
from ralphy.pipeline.decide import decide
from ralphy.pipeline.history import MOST_DEATHS, MOST_IDLE_DEATHS, History
from ralphy.pipeline.life import Life
from ralphy.pipeline.model import (
    Answer,
    Artifact,
    Baseline,
    Marker,
    Prd,
    QaReport,
    ReviewFinding,
    Session,
    Snapshot,
    Tree,
)
from ralphy.pipeline.steps.story import SPLIT_RUNS
from tests.core.building import FEATURE, NOW, examples
from tests.core.world import STEP_ENDS, STORY_ENDS, Choose, World

NAMES = ("PRD.md", "SPEC.md", "QA_REPORT.md", "PR.md", "QUESTIONS.md")
few = st.sampled_from
digests = few(["1", "2", "3"])
codes = few(["code-1", "code-2"])
times = st.integers(0, 4)
OUTCOMES = [
    "succeeded", "rejected", "crashed", "died", "too_large", "limited", "transient", "fatal", "of a later version",
]  # fmt: skip
IDS = ["US-001", "US-002", "US-003"]

documents = st.builds(
    lambda id_, status, priority, after, model, tries: {
        "id": id_, "title": id_, "status": status, "passes": status == "completed", "priority": priority,
        "dependsOn": [other for other in after if other < id_], "model": model, "execution": {"attempts": tries},
    },
    few(IDS), few(["pending", "in_progress", "completed", "failed", "blocked"]), st.integers(0, 3),
    st.lists(few(IDS), max_size=2, unique=True), few([None, "opus"]), st.integers(0, 6),
)  # fmt: skip
approvals = st.fixed_dictionaries(
    {"gate": few(["spec", "qa"]), "verdict": few(["approved", "rejected", "revise"])},
    optional={"digest": digests, "code": codes, "answered": st.booleans(), "text": st.just("smaller")},
)
steps = st.fixed_dictionaries(
    {},
    optional={
        "inputs": st.dictionaries(few([*NAMES, "code"]), st.one_of(digests, codes), max_size=3),
        "outputs": st.dictionaries(few(NAMES), digests, max_size=2),
        "fixed": digests,
    },
)
workflows = st.fixed_dictionaries(
    {},
    optional={
        "approvals": st.lists(approvals, max_size=4),
        "steps": st.dictionaries(few(["spec", "qa", "pr"]), steps),
        "pr": few([{}, {"code": "code-1"}, {"code": "code-1", "url": "https://example.org/1"}]),
    },
)
prds = st.builds(
    lambda found, workflow: Prd.of({"userStories": found, "workflow": workflow}),
    st.lists(documents, max_size=3, unique_by=lambda story: str(story["id"])),
    workflows,
)
lines = st.fixed_dictionaries(
    {"ev": few(["run", "end", "reset", "gate", "accept_red", "baseline", "unheard of"])},
    optional={
        "feature": few([FEATURE, FEATURE, FEATURE, "other"]),
        "run": few(["a", "b"]),
        "step": few(["spec", "story", "split", "qa", "pr"]),
        "story": few([None, *IDS]),
        "attempt": st.integers(0, 6),
        "outcome": few(OUTCOMES),
        "work": few(["", "w1", "w2"]),
        "retry_at": few([0.0, NOW + 60]),
        "cost": st.floats(0, 9) | st.none(),
        "seconds": few([0.0, 2000.0]),
        "landed": st.booleans(),
        "changed": few(["", "t1", "t2"]),
        "error": few(["a", "b"]),
        "test_only": few([True, None]),
        "until_reset": few([True, None]),
        "limit": few(
            [
                None,
                {},
                {"status": "allowed_warning", "utilization": 0.97, "resets_at": NOW + 600},
                {"status": "allowed_warning", "utilization": None, "resets_at": "soon"},
                {"status": "rejected", "utilization": 1.0, "resets_at": NOW + 600},
            ]
        ),
        "at": few([NOW - 4000, NOW - 60, NOW, NOW + 28800, None]),
        "gate": few(["spec", "qa"]),
        "digest": digests,
        "ctime_ns": times,
        "tests": st.lists(few(["test_a", "test_b"])),
        "heals": st.booleans(),
        "tree": few(["", "t1"]),
    },
)


def _history(entries: list[dict[str, Any]]) -> History:
    found = History(FEATURE)
    for entry in entries:
        found.add(entry)
    return found


trees = st.builds(
    Tree,
    head=st.just("h"),
    branch=few(["main", "ralph/login"]),
    base=st.just("main"),
    feature_branch=st.just("ralph/login"),
    code=codes,
    edited=few([(), ("docs/features/login/PRD.md",)]),
    busy=few(["", "", "a merge"]),
    behind=few(["", "tip"]),
)
reports = st.none() | st.builds(
    QaReport,
    few(["pass", "fail"]),
    st.lists(st.builds(ReviewFinding, few(["major", "minor"]), st.just("x"))).map(tuple),
)
sessions = st.builds(
    Session,
    runs=few([0, 1, 50]),
    cost_usd=few([0.0, 9.0]),
    until=few([None, NOW, NOW + 1]),
    last_step=few(["", "", "spec", "qa"]),
    stop_asked=st.booleans(),
    accepts_red=st.booleans(),
    fatal=few(["", "", "not logged in"]),
    troubles=few([0, 0, 80]),
)
snapshots = st.builds(
    Snapshot,
    feature=st.just(FEATURE),
    now=st.just(NOW),
    prd=prds,
    tree=trees,
    history=st.lists(lines, max_size=12).map(_history),
    artifacts=st.dictionaries(few(NAMES), st.builds(Artifact, digests, times), max_size=5),
    markers=st.dictionaries(
        few(["APPROVED", "REJECTED", "STOP"]),
        st.builds(Marker, times, few(["", "smaller"]), few(["", "", "is a directory"])),
    ),
    answers=st.lists(st.builds(Answer, few(IDS), few(["yes", "no"])), max_size=2).map(tuple),
    baseline=st.none() | st.builds(Baseline, st.booleans(), few([(), ("test_a",), ("test_c",)])),
    qa=reports,
    unfinished=few(["", "", "", "a run ended without a word"]),
    session=sessions,
    life=st.sampled_from(Life),
)
configs = st.builds(
    Config,
    gates=st.builds(Gates, spec=few(["human", "auto"]), qa=few(["human", "auto"])),
    breaker=st.builds(
        BreakerRules,
        enabled=few([True, True, False]),
        no_progress=st.integers(1, 4),
        same_error=st.integers(1, 5),
        test_only=st.integers(1, 3),
        cooldown_s=few([60.0, 1800.0]),
        successes=st.integers(1, 3),
    ),
    limits=st.builds(
        Limits,
        max_attempts=st.integers(1, 3),
        max_iterations=st.integers(1, 60),
        max_cost_usd=few([None, 5.0]),
        max_cost_per_story_usd=few([None, 5.0]),
        max_qa_rounds=st.integers(1, 3),
        max_splits=st.integers(0, 2),
        calls_per_hour=few([1, 5, 100]),
    ),
)


@settings(max_examples=examples(200))
@given(snapshots, configs)
def test_deciding_never_raises_and_says_the_same_twice(seen: Snapshot, config: Config) -> None:
    before = repr(seen)
    decision = decide(seen, config)
    assert decide(seen, config) == decision
    assert repr(seen) == before
    if isinstance(decision, d.Rest):
        assert decision.exit_code in EXIT_MEANINGS
    assert_a_time_is_to_come_and_over_when_it_has_come(seen, config, decision)
    assert_begun_on_clean_green_ground_within_the_budget(seen, config, decision)


def assert_a_time_is_to_come_and_over_when_it_has_come(seen: Snapshot, config: Config, decision: d.Decision) -> None:
    """By the clock, or, whatever the clock says, because it was waited for: no limit holds for ever."""
    if not isinstance(decision, d.Wait) or decision.until is None:
        return
    assert seen.now < decision.until <= seen.now + config.limits.max_wait_s
    waited = replace(seen, session=replace(seen.session, waited=decision.until))
    for later in (decide(replace(seen, now=decision.until), config), decide(waited, config)):
        assert not isinstance(later, d.Wait) or later.until != decision.until


def assert_begun_on_clean_green_ground_within_the_budget(seen: Snapshot, config: Config, decision: d.Decision) -> None:
    if isinstance(decision, d.RunAgent):
        assert not seen.tree.busy and not seen.unfinished
        assert seen.baseline is not None
        assert seen.baseline.is_green or set(seen.baseline.red) <= seen.history.known_red
        assert seen.session.runs < config.limits.max_iterations
        assert decision.model
        assert (decision.step in ("story", "split")) == (decision.story is not None)
    if seen.tree.is_on_branch and isinstance(
        decision, d.Adopt | d.Approve | d.Reject | d.TakeAnswer | d.AddFixes | d.GiveUp
    ):
        assert not seen.tree.busy
    if isinstance(decision, d.RunAgent) and decision.story:
        story = seen.prd.story(decision.story)
        assert story.is_open and seen.tree.is_on_branch
        assert all(seen.prd.story(other).is_completed for other in story.depends_on)
        most = config.limits.max_attempts if decision.step == "story" else SPLIT_RUNS
        assert 1 <= decision.attempt <= most


def luck(seed: int, good: float) -> Choose:
    """Choices by chance; with the odds of `good`, the first end of an act, which is the good one."""
    chance = random.Random(seed)

    def choose(choices: list[Any]) -> Any:
        if choices in (STORY_ENDS, STEP_ENDS) and chance.random() < good:
            return choices[0]
        return chance.choice(choices)

    return choose


def test_a_story_whose_agent_kills_ralphy_again_and_again_is_set_aside_in_the_end() -> None:
    """Whoever starts it again, whatever it leaves: each death makes something new, so only the total ends it."""
    world = World(lambda choices: "dies" if "dies" in choices else choices[-1], Config())
    world.prd = Prd.of({"userStories": [{"id": "US-001", "title": "t"}]})
    world.session = Session(accepts_red=True)
    for _ in range(3 * MOST_DEATHS):
        world.step()
        world.start_again()
    while not isinstance(world.step(), d.Rest):
        world.start_again()
    assert len(world.runs) == MOST_DEATHS
    assert world.prd.stories[0].status.value == "failed"


chances = st.builds(luck, st.integers(0, 2**32), few([0.0, 0.3, 0.7, 0.95]))


@settings(max_examples=examples(300))
@given(chances, configs)
def test_a_night_ends(choose: Choose, config: Config) -> None:
    """With gates that open by themselves and red that is accepted, no choice of ends goes on for ever."""
    history = History(FEATURE, breaker=Breaker(config.breaker))
    world = World(choose, replace(config, gates=Gates(spec="auto", qa="auto")), history=history)
    world.session = Session(accepts_red=True)
    world.write("PRD.md")
    for _ in range(8):
        rest = world.loop(most=400)
        if not isinstance(rest, d.Wait | d.Halt) or rest.until is None:
            break
        world.now = rest.until
    assert world.session.runs <= config.limits.max_iterations


class Feature(RuleBasedStateMachine):
    """A person and a Ralphy at the same feature, in any order; every act ends as it likes."""

    @initialize(choose=chances, config=configs, is_hand_written=st.booleans())
    def begin(self, choose: Choose, config: Config, is_hand_written: bool) -> None:
        self.world = World(choose, config, history=History(FEATURE, breaker=Breaker(config.breaker)))
        self.world.session = Session(accepts_red=True)
        self.seen: set[str] = set()
        if is_hand_written:
            draft = [{"id": f"US-{n}", "title": "t", "priority": 1} for n in range(3)]
            self.world.prd = Prd.of({"userStories": draft})
        else:
            self.world.write("PRD.md")

    @rule()
    def run(self) -> None:
        self.world.start_again()
        self.world.loop(most=1000)

    @rule(times=st.integers(1, 6))
    def go_on(self, times: int) -> None:
        """Interrupted before it comes to a rest."""
        for _ in range(times):
            self.world.step()

    @rule()
    def approve_and_run(self) -> None:
        self.world.mark("APPROVED")
        self.run()

    @rule(name=few(["APPROVED", "REJECTED", "STOP"]), text=few(["", "smaller"]))
    def mark(self, name: str, text: str) -> None:
        self.world.mark(name, text)

    @rule(name=few(["PRD.md", "SPEC.md"]))
    def edit(self, name: str) -> None:
        if name in self.world.artifacts:
            self.world.write(name)
            self.world.edited = self.world.has_branch

    @rule(text=few(["yes", "use the other one"]))
    def answer(self, text: str) -> None:
        for story in self.world.prd.stories:
            self.world.answers[story.id] = text

    @rule()
    def wait(self) -> None:
        self.world.now += 60

    @rule()
    def change_the_code(self) -> None:
        self.world.code += 1

    @rule()
    def reset(self) -> None:
        self.world.record("reset")

    @rule()
    def reset_the_circuit(self) -> None:
        self.world.record("reset_circuit")
        assert self.world.history.breaker.state_at(self.world.now) is BreakerState.CLOSED

    @rule()
    def wait_for_the_cool_down(self) -> None:
        self.world.now += self.world.config.breaker.cooldown_s
        assert self.world.history.breaker.state_at(self.world.now) is not BreakerState.OPEN

    @invariant()
    def no_story_is_lost(self) -> None:
        if hasattr(self, "world"):
            ids = {story.id for story in self.world.prd.stories}
            assert self.seen <= ids
            self.seen = ids

    @invariant()
    def no_story_is_completed_without_a_run_or_a_person(self) -> None:
        if hasattr(self, "world"):
            completed = {story.id for story in self.world.prd.stories if story.is_completed}
            assert completed == set(self.world.completed_by)
            for story, run in self.world.completed_by.items():
                assert run == "a person" or ("story", story) in self.world.runs

    @invariant()
    def an_open_breaker_stops_agents_at_the_story_of_the_last_run(self) -> None:
        if hasattr(self, "world"):
            seen = self.world.observe()
            breaker, decision = seen.history.breaker, decide(seen, self.world.config)
            if breaker.state_at(seen.now) is BreakerState.OPEN and isinstance(decision, d.RunAgent):
                assert decision.story != breaker.subjects[-1] or decision.step == "split"
                assert decision.step != breaker.subjects[-1]

    @invariant()
    def no_story_is_split_more_often_than_it_may(self) -> None:
        if hasattr(self, "world"):
            most = self.world.config.limits.max_splits
            pieces = [story for story in self.world.prd.stories if "context" in story.raw]
            assert all(piece.raw["context"]["split"] <= most for piece in pieces)
            cut = {piece.raw["context"]["split_from"] for piece in pieces}
            assert not cut & {piece.id for piece in pieces}

    @invariant()
    def no_story_has_more_attempts_than_it_may(self) -> None:
        if hasattr(self, "world"):
            most = self.world.config.limits.max_attempts
            assert all(past.attempts <= most for past in self.world.history.stories.values())

    @invariant()
    def no_story_and_no_step_sees_ralphy_die_for_ever(self) -> None:
        if hasattr(self, "world"):
            history = self.world.history
            for past in (*history.stories.values(), *history.steps.values()):
                assert past.idle_deaths <= MOST_IDLE_DEATHS and past.deaths <= MOST_DEATHS


TestFeature = Feature.TestCase
TestFeature.settings = settings(max_examples=examples(100), stateful_step_count=40)
