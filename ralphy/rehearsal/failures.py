"""The lines that end a failed request: of each API error, and of a usage limit."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from ralphy.rehearsal.tools import Tools

FIVE_HOURS_S = 18_000


class Failure(NamedTuple):
    """One row of the table; `status` is None without an HTTP answer."""

    status: int | None
    error: str
    text: str
    reason: str = "completed"


FAILURES = {
    "overloaded": Failure(529, "server_error", "API Error: 529 Overloaded."),
    "server": Failure(500, "server_error", "API Error: 500 Internal server error."),
    "rate_limit": Failure(429, "rate_limit", "API Error: Request rejected (429)"),
    "auth": Failure(401, "authentication_failed", "Invalid API key · Fix external API key"),
    "not_logged_in": Failure(None, "authentication_failed", "Not logged in · Please run /login"),
    "billing": Failure(400, "billing_error", "Credit balance is too low"),
    "prompt_too_long": Failure(400, "invalid_request", "Prompt is too long", reason="prompt_too_long"),
    "model": Failure(404, "model_not_found", "There's an issue with the selected model."),
    "connection": Failure(None, "server_error", "API Error: Unable to connect to API"),
}


def fail(tools: Tools, name: str) -> None:
    """Print the end of a run with this error."""
    failure = FAILURES[name]
    tools.stream.fail(failure.text, failure.error, failure.status, failure.reason)


def hit_limit(tools: Tools, limit: dict[str, Any]) -> None:
    """Print the end of a run at a usage limit: the event with the reset time, and the error."""
    _print_limit(tools, "rejected", limit)
    tools.stream.fail("You've hit your usage limit", "rate_limit", 429)


def warn(tools: Tools, warning: dict[str, Any]) -> None:
    """Print the early warning of a usage limit."""
    used = float(warning.get("utilization", 0.92))
    facts: dict[str, Any] = {"utilization": used, "surpassedThreshold": int(used * 10) / 10}
    if windows := warning.get("windows"):  # as newer versions do: all windows at once
        resets_at = _resets_at(warning)
        facts["unifiedWindows"] = {kind: {"utilization": share, "resetsAt": resets_at}
                                   for kind, share in windows.items()}  # fmt: skip
    _print_limit(tools, "allowed_warning", warning, **facts)


def _print_limit(tools: Tools, status: str, limit: dict[str, Any], **facts: Any) -> None:
    kind = limit.get("kind", "five_hour")
    info = {"status": status, "resetsAt": _resets_at(limit), "rateLimitType": kind, **facts}
    tools.stream.event("rate_limit_event", rate_limit_info=info)


def _resets_at(limit: dict[str, Any]) -> int:
    return int(limit.get("resets_at", time.time() + limit.get("resets_in_s", FIVE_HOURS_S)))
