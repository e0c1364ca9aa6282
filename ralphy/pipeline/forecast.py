"""What is left, and what it will take if it goes as before: medians of stories that landed, here or in the project."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ralphy.pipeline.chosen import chosen
from ralphy.pipeline.history import Pace
from ralphy.pipeline.model import Snapshot
from ralphy.text.counted import counted
from ralphy.text.durations import span
from ralphy.text.rehearsed import marked_words

_MOST_NAMED = 3
# A story of a few criteria with its tests, from the first attempt that lands to one that needs a second: a guess.
_ROUGH_S, _ROUGH_USD = (300.0, 1500.0), (0.3, 3.0)
_NO_BASIS = "a rough guess: no story has landed in this repository yet"


@dataclass(frozen=True, slots=True)
class Forecast:
    """`seconds` are of active time (agents and checks), waiting for people and limits not included."""

    stories_left: int
    seconds: float
    cost_usd: float
    is_rehearsed: bool = False

    @property
    def words(self) -> str:
        words = f"about {span(self.seconds)} and ${self.cost_usd:.2f} at the current rate"
        return marked_words(words, self.is_rehearsed)

    @property
    def cost_of_one(self) -> float:
        return self.cost_usd / self.stories_left


def forecast(s: Snapshot) -> Forecast | None:
    """None when no story is left, or none has landed in this project yet."""
    left, known = len(_left(s)), _known(s.history.paces, s.feature)
    if not left or not known:
        return None
    seconds, cost_usd = median([pace.seconds for pace in known]), median([pace.cost_usd for pace in known])
    return Forecast(left, left * seconds, left * cost_usd, _are_rehearsed(known))


@dataclass(frozen=True, slots=True)
class Expected:
    """What stories will take, from the lower to the upper quartile of those that landed in this repository.

    `stories` is 0 where it is not known how many there will be. `known` is how many landed; with none, the range is
    that of most stories anywhere. Seconds are of active time: those of a wave are worked on side by side.
    """

    stories: int
    known: int
    seconds: tuple[float, float]
    cost_usd: tuple[float, float]
    is_rehearsed: bool = False

    @property
    def words(self) -> str:
        low, high = (span(one) for one in self.seconds)
        cheap, dear = (f"${one:.2f}" for one in self.cost_usd)
        time, cost = low if low == high else f"{low} to {high}", cheap if cheap == dear else f"{cheap} to {dear}"
        stories = counted(self.stories, "story", "stories") if self.stories else "each story"
        landed = counted(self.known, "story", "stories")
        basis = f"from {landed} that landed in this repository" if self.known else _NO_BASIS
        return marked_words(f"{stories}: {time} of work, {cost} ({basis})", self.is_rehearsed)


def expected(s: Snapshot, stories: int, waves: int) -> Expected:
    """What so many stories, in so many waves, will take; of each story where none is known yet."""
    known = _real_first(s.history.paces)
    seconds = _quartiles([pace.seconds for pace in known]) if known else _ROUGH_S
    cost = _quartiles([pace.cost_usd for pace in known]) if known else _ROUGH_USD
    number, rounds = max(1, stories), max(1, waves)
    return Expected(
        stories,
        len(known),
        (seconds[0] * rounds, seconds[1] * rounds),
        (cost[0] * number, cost[1] * number),
        _are_rehearsed(known),
    )


def _quartiles(values: list[float]) -> tuple[float, float]:
    """The lower and the upper quartile; of fewer than four values, the least and the most."""
    ranked = sorted(values)
    quarter = len(ranked) // 4
    return ranked[quarter], ranked[-1 - quarter]


def what_is_left(s: Snapshot) -> str:
    """A sentence's part: how many stories are left, the first of them by name, and what they will take."""
    left = _left(s)
    if not left:
        return "no story is left" if s.prd.stories else "there are no stories yet"
    names = ", ".join(left[:_MOST_NAMED]) + (", …" if len(left) > _MOST_NAMED else "")
    stories = counted(len(_asked_for(s)), "story", "stories")
    estimate = forecast(s)
    what = f"{len(left)} of {stories} {'is' if len(left) == 1 else 'are'} left ({names})"
    return f"{what}, {estimate.words}" if estimate else what


def usual_span(paces: Sequence[Pace], feature: str) -> tuple[float, float] | None:
    """From how many to how many active seconds a story takes as a rule: half of those that landed lie in between.

    None until two have landed.
    """
    seconds = [pace.seconds for pace in _known(paces, feature)]
    return _quartiles(seconds) if len(seconds) > 1 else None


def _known(paces: Sequence[Pace], feature: str) -> list[Pace]:
    """The feature's own stories, or else those of the whole project; rehearsed ones where there are no others."""
    real = _real_first(paces)
    return [pace for pace in real if pace.feature == feature] or real


def _real_first(paces: Sequence[Pace]) -> list[Pace]:
    """The stories that an agent was paid for; the rehearsed ones where there are no others."""
    return [pace for pace in paces if not pace.is_rehearsed] or [*paces]


def _are_rehearsed(known: Sequence[Pace]) -> bool:
    return bool(known) and known[0].is_rehearsed


def median(values: list[float]) -> float:
    """The middle one; of two, what lies between them."""
    middle = len(values) // 2
    ranked = sorted(values)
    return ranked[middle] if len(values) % 2 else (ranked[middle - 1] + ranked[middle]) / 2


def _left(s: Snapshot) -> list[str]:
    """Stories that a run is still to be spent on; failed and blocked ones wait for a person."""
    wanted = _asked_for(s)
    return [story.id for story in s.prd.stories if story.is_open and story.id in wanted]


def _asked_for(s: Snapshot) -> frozenset[str]:
    """The stories that this session is about: all of them, unless a person named some."""
    return chosen(s.prd, s.session.only)[0]
