"""What agents did and when: the journal folded run by run, for the report's timeline and for statistics.

`History` folds the same lines into what decisions go by; nothing is decided from what is here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ralphy.agents.protocol import Outcome
from ralphy.text.json_coerce import count_of, mapping_of, moment_of, number_of, text_of

_ENDED_EARLY = (Outcome.STOPPED.value, Outcome.DIED.value)  # nothing is waited for after them

Entry = Mapping[str, Any]
# A pause that nobody planned and that is longer divides two nights.
BREAK_S = 6 * 3600.0


@dataclass(frozen=True, slots=True)
class Turn:
    """One agent run with its verdict. `ended` is 0 while it goes on; `seconds` are of the agent alone.

    `retry_at` is when the provider lets agents work again; `story_seconds` and `story_cost` are what a story took that
    landed with this run, over all its runs.
    """

    feature: str
    run: str
    step: str
    story: str
    lane: str
    attempt: int
    model: str
    began: float
    ended: float = 0.0
    outcome: str = ""
    why: str = ""
    landed: bool = False
    cost_usd: float = 0.0
    seconds: float = 0.0
    tokens: Mapping[str, int] = field(default_factory=dict)
    kept: int = 0
    retry_at: float = 0.0
    story_seconds: float = 0.0
    story_cost: float = 0.0
    place: str = ""

    @property
    def of(self) -> str:
        """What it worked on: the story, or the step."""
        return self.story or self.step

    @property
    def is_rejected(self) -> bool:
        """Did it cost an attempt and not succeed?"""
        try:
            return Outcome(self.outcome).costs_an_attempt and self.outcome != Outcome.SUCCEEDED.value
        except ValueError:
            return False


@dataclass(frozen=True, slots=True)
class Pause:
    """A time in which nobody worked; `ended` is 0 while it goes on."""

    began: float
    ended: float
    why: str


@dataclass(frozen=True, slots=True)
class Moment:
    """What was decided by a person, or for one."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Past:
    """Runs, pauses and decisions, each in the order in which it began."""

    turns: tuple[Turn, ...] = ()
    pauses: tuple[Pause, ...] = ()
    decisions: tuple[Moment, ...] = ()

    @property
    def began(self) -> float:
        return min((turn.began for turn in self.turns), default=0.0)

    @property
    def ended(self) -> float:
        """The end of the last run; of one that goes on, its beginning."""
        return max((turn.ended or turn.began for turn in self.turns), default=0.0)


def past_of(entries: Iterable[Entry], feature: str = "") -> Past:
    """The past of a feature, or of all."""
    fold = _Fold()
    for entry in entries:
        if not feature or entry.get("feature") == feature:
            fold.take(entry)
    return Past(tuple(fold.turns), tuple(fold.bounded()), tuple(fold.decisions))


def nights_of(past: Past) -> list[Past]:
    """The past cut where nobody worked, or waited for the provider, for hours; the newest night is the last one."""
    groups: list[list[Turn]] = []
    reach = 0.0
    for turn in sorted(past.turns, key=lambda turn: turn.began):
        if not groups or turn.began - reach > BREAK_S:
            groups.append([])
        groups[-1].append(turn)
        reach = max(reach, turn.began, turn.ended, turn.retry_at)
    starts = [group[0].began for group in groups]
    ends = [*starts[1:], float("inf")][: len(starts)]
    return [_between(past, tuple(group), start, end) for group, start, end in zip(groups, starts, ends, strict=True)]


def interrupted(past: Past) -> Past:
    """The past where nobody works any more: each run without an end is over, at an unknown time."""
    turns = [turn if turn.ended else replace(turn, ended=turn.began, outcome=Outcome.DIED.value) for turn in past.turns]
    return replace(past, turns=tuple(turns))


def _between(past: Past, turns: tuple[Turn, ...], start: float, end: float) -> Past:
    pauses = tuple(pause for pause in past.pauses if pause.began < end and (pause.ended or end) > start)
    return Past(turns, pauses, tuple(one for one in past.decisions if start <= one.at < end))


class _Fold:
    """`turns` in the order of their beginning; the open ones by their run, with their place in it."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.decisions: list[Moment] = []
        self._pauses: list[Pause] = []
        self._open: dict[str, int] = {}
        self._gates: dict[tuple[str, str], int] = {}

    def take(self, entry: Entry) -> None:
        kind, at = entry.get("ev"), number_of(entry.get("at")) or 0.0
        if kind == "run":
            self._begin(entry, at)
        elif kind == "end":
            self._end(entry, at)
        elif kind == "gate":
            self._gates[_gate_of(entry)] = len(self._pauses)
            self._pauses.append(Pause(at, 0.0, f"waited for you, at the {text_of(entry.get('gate'))} gate"))
        elif kind in ("approved", "rejected") and (place := self._gates.pop(_gate_of(entry), None)) is not None:
            self._pauses[place] = replace(self._pauses[place], ended=at)
        if decision := _decision_in(entry):
            self.decisions.append(Moment(at, decision))

    def bounded(self) -> Iterable[Pause]:
        """The pauses, none of them beyond the beginning of the next run of its feature."""
        begun = sorted(turn.began for turn in self.turns)
        for pause in self._pauses:
            at = bisect_right(begun, pause.began)
            following = begun[at] if at < len(begun) else 0.0
            if following and (not pause.ended or following < pause.ended):
                yield replace(pause, ended=following)
            else:
                yield pause

    def _begin(self, entry: Entry, at: float) -> None:
        turn = Turn(
            text_of(entry.get("feature")), text_of(entry.get("run")), text_of(entry.get("step")),
            text_of(entry.get("story")), text_of(entry.get("lane")) or "1", count_of(entry.get("attempt")),
            text_of(entry.get("model")), at, place=text_of(entry.get("checkout")),
        )  # fmt: skip
        for run, place in list(self._open.items()):
            left = self.turns[place]
            if (left.feature, left.lane, left.place) == (turn.feature, turn.lane, turn.place):
                self._close(run, replace(left, ended=left.began, outcome=Outcome.DIED.value))
        self._open[turn.run] = len(self.turns)
        self.turns.append(turn)

    def _end(self, entry: Entry, at: float) -> None:
        run = text_of(entry.get("run"))
        if run not in self._open:
            return
        retry_at = moment_of(entry.get("retry_at")) or 0.0
        why = " ".join((text_of(entry.get("detail")) or text_of(entry.get("failure"))).split())[:300]
        tokens = {kind: count_of(number) for kind, number in mapping_of(entry.get("tokens")).items()}
        place = self._open[run]
        self._close(run, replace(
            self.turns[place], ended=at, outcome=text_of(entry.get("outcome")), why=why, tokens=tokens,
            landed=entry.get("landed") is True, cost_usd=number_of(entry.get("cost")) or 0.0,
            seconds=number_of(entry.get("seconds")) or 0.0, kept=count_of(entry.get("kept")), retry_at=retry_at,
            story_seconds=number_of(entry.get("story_seconds")) or 0.0,
            story_cost=number_of(entry.get("story_cost")) or 0.0,
        ))  # fmt: skip
        if retry_at > at and self.turns[place].outcome not in _ENDED_EARLY:
            self._pauses.append(Pause(at, retry_at, f"waited: {why}" if why else "waited for the provider"))

    def _close(self, run: str, turn: Turn) -> None:
        self.turns[self._open.pop(run)] = turn


def _gate_of(entry: Entry) -> tuple[str, str]:
    return text_of(entry.get("feature")), text_of(entry.get("gate"))


def _decision_in(entry: Entry) -> str:
    """What a line of the journal says that was decided; "" if it is about something else."""
    gate, story = text_of(entry.get("gate")), text_of(entry.get("story"))
    match entry.get("ev"):
        case "approved":
            by = text_of(entry.get("by"))
            return f"{gate} approved" + (f" ({by})" if by else "")
        case "rejected":
            words = " ".join(text_of(entry.get("text")).split())
            back = f"sent back: {words}" if words else "sent back with remarks"
            return f"{gate} {back if entry.get('verdict') == 'revise' else 'rejected'}"
        case "reset" if entry.get("feedback"):
            return f"the question of {story or text_of(entry.get('step'))} answered"
        case "accept_red":
            tests = entry.get("tests")
            return f"{len(tests) if isinstance(tests, list) else 0} failing tests accepted as known"
        case "reset_circuit":
            return "the circuit breaker closed"
        case "stopped":
            return "stopped by STOP"
        case "pull_request":
            return f"pull request {text_of(entry.get('url'))}"
    return ""
