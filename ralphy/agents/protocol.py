"""What goes to an agent and what comes back, whatever program the agent is.

A request goes out, activities come in, a result ends it. The result says what *happened* (from structure, never from
prose); `ralphy.agents.status_report` reads what the agent *claims*.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol

from ralphy.agents.usage_windows import Window


class Outcome(Enum):
    """How an agent run or an attempt ended; one `costs_an_attempt` if the agent is to blame.

    CONFLICTED is work that conflicts with a story that landed meanwhile. DIED means that Ralphy or the machine died
    while the agent worked, CRASHED that the agent did.
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
    """The provider's report on a usage limit. Only `status` decides (allowed, allowed_warning, rejected); `resets_at`
    is epoch seconds; `kind` five_hour, seven_day and the like; `utilization` 0 to 1.

    `is_paid_for` means that paid credits replace the limit, so that the run goes on. `windows` are all that the
    provider listed, if it did.
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

    `run_dir` receives `prompt.md`, `stream.ndjson` and `stderr.log`. `env` is the whole environment. `settings` is a
    file of settings that the repository cannot switch off, `outbox` the folder for the agent's documents. With
    `keeps_no_session` nothing of the conversation stays in the agent's own files.
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
    report. `trigger` is the reason if Ralphy stopped the run, `warnings` the number of the watchdog's, `denials` the
    tools of refused calls; `over_budget` means that the program ended the run at its limit in dollars. `background`
    names the background tasks that were open when the run ended ("" if none was)."""

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
    """A thing that an agent does, for display: `kind` is reading, writing, running, thinking, text, …"""

    kind: str
    text: str
    raw: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When a watchdog warns (`circuit_breaker` of the settings); warning number `warnings` ends the run.

    `silence_s` is the time without output, `tool_silence_s` the same while a tool works, unless `tool_timeout_s` is
    known and longer; `stagnation_s` is the time without progress.
    """

    silence_s: float
    tool_silence_s: float
    repeated_errors: int
    stagnation_s: float
    output_bytes: int
    warnings: int
    tool_timeout_s: float = 0.0


class Log(Protocol):
    """Reads the output of a run (`stream.ndjson`), during the run or later: for `ralphy logs`, and for the cost of a
    run that died with Ralphy. No input of any kind raises."""

    @property
    def cost_usd(self) -> float: ...

    @property
    def knows_its_cost(self) -> bool: ...

    @property
    def tokens(self) -> Tokens: ...

    def read(self, line: bytes) -> Activity | None:
        """Add a line; returns what to show of it."""
        ...


class Agent(Protocol):
    """A program that does one piece of work in a folder; a `Preset` makes it."""

    def prepared(
        self, request: AgentRequest, on_activity: Callable[[Activity], None]
    ) -> Callable[[str], AgentResult]:  # fmt: skip
        """Prepare a run; returns a function that runs the agent once, with a prompt, to its end, deadline or a stop.

        Nothing of the agent runs before that is called, so that the run can be noted in between. Trouble with the work
        is an outcome; EnvironmentProblem is raised for trouble with the machine.
        """
        ...
