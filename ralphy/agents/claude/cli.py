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
from ralphy.processes.supervision import run_supervised
from ralphy.sandbox.bubblewrap import command_inside
from ralphy.text.line_splitter import LineSplitter
from ralphy.text.rehearsed import FREE_TRY

TOOLS = ("Bash", "Read", "Edit", "Write", "Glob", "Grep")  # all tools would take five times as much of the prompt
SETTINGS = json.dumps(ALONE, separators=(",", ":"))
MAX_PROMPT = 10_000_000  # what Claude Code takes from stdin
REFUSALS = 2  # Claude Code would repeat a refused request for three minutes
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
        conversation = _Conversation(request, on_activity, self.at)
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
        try:
            ended = run_supervised(
                replace(command, stdin=data),
                conversation.hear,
                conversation.files.errors.add,
                should_stop=conversation.why_stop,
                on_stop=lambda _: conversation.transcript.close(),
            )
            conversation.finish()
        except NotStarted as error:
            detail = f"{error}: {error.hint} Or try it free: {FREE_TRY}" if error.hint else str(error)
            return AgentResult(Outcome.FATAL, detail=detail)
        finally:
            conversation.close()
        return conversation.judge(ended)


class _Conversation:
    """One run: its files, its transcript, and why it must be stopped."""

    def __init__(self, request: AgentRequest, on_activity: Listener, at: Conditions) -> None:
        self.on_activity = on_activity
        self.at = at
        self.files = RunFiles(request)
        self.lines = LineSplitter()
        self.transcript = Transcript()
        self.watchdog = _watchdog(at.thresholds, request.env) if at.thresholds else None
        self.printed = 0
        self.began_at = 0.0
        self.why = ""
        self.last_result = b""

    def why_stop(self, root: int) -> str | None:
        """Why the run below the process `root` must be stopped, mostly a word of STOPS; `why` may have a sentence."""
        transcript, now = self.transcript, time.monotonic()
        self.began_at = self.began_at or now
        if transcript.unauthorized >= REFUSALS:
            return REFUSED_KEY
        if not transcript.started and now - self.began_at >= self.at.startup_s:
            self.why = f"the agent did not start within {self.at.startup_s:g} s (timeouts.startup)"
            return "startup"
        # Counted from the last event: another result follows when background work ends.
        if transcript.is_finished and now - (transcript.last_event_at or now) >= self.at.exit_grace_s:
            return AFTER_RESULT
        limits = self.at.limits
        if limits and (reason := limits.why_over(root, now)):
            self.why = limits.why
            return reason
        return self._warn(now) or (self.at.should_stop() if self.at.should_stop else None)

    def _warn(self, now: float) -> str | None:
        """Pass on a warning of the watchdog; its trigger if it stops the run."""
        printed = self.printed + self.lines.lost
        warned = self.watchdog.look(now, steady(), printed, self.transcript) if self.watchdog else None
        if warned is None:
            return None
        self.on_activity(Activity("warning", warned.text, {"watchdog": warned.facts}))
        if not warned.stops:
            return None
        self.why = warned.seen
        return warned.trigger.value

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
            self.watchdog.feed(event, self.transcript.answers, now)
        if activity:
            self.on_activity(activity)


def _watchdog(thresholds: Thresholds, env: Mapping[str, str]) -> Watchdog:
    """A watchdog that begins now; it knows the timeout of commands that are called without one, if a person set it."""
    asked_ms = env.get("BASH_DEFAULT_TIMEOUT_MS", "")
    timeout_s = int(asked_ms) / 1000 if asked_ms.isdecimal() else 0.0
    return Watchdog(replace(thresholds, tool_timeout_s=timeout_s), time.monotonic(), steady())
