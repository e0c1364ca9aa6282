"""Statistics of all nights: how many stories landed, at which attempt, at what cost, and what the forecast was."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ralphy.pipeline.forecast import median
from ralphy.pipeline.nights import Past, Turn, nights_of
from ralphy.pipeline.steps import names

_MOST_BEFORE = 200
GOAL = 0.8  # of the stories that were tried, so many are to land


@dataclass(frozen=True, slots=True)
class Tried:
    """A story from its first run to its landing, or to its last run. Reopening a story starts a new try.

    `forecast` is (seconds, dollars): the medians of what had landed before, here or in the project; None for the first.
    """

    feature: str
    story: str
    ended: float
    landed: bool
    attempts: int
    seconds: float
    cost_usd: float
    forecast: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class ModelFigures:
    """Runs of a step with one model. `succeeded` counts those that landed or handed in what was asked for."""

    step: str
    model: str
    runs: int
    succeeded: int
    rejected: int
    seconds: float
    cost_usd: float


@dataclass(frozen=True, slots=True)
class NightFigures:
    """One stretch of work."""

    began: float
    ended: float
    runs: int
    landed: int
    tried: int
    cost_usd: float


@dataclass(frozen=True, slots=True)
class Statistics:
    """`forecast` and `outcome` are (stories, seconds, dollars) of the landed stories that something was forecast of."""

    tried: int
    landed: int
    first_attempt: int
    attempts: int
    seconds: float
    cost_usd: float
    forecast: tuple[int, float, float]
    outcome: tuple[int, float, float]
    groups: tuple[ModelFigures, ...]
    nights: tuple[NightFigures, ...]
    goal: float = GOAL

    @property
    def success_rate(self) -> float | None:
        """Landed of tried; None where nothing was tried."""
        return self.landed / self.tried if self.tried else None


def statistics_of(past: Past) -> Statistics:
    """The statistics of a past; `attempts`, `seconds` and `cost_usd` are those of the stories that landed."""
    stories = tried_in(past.turns)
    landed = [one for one in stories if one.landed]
    known = [one for one in landed if one.forecast]
    nights = (_night(night) for night in nights_of(past))
    return Statistics(
        tried=len(stories),
        landed=len(landed),
        first_attempt=sum(one.attempts == 1 for one in landed),
        attempts=sum(one.attempts for one in landed),
        seconds=sum(one.seconds for one in landed),
        cost_usd=round(sum(one.cost_usd for one in landed), 4),
        forecast=(len(known), *_summed(one.forecast for one in known if one.forecast)),
        outcome=(len(known), *_summed((one.seconds, one.cost_usd) for one in known)),
        groups=tuple(_groups(past.turns)),
        nights=tuple(nights),
    )


def tried_in(turns: Iterable[Turn]) -> list[Tried]:
    """The stories that landed or were rejected at least once, in the order of their ends."""
    open_: dict[tuple[str, str], list[Turn]] = {}
    tried: list[Tried] = []
    for turn in sorted((turn for turn in turns if turn.step == names.STORY), key=lambda turn: turn.ended or turn.began):
        of = turn.feature, turn.story
        open_.setdefault(of, []).append(turn)
        if turn.landed:
            tried.append(_try_of(open_.pop(of), _forecast(tried, turn.feature)))
    tried += [_try_of(left) for left in open_.values() if any(turn.is_rejected for turn in left)]
    return tried


def _try_of(turns: Sequence[Turn], forecast: tuple[float, float] | None = None) -> Tried:
    last = turns[-1]
    attempts = sum(turn.is_rejected or turn.landed for turn in turns)
    seconds, cost = sum(turn.seconds for turn in turns), sum(turn.cost_usd for turn in turns)
    return Tried(last.feature, last.story, last.ended, last.landed, attempts, last.story_seconds or seconds,
                 last.story_cost or cost, forecast)  # fmt: skip


def _forecast(before: Sequence[Tried], feature: str) -> tuple[float, float] | None:
    known = [one for one in before[-_MOST_BEFORE:] if one.feature == feature] or before[-_MOST_BEFORE:]
    return (median([one.seconds for one in known]), median([one.cost_usd for one in known])) if known else None


def _groups(turns: Iterable[Turn]) -> Iterable[ModelFigures]:
    rows: dict[tuple[str, str], list[Turn]] = {}
    for turn in turns:
        rows.setdefault((turn.step, turn.model), []).append(turn)
    for (step, model), group in sorted(rows.items()):
        yield ModelFigures(step, model, len(group), sum(turn.outcome == "succeeded" for turn in group),
                           sum(turn.is_rejected for turn in group), round(sum(turn.seconds for turn in group), 1),
                           round(sum(turn.cost_usd for turn in group), 4))  # fmt: skip


def _night(night: Past) -> NightFigures:
    stories = tried_in(night.turns)
    landed = sum(one.landed for one in stories)
    cost = round(sum(turn.cost_usd for turn in night.turns), 4)
    return NightFigures(night.began, night.ended, len(night.turns), landed, len(stories), cost)


def _summed(pairs: Iterable[tuple[float, float]]) -> tuple[float, float]:
    spent = list(pairs)
    return round(sum(seconds for seconds, _ in spent), 1), round(sum(cost for _, cost in spent), 4)
