"""What happened so far: a fold over the journal's lines, one line at a time.

Nothing is counted anywhere else: attempts, costs, waits and baselines all come from here. A run
without an end is a crash and counts as an attempt; a reset is a line like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ralphy.core.agent import Outcome

Entry = Mapping[str, Any]


@dataclass(slots=True)
class StoryHistory:
    """Since the story's last completion, redo or reset. `tree` is the kept attempt a heal goes on from."""

    attempts: int = 0
    runs: int = 0
    cost_usd: float = 0.0
    active_s: float = 0.0
    last_failure: str = ""
    tree: str = ""
    last_mode: str = ""
    heals: bool = False
    feedback: str = ""


@dataclass(slots=True)
class History:
    """The folded journal of one feature (baselines are shared by all of them)."""

    feature: str
    stories: dict[str, StoryHistory] = field(default_factory=dict)
    steps: dict[str, StoryHistory] = field(default_factory=dict)
    open_run: Entry | None = None
    iterations: int = 0
    cost_usd: float = 0.0
    tokens: dict[str, int] = field(default_factory=dict)
    started_at: float = 0.0
    active_s: dict[str, float] = field(default_factory=dict)
    gates: dict[str, int] = field(default_factory=dict)
    baselines: dict[str, Entry] = field(default_factory=dict)
    known_red: frozenset[str] = frozenset()
    retry_at: float = 0.0
    retry_reason: str = ""
    waits_in_a_row: int = 0
    qa_rounds: int = 0
    last_end: Entry | None = None
    has_lines: bool = False
    _runs: dict[str, Entry] = field(default_factory=dict)

    def add(self, entry: Entry) -> None:
        """Fold in one line; unknown events and other features' lines change nothing."""
        if entry.get("ev") == "baseline":
            self.baselines[str(entry.get("key", ""))] = entry
            return
        if entry.get("feature") != self.feature:
            return
        self.has_lines = True
        fold = _FOLDS.get(str(entry.get("ev", "")))
        if fold:
            fold(self, entry)

    def of(self, step: str, story: str | None) -> StoryHistory:
        """The counters of a story, or of a step that has no story; made empty when first asked for."""
        table, key = (self.stories, story) if story else (self.steps, step)
        return table.setdefault(key, StoryHistory())


def _run(history: History, entry: Entry) -> None:
    history.open_run = entry
    history._runs = {str(entry.get("run")): entry}
    history.iterations += 1
    history.started_at = history.started_at or float(entry.get("at", 0.0))
    counts = history.of(str(entry.get("step")), entry.get("story"))
    counts.runs += 1
    counts.last_mode = str(entry.get("mode", ""))


def _end(history: History, entry: Entry) -> None:
    run = history._runs.get(str(entry.get("run")))
    if run is None:
        return
    history.open_run = None
    history.last_end = entry
    step, story = str(run.get("step")), run.get("story")
    counts = history.of(step, story)
    cost = float(entry.get("cost", 0.0))
    seconds = float(entry.get("seconds", 0.0))
    history.cost_usd += cost
    history.active_s[step] = history.active_s.get(step, 0.0) + seconds
    for kind, number in (entry.get("tokens") or {}).items():
        history.tokens[kind] = history.tokens.get(kind, 0) + int(number)
    counts.cost_usd += cost
    counts.active_s += seconds
    _settle(history, counts, Outcome(entry.get("outcome", "crashed")), entry)
    if entry.get("landed") and story:
        history.stories[story] = StoryHistory()
    if step == "qa" and entry.get("outcome") == "succeeded":
        history.qa_rounds += 1


def _settle(history: History, counts: StoryHistory, outcome: Outcome, entry: Entry) -> None:
    if outcome.costs_an_attempt:
        counts.attempts += 1
        counts.last_failure = str(entry.get("failure", ""))
        counts.tree = str(entry.get("tree", ""))
        counts.heals = bool(entry.get("heals"))
        history.retry_at, history.retry_reason, history.waits_in_a_row = 0.0, "", 0
        if outcome is Outcome.SUCCEEDED:
            counts.attempts, counts.last_failure = 0, ""
    elif outcome in (Outcome.LIMITED, Outcome.TRANSIENT):
        history.retry_at = float(entry.get("retry_at", 0.0))
        history.retry_reason = str(entry.get("detail", outcome.value))
        history.waits_in_a_row += 1


def _reset(history: History, entry: Entry) -> None:
    story, step = entry.get("story"), entry.get("step")
    if story:
        history.stories[str(story)] = StoryHistory(feedback=str(entry.get("feedback", "")))
    elif step:
        history.steps[str(step)] = StoryHistory()
        history.qa_rounds = 0
        history.active_s.pop(str(step), None)
    else:
        baselines, history_red = history.baselines, history.known_red
        fresh = History(history.feature, baselines=baselines, known_red=history_red)
        for name in fresh.__slots__:
            setattr(history, name, getattr(fresh, name))


def _gate(history: History, entry: Entry) -> None:
    history.gates[f"{entry.get('gate')}:{entry.get('digest')}"] = int(entry.get("ctime_ns", 0))


def _accept_red(history: History, entry: Entry) -> None:
    history.known_red = frozenset(str(test) for test in entry.get("tests", ()))


_FOLDS = {"run": _run, "end": _end, "reset": _reset, "gate": _gate, "accept_red": _accept_red}
