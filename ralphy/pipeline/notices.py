"""Messages to a person who is away: which events are worth one, and its text."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from ralphy.agents.protocol import Outcome
from ralphy.errors import ExitCode
from ralphy.pipeline.events import Decided, Event, HeldUp, RunEnded, StoryFailed
from ralphy.pipeline.steps.table import document_at
from ralphy.text.rehearsed import marked_words

SCHEMA = "ralphy/notice@1"
Kind = Literal["gate", "question", "ended", "limit", "budget", "breaker"]
_MOST_CHARS = 4000  # all that a forge says of a refused push
_SHORT_S = 300.0  # a wait that is shorter is over before anybody has read of it
_ENDS: dict[int, Kind] = {
    ExitCode.BUDGET: "budget",
    ExitCode.BREAKER_OPEN: "breaker",
    ExitCode.LIMITED: "limit",
}
_TITLES: dict[Kind, str] = {
    "gate": "waits for your approval",
    "question": "needs your answer",
    "ended": "ended",
    "limit": "usage limit reached",
    "budget": "budget reached",
    "breaker": "circuit breaker open",
}


@dataclass(frozen=True, slots=True)
class Notice:
    """One message. `stands`: it holds until work goes on, so it is sent once, by one process.

    `where` is the document to read, `command` what to type.
    """

    event: Kind
    feature: str
    text: str
    command: str
    title: str = ""
    story: str = ""
    where: str = ""
    at: float = 0.0
    is_reminder: bool = False
    stands: bool = False

    @property
    def needs_person(self) -> bool:
        """Does nothing go on before a person has done something? Then it is worth a reminder."""
        return self.stands and self.event in ("gate", "question")

    @property
    def key(self) -> str:
        """What is the same thing has the same key."""
        return self.event if self.event == "limit" else f"{self.event} {self.story} {self.text}"

    def to_json(self) -> dict[str, Any]:
        fields = {name: value for name, value in asdict(self).items() if name != "stands"}
        return {"schema": SCHEMA, **fields}


def notice_of(event: Event, folder: str) -> Notice | None:
    """The message that an event is worth, about a feature whose documents lie in `folder`; None for most events."""
    if isinstance(event, Decided):
        return _rest(event, folder)
    question = f"{folder}/QUESTIONS.md"
    if isinstance(event, StoryFailed):
        return _about(event, "question", f"{event.story} has failed: {event.reason}", f"{folder}/{event.asked_in}")
    if isinstance(event, RunEnded) and event.outcome == Outcome.NEEDS_INPUT.value and event.story:
        return _about(event, "question", f"{event.story} asks: {event.detail}", question)
    if isinstance(event, HeldUp):
        return _about(event, "question", f"{event.message}" + (f" ({event.hint})" if event.hint else ""), "")
    return None


def _rest(event: Decided, folder: str) -> Notice | None:
    """What a rest means for a person. A feature that was stopped by one is not news."""
    name = event.feature
    if event.decision == "Wait" and event.gate:
        return _about(event, "gate", event.reason, f"{folder}/{document_at(event.gate)}", f"ralphy approve {name}")
    if event.decision == "Wait" and event.until is None:
        return _about(event, "question", event.reason, "")
    if event.decision == "Wait" and event.exit_code == ExitCode.LIMITED:
        is_long = event.until is not None and event.until - event.at > _SHORT_S
        return _about(event, "limit", event.reason, "", f"ralphy status {name}") if is_long else None
    if event.decision == "Done":
        return _about(
            event, "ended", f"{_count(event)}; {event.reason}", f"{folder}/REPORT.md", f"ralphy report {name}"
        )
    if event.decision != "Halt" or event.exit_code == ExitCode.INTERRUPTED:
        return None
    kind = _ENDS.get(event.exit_code or 0, "ended")
    do = f"ralphy reset-circuit {name}" if kind == "breaker" else f"ralphy loop {name}"
    return _about(event, kind, f"{_count(event)}; {event.reason}", f"{folder}/REPORT.md", do)


def _count(event: Decided) -> str:
    cost = marked_words(f"${event.cost_usd:.2f}", event.rehearsed)
    return f"{event.completed} of {event.stories} stories completed, {cost}"


def _about(event: Event, kind: Kind, text: str, where: str, command: str = "") -> Notice:
    title = f"{event.feature}: {_TITLES[kind]}" if event.feature else _TITLES[kind]
    message = " ".join(text.split())[:_MOST_CHARS]
    command = command or f"ralphy loop {event.feature}"
    return Notice(kind, event.feature, message, command, title, event.story or "", where, event.at,
                  stands=isinstance(event, Decided))  # fmt: skip


def is_quiet(hours: str, minute: int) -> bool:
    """Does a minute of the day lie in the quiet hours, such as 22:00-07:00? "" is none."""
    if not hours:
        return False
    start, end = (int(at[:2]) * 60 + int(at[3:]) for at in hours.split("-"))
    return start <= minute < end if start <= end else minute >= start or minute < end
