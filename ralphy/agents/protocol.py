"""What goes to an agent and what comes back, whatever program the agent is.

The protocol is small: a request goes out, events come in, a result ends it. The result says what
*happened* (structure only, never prose); what the agent *claims* is read by `ralphy.agents.status_report`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from ralphy.agents.usage_windows import Window


class Outcome(Enum):
    """How an agent run or an attempt ended; `costs_an_attempt` says which endings are the agent's to answer for.

    CONFLICTED is work that does not go with what another one landed meanwhile.
    DIED is the death of Ralphy or of the machine while the agent worked, CRASHED the agent's own.
    """

    SUCCEEDED = "succeeded"
    REJECTED = "rejected"
    NEEDS_INPUT = "needs_input"
    STALLED = "stalled"
    TIMED_OUT = "timed_out"
    CRASHED = "crashed"
    LIMITED = "limited"
    TRANSIENT = "transient"
    FATAL = "fatal"
    TOO_LARGE = "too_large"
    STOPPED = "stopped"
    DIED = "died"
    CONFLICTED = "conflicted"

    @property
    def costs_an_attempt(self) -> bool:
        return self not in _FREE


_FREE = {Outcome.LIMITED, Outcome.TRANSIENT, Outcome.FATAL, Outcome.STOPPED, Outcome.DIED,
         Outcome.CONFLICTED}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Tokens:
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_creation: int = 0


@dataclass(frozen=True, slots=True)
class RateLimit:
    """What the provider says of its limit. Only `status` decides (allowed, allowed_warning, rejected); `resets_at`
    is epoch seconds; `kind` five_hour, seven_day and the like; `utilization` 0 to 1.

    `is_paid_for` says that paid credits take over where the limit is reached, so that the run goes on. `windows` are
    all that the provider told of, where it told of several.
    """

    status: str
    resets_at: float | None
    kind: str
    utilization: float | None
    is_paid_for: bool = False
    windows: tuple[Window, ...] = ()


@dataclass(frozen=True, slots=True)
class AgentRequest:
    """One fresh invocation. Paths are absolute; `deadline_s` is monotonic seconds from the start.

    `run_dir` receives `prompt.md`, `stream.ndjson` and `stderr.log`. `env` is the whole environment.
    `settings` names a file of settings that the repository cannot switch off, `outbox` the folder to hand in to.
    With `keeps_no_session` nothing of the conversation stays in the agent's own files.
    """

    run: str
    cwd: str
    run_dir: str
    model: str
    deadline_s: float
    session: str
    env: Mapping[str, str]
    max_cost_usd: float | None = None
    system_prompt_file: str = ""
    settings: str = ""
    outbox: str = ""
    keeps_no_session: bool = False


@dataclass(frozen=True, slots=True)
class AgentResult:
    """`text` is the agent's last message; `retry_at` is epoch seconds, for LIMITED; `limit` is the provider's last
    word on it. `trigger` is what stopped a run that Ralphy stopped, `warnings` how many the watchdog gave, `denials`
    the tools of the calls that were refused, `over_budget` that the program ended it at the dollars that it was given.
    `background` names the work that was still open in the background when the run ended ("" if none was)."""

    outcome: Outcome
    text: str = ""
    detail: str = ""
    cost_usd: float = 0.0
    cost_known: bool = True
    tokens: Tokens = field(default_factory=Tokens)
    retry_at: float | None = None
    limit: RateLimit | None = None
    duration_s: float = 0.0
    trigger: str = ""
    warnings: int = 0
    denials: tuple[str, ...] = ()
    over_budget: bool = False
    background: str = ""


@dataclass(frozen=True, slots=True)
class Activity:
    """Something worth showing while an agent works: kind is reading, writing, running, thinking, text, …"""

    kind: str
    text: str
    raw: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What a run may do before a watchdog warns (`circuit_breaker` of the settings); warning number `warnings` ends it.

    `silence_s` is without any output, `tool_silence_s` the same while a tool works, or `tool_timeout_s` if that is
    known and longer; `stagnation_s` is without progress.
    """

    silence_s: float
    tool_silence_s: float
    repeated_errors: int
    stagnation_s: float
    output_bytes: int
    warnings: int
    tool_timeout_s: float = 0.0


class Log(Protocol):
    """Reads what a run printed (`stream.ndjson`), while it works or long after: for `ralphy logs`, and for the cost of
    a run whose end nobody saw. No input of any kind raises."""

    @property
    def cost_usd(self) -> float: ...

    @property
    def knows_its_cost(self) -> bool: ...

    @property
    def tokens(self) -> Tokens: ...

    def read(self, line: bytes) -> Activity | None:
        """Add a line; what to show of it."""
        ...


class Agent(Protocol):
    """A program that does one piece of work in a folder; `ralphy.agents.presets` makes the one of a preset."""

    def prepared(
        self, request: AgentRequest, on_activity: Callable[[Activity], None]
    ) -> Callable[[str], AgentResult]:  # fmt: skip
        """Get everything ready; gives what runs the agent, once, with a prompt, to its end, its deadline or a stop.

        Until that is called nothing of the agent runs: the run is noted in between. Trouble with the work is an
        outcome; EnvironmentProblem is raised for trouble with the machine.
        """
        ...
