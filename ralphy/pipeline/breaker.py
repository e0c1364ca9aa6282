"""The circuit breaker between runs: three states folded from the journal's last lines of runs; no file of its own.

Runs that get nowhere first make it HALF_OPEN (one more chance), then OPEN (nothing is started). After the cool-down,
or a reset by a person, one run is let through again, and its outcome decides.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ralphy.agents.protocol import Outcome
from ralphy.config.values import BreakerRules
from ralphy.text.json_coerce import number_of, text_of

_MOST_COMPARED = 500
_VARIES = re.compile(r"0x[0-9a-f]+|\b[0-9a-f]{7,64}\b|[0-9]+(?:\.[0-9]+)?", re.I)
_COUNTED = {outcome.value for outcome in Outcome if outcome.costs_an_attempt}


class BreakerState(Enum):
    CLOSED = "CLOSED"
    HALF_OPEN = "HALF_OPEN"
    OPEN = "OPEN"


@dataclass(slots=True)
class Breaker:
    """The outcomes of the runs since the last success; `trigger` is why it opened last, "" if it never did.

    `has_saved_work` says that any of them left an attempt to be looked at. `subjects` are the stories (or steps) of
    those runs, the last two different ones; `trees` are those that they left: a tree that was there before is not
    progress, so that an agent that goes to and fro makes none.
    """

    rules: BreakerRules = field(default_factory=BreakerRules)
    state: BreakerState = BreakerState.CLOSED
    trigger: str = ""
    opened_at: float = 0.0
    attempts: int = 0
    idle: int = 0
    same_error: int = 0
    test_only: int = 0
    good: int = 0
    error: str = ""
    last_error: str = ""
    has_saved_work: bool = False
    subjects: tuple[str, ...] = ()
    trees: list[str] = field(default_factory=list)

    def count(self, subject: str, end: Mapping[str, Any]) -> None:
        """Fold in the end of a run; limits, troubles, stops, and runs that nobody judged count for nothing."""
        if "changed" not in end or end.get("outcome") not in _COUNTED:
            return
        tree = text_of(end.get("changed"))
        succeeded = end.get("outcome") == Outcome.SUCCEEDED.value
        moved = succeeded or bool(tree and tree not in self.trees)
        if tree:
            self.trees.append(tree)
        self._add_up(subject, end, moved=moved)
        if succeeded:
            self._forget()
        self._move(number_of(end.get("at")) or 0.0, moved=moved)

    def state_at(self, now: float) -> BreakerState:
        """The state for people and decisions: OPEN ends with the cool-down, also when a clock was set back."""
        if not self.rules.enabled:
            return BreakerState.CLOSED
        if self.state is BreakerState.OPEN and not self.opened_at <= now < self.opens_again_at:
            return BreakerState.HALF_OPEN
        return self.state

    @property
    def opens_again_at(self) -> float:
        return self.opened_at + self.rules.cooldown_s

    @property
    def why(self) -> str:
        """What opened it, in words."""
        what, number = {
            "no_progress": ("made no progress", self.idle),
            "same_error": ("failed the same way", self.same_error),
            "test_saturation": ("changed tests alone", self.test_only),
        }.get(self.trigger, ("", 0))
        return f"{number} agent runs in a row {what}" if number > 1 else f"the last agent run {what}"

    def close(self) -> None:
        """Start over, for a person has said so; why it opened last stays known."""
        self._forget()
        self.state, self.good = BreakerState.CLOSED, 0

    def forgive(self, subject: str) -> None:
        """A person has dealt with the story (or step) of the last run."""
        if self.subjects[-1:] == (subject,):
            self.close()

    def _add_up(self, subject: str, end: Mapping[str, Any], *, moved: bool) -> None:
        error = text_of(end.get("error"))
        self.attempts += 1
        self.idle = 0 if moved else self.idle + 1
        self.same_error = self.same_error + 1 if error and error == self.error else min(1, len(error))
        self.test_only = self.test_only + 1 if end.get("test_only") is True else 0
        self.error, self.last_error = error, text_of(end.get("detail")) or self.last_error
        self.has_saved_work = self.has_saved_work or bool(end.get("tree"))
        self.subjects = (*(known for known in self.subjects if known != subject), subject)[-2:]

    def _forget(self) -> None:
        self.attempts = self.idle = self.same_error = self.test_only = 0
        self.error, self.last_error, self.has_saved_work, self.subjects = "", "", False, ()
        self.trees.clear()

    def _move(self, at: float, *, moved: bool) -> None:
        """The next state: a run that ended while it was OPEN had been let through, as in HALF_OPEN."""
        trigger = self._pulled() or ("no_progress" if self.state is not BreakerState.CLOSED and not moved else "")
        if trigger:
            self.state, self.trigger, self.opened_at, self.good = BreakerState.OPEN, trigger, at, 0
        elif self.state is BreakerState.CLOSED:
            self.state = BreakerState.HALF_OPEN if self.idle >= self.rules.no_progress else BreakerState.CLOSED
        else:
            self.good += 1
            self.state = BreakerState.CLOSED if self.good >= self.rules.successes else BreakerState.HALF_OPEN

    def _pulled(self) -> str:
        """Which threshold has been reached, in any state; "" if none."""
        if self.same_error >= self.rules.same_error:
            return "same_error"
        return "test_saturation" if self.test_only >= self.rules.test_only else ""


def signature(failure: str) -> str:
    """What is the same of a failure every time: without numbers, ids and white space."""
    return _VARIES.sub("#", " ".join(failure.lower().split())[:_MOST_COMPARED])
