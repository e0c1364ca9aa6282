"""The Claude Code CLI as an agent: its command line, its stream, its files, its end."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ralphy.agents.claude.outcome import (
    AFTER_RESULT,
    REFUSED_KEY,
    ExitFacts,
    classify,
    ran_out_of_budget,
)
from ralphy.agents.claude.run_settings import ALONE
from ralphy.agents.claude.stream import Transcript, parse
from ralphy.agents.claude.watchdog import Watchdog
from ralphy.agents.program import Conditions, RunFiles
from ralphy.agents.protocol import Activity, AgentRequest, AgentResult, Outcome, Thresholds
from ralphy.clock import steady
from ralphy.processes.command import Command, Exit, NotStarted
from ralphy.processes.resource_limits import RunLimits
from ralphy.processes.supervision import run_supervised
from ralphy.sandbox.bubblewrap import command_inside
from ralphy.text.line_splitter import LineSplitter
from ralphy.text.rehearsed import FREE_TRY

TOOLS = ("Bash", "Read", "Edit", "Write", "Glob", "Grep")  # all tools would take five times as much of the prompt
SETTINGS = json.dumps(ALONE, separators=(",", ":"))
MAX_PROMPT = 10_000_000  # what Claude Code takes from stdin
REFUSALS = 2  # Claude Code would repeat a refused request for three minutes
ASLEEP_S = 30.0  # a longer time between two looks: Ralphy was stopped, and it does not count
# Words of the model as they come: a sign of life. Whole messages follow, so these lines are not saved.
PARTIAL = b'{"type":"stream_event"'

Listener = Callable[[Activity], None]


@dataclass
class Claude:
    """Runs the `claude` command in print mode, prompt by stdin, one fresh session per request.

    A reason to stop that is not in `ralphy.agents.claude.outcome.STOPS` makes the outcome STOPPED.
    """

    command: tuple[str, ...]
    at: Conditions

    def prepared(self, request: AgentRequest, on_activity: Listener) -> Callable[[str], AgentResult]:
        """Make the folder of the run; returns a function that does the run, once, with a prompt.

        It runs to the end, the deadline or a stop; trouble with the work is an outcome. Raises EnvironmentProblem if
        the folder of the run cannot be written or the supervisor is lost.
        """
        conversation = _Conversation(request, on_activity)
        at = Path(request.cwd)
        command = command_inside(self.at.sandbox, self.frame(request), at, request.env, request.deadline_s)
        return lambda prompt: self._converse(conversation, command, prompt)

    def frame(self, request: AgentRequest) -> tuple[str, ...]:
        """The command line, which starts none of the repository's own settings, hooks and servers."""
        argv = [*self.command, "-p", "--output-format", "stream-json", "--verbose"]
        argv += ["--include-partial-messages", "--dangerously-skip-permissions", "--model", request.model]
        argv += ["--tools", ",".join(TOOLS)]
        argv += ["--setting-sources", "user", "--strict-mcp-config", "--session-id", request.session]
        if request.keeps_no_session:
            argv.append("--no-session-persistence")
        if request.max_cost_usd is not None:
            argv += ["--max-budget-usd", f"{max(request.max_cost_usd, 0.0001):.4f}"]
        if request.system_prompt_file:
            argv += ["--append-system-prompt-file", request.system_prompt_file]
        return (*argv, "--settings", request.settings or SETTINGS)

    def _converse(self, conversation: _Conversation, command: Command, prompt: str) -> AgentResult:
        data = prompt.encode(errors="replace")
        if len(data) > MAX_PROMPT:
            detail = f"the prompt has {len(data)} bytes, Claude Code takes {MAX_PROMPT}: split the story"
            return AgentResult(Outcome.TOO_LARGE, detail=detail)
        conversation.files.save_prompt(data)
        conversation.watch(self.at.thresholds, self.at.limits)
        try:
            ended = run_supervised(
                replace(command, stdin=data),
                conversation.hear,
                conversation.files.errors.add,
                should_stop=lambda root: self._why_stop(conversation, root),
                on_stop=lambda _: conversation.transcript.close(),
            )
            conversation.finish()
        except NotStarted as error:
            detail = f"{error}: {error.hint} Or try it free: {FREE_TRY}" if error.hint else str(error)
            return AgentResult(Outcome.FATAL, detail=detail)
        finally:
            conversation.close()
        return conversation.judge(ended)

    def _why_stop(self, conversation: _Conversation, root: int) -> str | None:
        transcript, now = conversation.transcript, time.monotonic()
        if transcript.unauthorized >= REFUSALS:
            return REFUSED_KEY
        if conversation.starts_late(now, self.at.startup_s):
            return "startup"
        # Counted from the last event: another result follows when background work ends.
        silent_since = transcript.last_event_at if transcript.is_finished else now
        if now - (silent_since or 0.0) >= self.at.exit_grace_s:
            return AFTER_RESULT
        why = conversation.why_stop(root, now)
        return why or (self.at.should_stop() if self.at.should_stop else None)


class _Conversation:
    """One run: its files, its transcript, its watchdog and its limits."""

    def __init__(self, request: AgentRequest, on_activity: Listener) -> None:
        self.request = request
        self.on_activity = on_activity
        self.files = RunFiles(request)
        self.lines = LineSplitter()
        self.transcript = Transcript()
        self.watchdog: Watchdog | None = None
        self.limits: RunLimits | None = None
        self.printed = 0
        self.awaited_s = 0.0
        self.looked_at = 0.0
        self.why = ""
        self.last_result = b""

    def watch(self, thresholds: Thresholds | None, limits: RunLimits | None) -> None:
        """Start the watchdog and the limits."""
        self.limits = limits
        if thresholds:
            thresholds = replace(thresholds, tool_timeout_s=_tool_timeout_s(self.request.env))
            self.watchdog = Watchdog(thresholds, time.monotonic(), steady())

    def starts_late(self, now: float, most_s: float) -> bool:
        """Whether the program has not begun its work within that time; `why` then has the sentence."""
        passed_s, self.looked_at = now - (self.looked_at or now), now
        if self.transcript.started:
            return False
        self.awaited_s += passed_s if passed_s < ASLEEP_S else 0.0
        if self.awaited_s < most_s:
            return False
        self.why = f"the agent did not start within {most_s:g} s (timeouts.startup)"
        return True

    def why_stop(self, root: int, now: float) -> str | None:
        """A word of STOPS if the run below the process `root` must be stopped; `why` then has the sentence."""
        over = self.limits.why_over(root, now) if self.limits else None
        if over:
            reason, self.why = over
            return reason
        boottime, printed = steady(), self.printed + self.lines.lost
        warned = self.watchdog.look(now, boottime, printed, self.transcript) if self.watchdog else None
        if warned is None:
            return None
        self.on_activity(Activity("warning", warned.text, {"watchdog": warned.facts}))
        self.why = warned.seen
        return warned.trigger.value if warned.stops else None

    def hear(self, data: bytes) -> None:
        self._feed(self.lines.feed(data))

    def finish(self) -> None:
        """Take the last line, which may lack its end."""
        self._feed(self.lines.close())

    def close(self) -> None:
        self.files.close(self.last_result, self.lines.lost)

    def judge(self, ended: Exit) -> AgentResult:
        transcript = self.transcript
        stderr = self.files.errors.tail.decode(errors="replace")
        why = self.why if ended.stopped != "deadline" else ""
        outcome, detail, retry_at = classify(transcript, ExitFacts(ended.returncode, ended.stopped, stderr, why))
        if self.files.stream.trouble:
            detail = f"{detail}; its stream could not be kept: {self.files.stream.trouble}".removeprefix("; ")
        return AgentResult(
            outcome=outcome,
            text=transcript.text,
            detail=detail,
            cost_usd=transcript.cost_usd,
            cost_known=transcript.knows_its_cost,
            tokens=transcript.tokens,
            retry_at=retry_at,
            limit=transcript.limit,
            duration_s=ended.duration_s,
            trigger=ended.stopped or "",
            over_budget=ran_out_of_budget(transcript.result),
            warnings=self.watchdog.warnings if self.watchdog else 0,
            denials=transcript.denials,
            background=transcript.background.summary,
        )

    def _feed(self, lines: list[bytes]) -> None:
        messages = [line for line in lines if not line.startswith(PARTIAL)]
        if messages:
            data = b"\n".join((*messages, b""))
            self.printed += len(data)
            self.files.stream.add(data)
        for line in lines:
            event = parse(line)
            if event is not None:
                self._take(event, line)

    def _take(self, event: Mapping[str, Any], line: bytes) -> None:
        if event.get("type") == "result":
            self.last_result = line + b"\n"
        now = time.monotonic()
        activity = self.transcript.feed(event, now)
        if self.watchdog:
            self.watchdog.saw(event, self.transcript.answers, now)
        if activity:
            self.on_activity(activity)


def _tool_timeout_s(env: Mapping[str, str]) -> float:
    """The timeout of commands that are called without one, if a person has set it; else 0."""
    asked_ms = env.get("BASH_DEFAULT_TIMEOUT_MS", "")
    return int(asked_ms) / 1000 if asked_ms.isdecimal() else 0.0
