"""How a request fails for good: the lines of each API error, and of a usage limit."""

from __future__ import annotations

import os
import time
from typing import Any, NamedTuple

from ralphy.rehearsal.stage import Stage
from ralphy.rehearsal.stream import new_id

TEMPORARY = "This is a server-side issue, usually temporary — try again in a moment."
NO_CONNECTION = "API Error: Unable to connect to API (ConnectionRefused)"
NO_ENTRY = "authentication_failed"
SERVER = "server_error"
TOO_LONG = (
    "Prompt is too long · the request is ~210000 tokens (limit 200000) but this conversation is only ~1537 "
    "tokens — the rest is system prompt, tool definitions, and attachment content. A single-exchange "
    "conversation cannot be compacted; reduce attached files/tools or start with less context."
)
TOO_MANY = "API Error: Request rejected (429) · This request would exceed your organization's rate limit."
NO_MODEL = (
    "There's an issue with the selected model ({model}). It may not exist or you may not have access to it. "
    "Run --model to pick a different model."
)
RETRIES = 10
RETRIES_MOST = 15
FIVE_HOURS_S = 18_000
LIMIT_NAMES = {
    "five_hour": "session limit",
    "seven_day": "weekly limit",
    "seven_day_opus": "Opus limit",
    "seven_day_sonnet": "Sonnet limit",
}


class Failure(NamedTuple):
    """One row of the table: `status` None is no HTTP answer; `retried` names the error in api_retry lines."""

    status: int | None
    error: str
    text: str
    retried: str = ""
    reason: str = "completed"
    has_request: bool = True


FAILURES = {
    "overloaded": Failure(529, SERVER, f"API Error: 529 Overloaded. {TEMPORARY}", "overloaded"),
    "server": Failure(500, SERVER, f"API Error: 500 Internal server error. {TEMPORARY}", SERVER),
    "rate_limit": Failure(429, "rate_limit", TOO_MANY, "rate_limit"),
    "auth": Failure(401, NO_ENTRY, "Invalid API key · Fix external API key", NO_ENTRY),
    "not_logged_in": Failure(None, NO_ENTRY, "Not logged in · Please run /login", has_request=False),
    "billing": Failure(400, "billing_error", "Credit balance is too low"),
    "prompt_too_long": Failure(400, "invalid_request", TOO_LONG, reason="prompt_too_long"),
    "model": Failure(404, "model_not_found", NO_MODEL),
    "connection": Failure(None, SERVER, NO_CONNECTION, "unknown", has_request=False),
}


def fail(stage: Stage, name: str) -> None:
    """Print the end of a run that this error ended, its retries included (announced, not waited out)."""
    failure, stream = FAILURES[name], stage.stream
    text = failure.text.replace("{model}", stream.model)
    if failure.retried:
        _retry(stage, failure)
    if name == "prompt_too_long" and stream.calls:
        # In the middle of a run the CLI first tries to shrink the conversation, in vain.
        text = "Prompt is too long"
        stream.event("system/status", status="compacting")
        stream.event("system/status", status=None, compact_result="failed", compact_error="too_few_groups")
    stream.fail(text, failure.error, new_id("req_") if failure.has_request else "")
    stream.give_up(text, failure.status, failure.reason)


def hit_limit(stage: Stage, limit: dict[str, Any]) -> None:
    """Print the end of a run that a usage limit ended: the event with the reset time, and the error."""
    kind, resets_at = limit.get("kind", "five_hour"), _resets_at(limit)
    overage = {"overageStatus": "rejected", "overageDisabledReason": "org_level_disabled"}
    _tell_limit(stage, "rejected", resets_at, kind, {**overage, "isUsingOverage": False})
    text = f"You've hit your {LIMIT_NAMES.get(kind, 'usage limit')} · resets {_clock(resets_at, kind)} (UTC)"
    stage.stream.fail(text, "rate_limit", new_id("req_"))
    stage.stream.give_up(text, 429, "completed")


def warn(stage: Stage, warning: dict[str, Any]) -> None:
    """Print the early warning of a usage limit."""
    used = float(warning.get("utilization", 0.92))
    facts: dict[str, Any] = {"utilization": used, "isUsingOverage": False, "surpassedThreshold": int(used * 10) / 10}
    resets_at = _resets_at(warning)
    if windows := warning.get("windows"):  # as newer versions do: all windows at once
        facts["unifiedWindows"] = {kind: {"utilization": share, "resetsAt": resets_at}
                                   for kind, share in windows.items()}  # fmt: skip
    _tell_limit(stage, "allowed_warning", resets_at, warning.get("kind", "five_hour"), facts)


def _tell_limit(stage: Stage, status: str, resets_at: int, kind: str, facts: dict[str, Any]) -> None:
    info = {"status": status, "resetsAt": resets_at, "rateLimitType": kind, **facts}
    stage.stream.event("rate_limit_event", rate_limit_info=info)


def _resets_at(limit: dict[str, Any]) -> int:
    return int(limit.get("resets_at", time.time() + limit.get("resets_in_s", FIVE_HOURS_S)))


def _clock(epoch: int, kind: str) -> str:
    """The time as the CLI says it: `10:07pm`, for the weekly limits with the day before it."""
    when = time.gmtime(epoch)
    hour = f"{when.tm_hour % 12 or 12}:{when.tm_min:02d}{'am' if when.tm_hour < 12 else 'pm'}"
    return f"{time.strftime('%b', when)} {when.tm_mday}, {hour}" if kind.startswith("seven_day") else hour


def _retry(stage: Stage, failure: Failure) -> None:
    wanted = os.environ.get("CLAUDE_CODE_MAX_RETRIES", "")
    retries = min(int(wanted), RETRIES_MOST) if wanted.isdecimal() else RETRIES
    for attempt in range(1, retries + 1):
        delay = min(500.0 * 2 ** (attempt - 1), 36_000.0) * 1.0625
        counts = {"attempt": attempt, "max_retries": retries, "retry_delay_ms": delay}
        stage.stream.event("system/api_retry", **counts, error_status=failure.status, error=failure.retried)
