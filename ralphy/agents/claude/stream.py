"""Reads stream-json: lines to events, events to a transcript.

Only structure is read, never prose: a file that mentions usage limits must not end the night. Unknown events
are ignored, and no input of any kind raises.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from ralphy.agents.claude.activity import activity_of, shorten
from ralphy.agents.claude.open_work import BackgroundTasks, ToolCall
from ralphy.agents.protocol import Activity, RateLimit, Tokens
from ralphy.agents.status_report import without_report
from ralphy.agents.usage_windows import read_windows
from ralphy.text.json_coerce import blocks_of, count_of, mapping_of, moment_of, number_of, text_of

UNAUTHORIZED = (401, 403)
MOST_USD = 1e6  # a higher cost is an error of the stream
MODEL_USAGE = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
USAGE = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_OPENINGS = (b"{", b" ", b"\t")
_ESCAPE = re.compile(rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]|(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.S)
SYNTHETIC = "<synthetic>"  # the model's name in lines that the CLI wrote itself


def parse(line: bytes) -> Mapping[str, Any] | None:
    """The object on this line; None for anything else (blank, garbage, invalid UTF-8, no object).

    A program that cuts a text in the middle of an emoji writes half of it, which is invalid JSON: read as U+FFFD.
    """
    if line[:1] not in _OPENINGS:  # millions of lines of anything cost a look each, not an exception
        return None
    value = _loaded(line) or _loaded(_ESCAPE.sub(_without_half, line))
    return value if isinstance(value, dict) else None


def _loaded(line: bytes) -> Any:
    try:
        return orjson.loads(line)
    except ValueError:
        return None


def _without_half(escape: re.Match[bytes]) -> bytes:
    return rb"\ufffd" if escape["half"] else escape[0]


class Transcript:
    """Everything that one agent run has printed so far, added up event by event.

    After `close` (the decision to stop the run), events only count for the cost: a model that is stopped reports
    success as well. `spoke_last` means that nothing followed `last_text`, the main agent's last message. `started`
    means that the program has begun its work, whatever it printed before; `retry_s` is the announced wait before the
    next request. `answers` are the results of tools in the last event: the call, and its `tool_result`.
    """

    def __init__(self) -> None:
        self.came = False
        self.started = False
        self.closed = False
        self.working = True
        self.key_source = ""
        self.last_event_at: float | None = None
        self.result: Mapping[str, Any] | None = None
        self.cost_usd = 0.0
        self.answered = False
        self.has_cost = False
        self.tokens = Tokens()
        self.turns = 0
        self.last_text = ""
        self.spoke_last = False
        self.has_acted = False
        self.open_tools: dict[str, ToolCall] = {}
        self.answers: list[tuple[ToolCall, Mapping[str, Any]]] = []
        self.background = BackgroundTasks()
        self.limit: RateLimit | None = None
        self.retry_s: float | None = None
        self.unauthorized = 0
        self.error = ""
        self._denied: dict[str, str] = {}

    @property
    def is_finished(self) -> bool:
        """A result came, and no background task is open whose end would call the model again."""
        return not self.working and not self.background.open

    @property
    def denials(self) -> tuple[str, ...]:
        """The tools of the calls that were refused."""
        return tuple(self._denied.values())

    @property
    def text(self) -> str:
        """The agent's last message."""
        result = self.result or {}
        text = "" if result.get("is_error") else text_of(result.get("result"))
        return text if text.strip() else self.last_text

    @property
    def knows_its_cost(self) -> bool:
        """The last result line has it, or no model has answered yet."""
        return self.has_cost or not self.answered

    def close(self) -> None:
        self.closed = True

    def read(self, line: bytes) -> Activity | None:
        """Add a line of a saved stream; returns what to show of it."""
        event = parse(line)
        return self.feed(event, 0.0) if event else None

    def feed(self, event: Mapping[str, Any], now: float) -> Activity | None:
        """Add an event that came at `now` (seconds on any steady clock); returns what to show of it."""
        self.came = True
        self.last_event_at = now
        self.answers = []
        kind = text_of(event.get("type"))
        if kind == "result":
            self._count(event)
        if self.closed:
            return None
        match kind:
            case "assistant":
                return self._assistant(event)
            case "user":
                self._close_tools(event)
            case "result":
                return self._end(event)
            case "rate_limit_event":
                return self._rate_limit(event)
            case "system":
                return self._system(event)
        return None

    def _assistant(self, event: Mapping[str, Any]) -> Activity | None:
        self.error = text_of(event.get("error"))
        self.started = True
        message = mapping_of(event.get("message"))
        genuine = not self.error and message.get("model") != SYNTHETIC
        is_main = not event.get("parent_tool_use_id")
        if genuine:
            self.retry_s, self.unauthorized, self.answered = None, 0, True
            self.working = self.working or is_main
        activity = None
        for block in blocks_of(message):
            if block.get("type") == "tool_use":
                self.open_tools[text_of(block.get("id"))] = ToolCall.of(block)
                self.has_acted = True
            elif genuine and is_main and block.get("type") == "text" and text_of(block.get("text")).strip():
                self.last_text, self.spoke_last = text_of(block.get("text")), True
            activity = activity_of(block, event) or activity
        return activity

    def _close_tools(self, event: Mapping[str, Any]) -> None:
        self.spoke_last = self.spoke_last and bool(event.get("parent_tool_use_id"))
        for block in blocks_of(mapping_of(event.get("message"))):
            if block.get("type") == "tool_result":
                call = self.open_tools.pop(text_of(block.get("tool_use_id")), ToolCall())
                self.answers.append((call, block))

    def _count(self, event: Mapping[str, Any]) -> None:
        """Take cost and tokens: each result has the totals of the run; only `usage` is of its segment."""
        cost_usd = number_of(event.get("total_cost_usd"))
        self.has_cost = cost_usd is not None and cost_usd < MOST_USD
        self.cost_usd = (self.has_cost and cost_usd) or self.cost_usd
        per_model = [mapping_of(used) for used in mapping_of(event.get("modelUsage")).values()]
        if per_model:
            self.tokens = Tokens(*(sum(count_of(used.get(name)) for used in per_model) for name in MODEL_USAGE))
        elif segment := mapping_of(event.get("usage")):
            self.tokens = add(self.tokens, Tokens(*(count_of(segment.get(name)) for name in USAGE)))

    def _end(self, event: Mapping[str, Any]) -> Activity:
        """The end of a segment; a background task that finishes later begins another one."""
        self.working, self.started = False, True
        self.result = event
        self.turns += count_of(event.get("num_turns"))
        self.open_tools.clear()
        denials = event.get("permission_denials")
        if isinstance(denials, list):
            for denial in denials:
                self._deny(mapping_of(denial))
        return Activity("result", shorten(without_report(text_of(event.get("result")))), event)

    def _deny(self, denial: Mapping[str, Any]) -> None:
        """Note a refused call; newer versions report it when it happens and again in the result."""
        call = text_of(denial.get("tool_use_id")) or f"unnamed {len(self._denied)}"
        self._denied[call] = text_of(denial.get("tool_name"))

    def _rate_limit(self, event: Mapping[str, Any]) -> Activity | None:
        info = mapping_of(event.get("rate_limit_info"))
        kind, before = shorten(text_of(info.get("rateLimitType"))), self.limit.windows if self.limit else ()
        self.limit = RateLimit(
            status=shorten(text_of(info.get("status"))),
            resets_at=moment_of(info.get("resetsAt")),
            kind=kind,
            utilization=number_of(info.get("utilization")),
            is_paid_for=info.get("isUsingOverage") is True,
            # An event that lists none has news of its own window alone.
            windows=read_windows(info) or tuple(window for window in before if window.kind != kind),
        )
        if self.limit.status == "allowed":
            return None
        status = "reached" if self.limit.status == "rejected" else self.limit.status.replace("_", " ")
        return Activity("limit", f"usage limit ({self.limit.kind}): {status}", event)

    def _system(self, event: Mapping[str, Any]) -> Activity | None:
        match event.get("subtype"):
            case "init":
                self.working = self.started = True
                self.key_source = text_of(event.get("apiKeySource"))
                return Activity("start", shorten(text_of(event.get("model"))), event)
            case "api_retry":
                return self._api_retry(event)
            case "task_started":
                self.background.started(event, self.open_tools)
                return Activity("task", shorten(text_of(event.get("description"))), event)
            case "background_tasks_changed":
                self.background.changed(event)
            case "permission_denied":
                self._deny(event)
        return None

    def _api_retry(self, event: Mapping[str, Any]) -> Activity:
        status = count_of(event.get("error_status")) or None
        self.retry_s = (number_of(event.get("retry_delay_ms")) or 0.0) / 1000
        self.unauthorized = self.unauthorized + 1 if status in UNAUTHORIZED else 0
        error = shorten(text_of(event.get("error")))
        return Activity("retry", shorten(f"{error} ({status or 'no answer'}), {self.retry_s:.0f} s"), event)


def add(one: Tokens, other: Tokens) -> Tokens:
    return Tokens(
        one.input + other.input,
        one.output + other.output,
        one.cache_read + other.cache_read,
        one.cache_creation + other.cache_creation,
    )
