"""A night as it stands now: the events of a run, folded one by one, for the live view."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import singledispatch

from ralphy.agents.usage_windows import Window
from ralphy.pipeline import events as e

_TOOLS = ("reading", "writing", "running", "tool")  # activities of an agent that are calls of tools
_SHOWN_TOKENS = ("input", "output", "cache_read", "cache_creation")


@dataclass(frozen=True, slots=True)
class Working:
    """A run of an agent: what it does now, how many tool calls it made, and the watchdog's last warning."""

    subject: str
    attempt: int
    model: str
    lane: str
    began: float
    doing: str = "begins"
    calls: int = 0
    warned: str = ""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the events do not say: the budget, the runs left in this hour, the least and the most seconds that a story
    usually takes, the provider's usage windows, and the state of the circuit breaker."""

    budget_usd: float | None = None
    calls_left: int | None = None
    story_s: tuple[float, float] | None = None
    jobs: int = 1
    windows: tuple[Window, ...] = ()
    breaker: str = "CLOSED"


@dataclass(frozen=True, slots=True)
class Night:
    """`feature` is the current one, and the fields below it are about it; `agents` are its runs by their ids.

    `until` is the end of a wait in epoch seconds. `waiting` maps a feature that waits to its gate.
    """

    began: float
    feature: str = ""
    reason: str = ""
    rests: bool = False
    completed: int = 0
    stories: int = 0
    failed: frozenset[str] = frozenset()
    cost_usd: float = 0.0
    is_rehearsed: bool = False
    until: float | None = None
    agents: Mapping[str, Working] = field(default_factory=dict)
    tokens: Mapping[str, int] = field(default_factory=dict)
    waiting: Mapping[str, str] = field(default_factory=dict)
    evidence: Evidence = field(default_factory=Evidence)

    @property
    def left(self) -> int:
        """Stories that are neither completed nor given up."""
        return max(0, self.stories - self.completed - len(self.failed))

    @property
    def left_for_s(self) -> tuple[float, float] | None:
        """The least and the most seconds that they will take; None if too little is known."""
        if not self.evidence.story_s or not self.left:
            return None
        rounds = -(-self.left // max(1, self.evidence.jobs))
        return self.evidence.story_s[0] * rounds, self.evidence.story_s[1] * rounds


@singledispatch
def after(event: e.Event, night: Night) -> Night:
    """The night after an event."""
    del event
    return night


@after.register
def _(event: e.Decided, night: Night) -> Night:
    waiting = {name: gate for name, gate in night.waiting.items() if name != event.feature}
    if event.rests and event.gate:
        waiting[event.feature] = event.gate
    failed = night.failed if event.feature == night.feature else frozenset()
    return replace(night, feature=event.feature, reason=event.reason, rests=event.rests, completed=event.completed,
                   stories=event.stories, failed=failed, cost_usd=event.cost_usd,
                   is_rehearsed=event.rehearsed, until=event.until, waiting=waiting)  # fmt: skip


@after.register
def _(event: e.Waiting, night: Night) -> Night:
    return replace(night, reason=event.reason, until=event.until)


@after.register
def _(event: e.RunBegan, night: Night) -> Night:
    begun = Working(event.story or event.step, event.attempt, event.model, event.lane or "", event.at)
    return replace(night, agents={**night.agents, event.run: begun}, failed=night.failed - {event.story or ""})


@after.register
def _(event: e.AgentActivity, night: Night) -> Night:
    agent = night.agents.get(event.run)
    if agent is None:
        return night
    if event.activity == "warning":
        agent = replace(agent, warned=event.text)
    elif event.activity == "result":
        agent = replace(agent, doing="has ended; Ralphy verifies its work")
    else:
        doing = f"{event.activity}: {event.text}"
        agent = replace(agent, doing=doing, calls=agent.calls + (event.activity in _TOOLS))
    return replace(night, agents={**night.agents, event.run: agent})


@after.register
def _(event: e.CheckRan, night: Night) -> Night:
    now = {run: replace(agent, doing=f"check {event.check} {event.said}") if agent.subject == event.story else agent
           for run, agent in night.agents.items()}  # fmt: skip
    return replace(night, agents=now)


@after.register
def _(event: e.RunEnded, night: Night) -> Night:
    agents = {run: agent for run, agent in night.agents.items() if run != event.run}
    tokens = {kind: night.tokens.get(kind, 0) + event.tokens.get(kind, 0) for kind in _SHOWN_TOKENS}
    return replace(night, agents=agents, tokens=tokens, cost_usd=night.cost_usd + event.cost_usd)


@after.register
def _(event: e.Landed, night: Night) -> Night:
    del event
    return replace(night, completed=min(night.stories, night.completed + 1))


@after.register
def _(event: e.StoryFailed, night: Night) -> Night:
    return replace(night, failed=night.failed | {event.story or ""})
