"""What happened so far: a fold over the journal's lines, one line at a time.

Attempts, costs, waits and baselines all come from here; prd.json's `attempts` and the kept attempts' refs stand in
where the journal was wiped. A run without an end is the death of Ralphy or of the machine: it costs no attempt, and
the next run resumes from the work that was kept. A reset is a line like any other.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ralphy.agents.protocol import Outcome
from ralphy.pipeline.breaker import Breaker
from ralphy.pipeline.steps import names
from ralphy.text.json_coerce import moment_of, text_of
from ralphy.text.rehearsed import is_marked

Entry = Mapping[str, Any]


@dataclass(slots=True)
class StoryHistory:
    """Since the story's last completion, redo, reset or split.

    `tree` is the kept attempt that the next run starts from: to heal it (`heals`), or to resume it because its run was
    cut off (`cut_off` says by what). `outbox` names the run of a step whose unfinished documents are handed on.

    `is_known`: the journal has a line about it; `too_large`: runs that ended at the size of their context; `asks`: the
    last run ended with a question. `deaths` are the runs in which Ralphy or the machine died, `idle_deaths` those in a
    row without anything beyond the `works` (tree ids) of before. `refusals` are the last attempts in a row that tests
    of the same criteria (`acceptance`) alone refused, `unproved` all that went back as no test proves them.
    """

    attempts: int = 0
    runs: int = 0
    cost_usd: float = 0.0
    active_s: float = 0.0
    last_failure: str = ""
    tree: str = ""
    outbox: str = ""
    last_mode: str = ""
    heals: bool = False
    cut_off: str = ""
    deaths: int = 0
    idle_deaths: int = 0
    works: tuple[str, ...] = ()
    feedback: str = ""
    asks: bool = False
    is_known: bool = False
    too_large: int = 0
    acceptance: tuple[str, ...] = ()
    refusals: int = 0
    unproved: int = 0


@dataclass(frozen=True, slots=True)
class Pace:
    """What a story took that landed, over all its runs."""

    feature: str
    seconds: float
    cost_usd: float
    is_rehearsed: bool = False


# The mode of a run that goes on with an attempt that was cut off.
RESUME = "resume"

# Deaths of Ralphy in one story (or step) before a person is asked: in a row without progress, and in all.
MOST_IDLE_DEATHS = 3
MOST_DEATHS = 20

_HOUR_S = 3600.0
_MOST_PACES = 200


@dataclass(slots=True)
class History:
    """The folded journal of one feature; baselines, times of calls, the paces of landed stories and the provider's
    last word on its `limit` are those of the whole project.

    `checkout` is the one that is looked from. Without it, all runs count as its own, and so do lines that name none.
    `unended` has the runs without an end, by the other checkout that they belong to ("" for this one) and their lane: a
    lane has one run at a time. `saved_work` is the last line about a run's kept work: it is known even if Ralphy dies
    while that work is cleared away.
    `in_refs` is the history of stories by the refs of kept attempts, for those that the journal does not know.
    `started_over` is the commit whose stories a person gave up, all of them.
    `rest` is what the last Ralphy that drove the feature waits for, or the step whose time was used up; a run ends it.
    `watchdog` is the last warning to a run that is open. `in_trouble` are the runs that were open when another one met
    a limit or a passing trouble: what they say of it is not news.
    """

    feature: str
    stories: dict[str, StoryHistory] = field(default_factory=dict)
    steps: dict[str, StoryHistory] = field(default_factory=dict)
    unended: dict[tuple[str, str], Entry] = field(default_factory=dict)
    saved_work: Entry = field(default_factory=dict)
    iterations: int = 0
    cost_usd: float = 0.0
    tokens: dict[str, int] = field(default_factory=dict)
    started_at: float = 0.0
    active_s: dict[str, float] = field(default_factory=dict)
    gates: dict[str, int] = field(default_factory=dict)
    baselines: dict[str, Entry] = field(default_factory=dict)
    known_red: frozenset[str] = frozenset()
    retry_at: float = 0.0
    retry_s: float = 0.0
    retry_reason: str = ""
    waits_in_a_row: int = 0
    resets_in_a_row: int = 0
    in_trouble: frozenset[object] = frozenset()
    qa_rounds: int = 0
    last_end: Entry | None = None
    last_step: str = ""
    is_reset: bool = False
    limit: Entry = field(default_factory=dict)
    paces: list[Pace] = field(default_factory=list)
    unknown_cost_runs: int = 0
    calls: list[float] = field(default_factory=list)
    checkout: str = ""
    breaker: Breaker = field(default_factory=Breaker)
    in_refs: dict[str, StoryHistory] | None = None
    started_over: str = ""
    watchdog: Entry = field(default_factory=dict)
    rest: Entry = field(default_factory=dict)
    last_at: float = 0.0
    is_rehearsed: bool = False

    @property
    def open_runs(self) -> tuple[Entry, ...]:
        """The runs of this checkout that have no end, oldest first."""
        return tuple(run for (place, _), run in self.unended.items() if not place)

    def is_open(self, run: object) -> bool:
        """Has the run of this checkout, by its id, begun and not ended?"""
        return bool(self.begun(run))

    def begun(self, run: object) -> Entry:
        """The line with which an open run of this checkout began; {} if there is none of that id."""
        return next((known for known in self.open_runs if known.get("run") == run), {})

    def add(self, entry: Entry) -> None:
        """Fold in one line; unknown events change nothing, other features' lines only what the project shares."""
        if entry.get("ev") == "run":
            self._call(_number(entry.get("at")))
        if entry.get("ev") == "baseline":
            self.baselines[str(entry.get("key", ""))] = entry
            return
        if entry.get("ev") == "end":
            self._share(entry)
        if entry.get("feature") != self.feature:
            return
        if fold := _FOLDS.get(str(entry.get("ev", ""))):
            fold(self, entry)

    def _share(self, entry: Entry) -> None:
        """Take from the end of any feature's run what holds for the whole project."""
        if isinstance(entry.get("limit"), Mapping):
            self.limit = entry["limit"]
        if entry.get("landed") and "story_seconds" in entry:
            seconds, cost = _number(entry.get("story_seconds")), _number(entry.get("story_cost"))
            pace = Pace(str(entry.get("feature")), max(0.0, seconds), max(0.0, cost), entry.get("rehearsed") is True)
            self.paces = [*self.paces[1 - _MOST_PACES :], pace]

    def _call(self, at: float) -> None:
        """Note an agent call, and forget those that are older than an hour."""
        self.calls.append(at)
        while self.calls[0] <= at - _HOUR_S:
            self.calls.pop(0)

    def of(self, step: str, story: str | None) -> StoryHistory:
        """The counters of a story, of a step, or of a step for a story; empty ones if nothing is known of it."""
        table, key = _place_of(self, step, story)
        in_refs = (self.in_refs or {}).get(key) if table is self.stories and not self.is_reset else None
        return table.get(key) or in_refs or StoryHistory()

    def hands_on(self, run: str) -> bool:
        """Does the next run of its step begin with the documents of this one?"""
        return any(counts.outbox == run for counts in self.steps.values())

    def saved_commit_of(self, run: str) -> str:
        """The commit that holds what a run without an end had made; "" if that is still in the checkout alone."""
        return text_of(self.saved_work.get("commit")) if self.saved_work.get("run") == run else ""


def _place_of(history: History, step: str, story: str | None) -> tuple[dict[str, StoryHistory], str]:
    """Where runs are counted: a story's attempts by its id, all else by its step (and the story that it is for)."""
    if story and step == names.SPLIT:
        return history.steps, f"{step} {story}"
    return (history.stories, story) if story else (history.steps, step)


def _counts(history: History, run: Entry) -> StoryHistory:
    story = run.get("story")
    table, key = _place_of(history, str(run.get("step")), str(story) if story else None)
    return table.setdefault(key, StoryHistory(is_known=True))


def _run(history: History, entry: Entry) -> None:
    place = _place(history, entry)
    at = (place, str(entry.get("lane") or "1"))
    before = history.unended.get(at)
    if before is not None:
        _end(history, {"run": before.get("run"), "outcome": Outcome.DIED.value})
    history.unended[at], history.rest = entry, {}
    history.iterations += 1
    history.last_at = _number(entry.get("at"))
    history.is_rehearsed = history.is_rehearsed or is_marked(entry.get("model"))
    history.started_at = history.started_at or _number(entry.get("at"))
    counts = _counts(history, entry)
    counts.runs += 1
    counts.deaths = max(counts.deaths, int(_number(entry.get("deaths"))))  # goes on after a wiped journal
    if entry.get("mode") != RESUME:  # it goes on with the attempt that was cut off, whatever that one's mode was
        counts.last_mode = str(entry.get("mode", ""))


def _place(history: History, run: Entry) -> str:
    """The other checkout that a run belongs to, or "" for the one that is looked from."""
    place = str(run.get("checkout") or "")
    return place if history.checkout and place != history.checkout else ""


def _close_run(history: History, name: object) -> Entry | None:
    """The open run of that id, which is open no more."""
    at = next((at for at, run in history.unended.items() if run.get("run") == name), None)
    if history.watchdog.get("run") == name:
        history.watchdog = {}
    return None if at is None else history.unended.pop(at)


def _end(history: History, entry: Entry) -> None:
    run = _close_run(history, entry.get("run"))
    if run is None:
        return
    step, story = str(run.get("step")), run.get("story")
    history.last_at = _number(entry.get("at")) or history.last_at
    if not _place(history, run):
        history.last_end, history.last_step = entry, step
    counts = _counts(history, run)
    cost, seconds = _number(entry.get("cost")), _number(entry.get("seconds"))
    history.cost_usd += cost
    history.unknown_cost_runs += entry.get("cost_unknown") is True
    history.active_s[step] = history.active_s.get(step, 0.0) + seconds
    tokens = entry.get("tokens")
    for kind, number in tokens.items() if isinstance(tokens, Mapping) else ():
        history.tokens[kind] = history.tokens.get(kind, 0) + int(_number(number))
    counts.cost_usd += cost
    counts.active_s += seconds
    outcome = _OUTCOMES.get(str(entry.get("outcome")), Outcome.CRASHED)
    _settle(history, counts, outcome, entry, run)
    if step == names.SPLIT and story:
        _split(history, str(story), cost, outcome)
    if entry.get("landed") and story:
        history.stories[str(story)] = StoryHistory(is_known=True)
        _shrink_known_red(history, str(entry.get("code", "")))
    history.breaker.count(str(story or step), entry)
    if step == names.QA and entry.get("outcome") == "succeeded":
        history.qa_rounds += 1


def _split(history: History, story: str, cost: float, outcome: Outcome) -> None:
    """What the splitting cost is the story's; once it is split, its attempt count resets."""
    past = history.stories.setdefault(story, StoryHistory(is_known=True))
    past.cost_usd += cost
    if outcome is Outcome.SUCCEEDED:
        history.stories[story] = StoryHistory(cost_usd=past.cost_usd, active_s=past.active_s, is_known=True)
        history.breaker.forgive(story)


def _shrink_known_red(history: History, code: str) -> None:
    """Take the tests that are green in a landed tree out of the known red ones."""
    if not history.known_red:
        return
    red = [entry.get("red") for key, entry in history.baselines.items() if code and key.startswith(f"{code}:")]
    if red and isinstance(red[-1], list):
        history.known_red &= frozenset(str(test) for test in red[-1])


def _settle(history: History, counts: StoryHistory, outcome: Outcome, entry: Entry, run: Entry) -> None:
    is_news = run.get("run") not in history.in_trouble
    if outcome.costs_an_attempt:
        # A run knows its number: after a wiped journal it goes on from prd.json's.
        counts.attempts = max(counts.attempts + 1, int(_number(run.get("attempt"))))
        counts.last_failure = str(entry.get("failure", ""))
        counts.tree, counts.outbox = str(entry.get("tree", "")), text_of(entry.get("outbox"))
        counts.heals, counts.cut_off = bool(entry.get("heals")), ""
        counts.asks = outcome is Outcome.NEEDS_INPUT
        _count_refusals(counts, entry)
        counts.idle_deaths, counts.works = 0, (text_of(entry.get("changed")),)
        counts.too_large += Outcome.TOO_LARGE.value in (entry.get("outcome"), entry.get("agent"))
        if is_news:
            history.retry_at, history.retry_reason = 0.0, ""
            history.waits_in_a_row = history.resets_in_a_row = 0
        if outcome is Outcome.SUCCEEDED:
            counts.attempts, counts.last_failure, counts.too_large, counts.deaths = 0, "", 0, 0
    elif outcome is Outcome.CONFLICTED:
        counts.last_failure, counts.cut_off = str(entry.get("failure", "")), ""
        counts.tree, counts.heals = str(entry.get("tree", "")), bool(entry.get("heals"))
    elif outcome in (Outcome.STOPPED, Outcome.DIED):
        _cut_off(counts, entry)
        if outcome is Outcome.DIED:
            _count_death(counts, text_of(entry.get("work")))
    elif outcome in (Outcome.LIMITED, Outcome.TRANSIENT):
        counts.outbox = text_of(entry.get("outbox"))
        history.retry_at = moment_of(entry.get("retry_at")) or 0.0
        history.retry_s = max(0.0, history.retry_at - _number(entry.get("at")))
        history.retry_reason = str(entry.get("detail", outcome.value))
        is_reset = entry.get("until_reset") is True
        history.waits_in_a_row += is_news and not is_reset
        history.resets_in_a_row += is_news and is_reset
        history.in_trouble = frozenset(known.get("run") for known in history.unended.values())


def _count_refusals(counts: StoryHistory, entry: Entry) -> None:
    noted = entry.get("acceptance")
    criteria = tuple(map(str, noted)) if isinstance(noted, list | tuple) else ()
    counts.refusals = counts.refusals + 1 if criteria and criteria == counts.acceptance else int(bool(criteria))
    counts.acceptance, counts.unproved = criteria, counts.unproved + (entry.get("unproved") is True)


def _cut_off(counts: StoryHistory, entry: Entry) -> None:
    """The next run resumes from what this one had made; where that is nothing, from where this one started."""
    tree, outbox = text_of(entry.get("tree")) if entry.get("heals") else "", text_of(entry.get("outbox"))
    if tree or outbox:
        counts.tree, counts.outbox = tree, outbox
        counts.cut_off = text_of(entry.get("detail")) or "it was stopped"


def _count_death(counts: StoryHistory, work: str) -> None:
    """Count a death. Only work that was never there before is progress, not an alternation between two states."""
    counts.deaths += 1
    counts.idle_deaths = 0 if work and work not in counts.works else counts.idle_deaths + 1
    counts.works = (*counts.works, work)[-MOST_DEATHS:]


def _rest(history: History, entry: Entry) -> None:
    history.rest = entry


def _reset(history: History, entry: Entry) -> None:
    history.rest = {}
    story, step = entry.get("story"), entry.get("step")
    history.breaker.forgive(str(story or step))
    feedback = str(entry.get("feedback", ""))
    if story or (step and feedback):  # an answer goes on with the number of the runs, and a step's rounds and time
        table, key = _place_of(history, str(step or names.STORY), str(story) if story else None)
        runs = table[key].runs if feedback and key in table else 0
        table[key] = StoryHistory(feedback=feedback, runs=runs, is_known=True)
        if not step:
            history.steps.pop(f"{names.SPLIT} {story}", None)
    elif step:
        history.steps[str(step)] = StoryHistory()
        history.qa_rounds = 0
        history.active_s.pop(str(step), None)
    else:
        _reset_all(history)


def _reset_all(history: History) -> None:
    """Forget what the runs came to, but not what they cost, nor a dead one, whose work is still to be cleared away."""
    history.is_reset, history.breaker = True, Breaker(history.breaker.rules)
    history.stories, history.steps, history.active_s = {}, {}, {}
    history.retry_at = history.retry_s = history.last_at = 0.0
    history.retry_reason = history.last_step = ""
    history.waits_in_a_row = history.resets_in_a_row = history.qa_rounds = 0
    history.in_trouble, history.last_end, history.watchdog = frozenset(), None, {}


def _save_work(history: History, entry: Entry) -> None:
    history.saved_work = entry


def _start_over(history: History, entry: Entry) -> None:
    history.started_over = text_of(entry.get("head"))


def _reset_circuit(history: History, _: Entry) -> None:
    history.breaker.close()


def _watchdog(history: History, entry: Entry) -> None:
    if history.is_open(entry.get("run")):
        history.watchdog = entry


def _gate(history: History, entry: Entry) -> None:
    history.gates[f"{entry.get('gate')}:{entry.get('digest')}"] = int(_number(entry.get("ctime_ns")))


def _accept_red(history: History, entry: Entry) -> None:
    tests = entry.get("tests")
    history.known_red = frozenset(str(test) for test in tests) if isinstance(tests, list | tuple) else frozenset()


def _number(value: Any) -> float:
    """The number, or 0.0: a line by another version, or by hand, must not stop the fold."""
    return value if isinstance(value, int | float) and math.isfinite(value) else 0.0


_OUTCOMES = {outcome.value: outcome for outcome in Outcome}
_FOLDS = {
    "run": _run,
    "end": _end,
    "rest": _rest,
    "reset": _reset,
    "reset_circuit": _reset_circuit,
    "gate": _gate,
    "kept": _save_work,
    "started_over": _start_over,
    "accept_red": _accept_red,
    "watchdog": _watchdog,
}
