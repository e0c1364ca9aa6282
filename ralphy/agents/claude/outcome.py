"""How an agent run ended, decided from the structure of its stream and its exit, never from prose.

Neither the exit code nor `subtype` alone decides: API failures call themselves "success" with `is_error`, an
interrupted run can exit with 0 and no result, and a run that is told to end reports success.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ralphy.agents.claude.activity import shorten
from ralphy.agents.claude.stream import Transcript
from ralphy.agents.protocol import Outcome
from ralphy.text.json_coerce import mapping_of, number_of, text_of

Verdict = tuple[Outcome, str, float | None]

AFTER_RESULT = "result"  # why a run is stopped that printed its result and did not exit
REFUSED_KEY = "unauthorized"  # why a run is stopped that only repeats refused requests
NO_KEY = "Claude Code is not logged in, or its key is refused: run `claude` once and log in, or set a valid key"
# Why we stopped a run -> its outcome, and the detail when nothing more is known.
STOPS = {
    REFUSED_KEY: (Outcome.FATAL, NO_KEY),
    "startup": (Outcome.TRANSIENT, "the agent did not start"),
    "deadline": (Outcome.TIMED_OUT, "the deadline passed"),
    "silence": (Outcome.TRANSIENT, "the provider hangs"),
    "tool_silence": (Outcome.STALLED, "a tool hung"),
    "repeated_error": (Outcome.STALLED, "the same error repeated"),
    "no_progress": (Outcome.STALLED, "it made no progress"),
    "output": (Outcome.STALLED, "it printed output without progress"),
    "memory": (Outcome.CRASHED, "it used too much memory"),
    "processes": (Outcome.CRASHED, "it started too many processes"),
    "disk": (Outcome.TRANSIENT, "the disk is nearly full"),
}
FATAL_ERRORS = {
    "authentication_failed": NO_KEY,
    "oauth_org_not_allowed": "this organisation does not allow Claude Code",
    "billing_error": "there is a problem with billing or credit",
    "model_not_found": "the model does not exist, or is not available to you",
    "account_on_hold": "the account is on hold",
    "verification_required": "the account must be verified first",
    "cloud_credential_error": "the credentials of the cloud provider are missing or refused",
}
FATAL_STATUSES = {
    401: NO_KEY,
    402: FATAL_ERRORS["billing_error"],
    403: NO_KEY,
    404: FATAL_ERRORS["model_not_found"],
}
TRANSIENT_ERRORS = ("server_error", "overloaded")
# The last two: its own count of the context is over the limit; compacted again and again, the context stays too full.
TOO_LARGE_REASONS = ("prompt_too_long", "image_error", "blocking_limit", "rapid_refill_breaker")
THRASHING = "autocompact_thrashing"
USAGE_LIMIT = "usage_limit_reached"
USAGE_EXITS = range(1, 128)


@dataclass(frozen=True, slots=True)
class ExitFacts:
    """How the process ended: `returncode` is negative for a signal; `stopped` is why we stopped it, if we did, in a
    word of STOPS, and `why` in a sentence; `stderr` is the end of its stderr, for the detail only."""

    returncode: int | None
    stopped: str | None = None
    stderr: str = ""
    why: str = ""


def classify(transcript: Transcript, exit_: ExitFacts) -> Verdict:
    """The outcome, a sentence for people, and for LIMITED the epoch seconds of the reset if known."""
    ending = _Ending(transcript, exit_)
    for rule in RULES:
        verdict = rule(ending)
        if verdict:
            return verdict
    return _crashed(ending)


def reports_success(result: Mapping[str, Any] | None) -> bool:
    """Whether a result line says that the work came to its normal end."""
    return (
        result is not None
        and result.get("subtype") == "success"
        and result.get("is_error") is False
        and result.get("terminal_reason") == "completed"
    )


def ran_out_of_budget(result: Mapping[str, Any] | None) -> bool:
    """Whether a result line says that the run was ended at the dollars that it was given."""
    return result is not None and result.get("subtype") == "error_max_budget_usd"


class _Ending:
    """The facts that the rules ask for, each read in one place."""

    def __init__(self, transcript: Transcript, exit_: ExitFacts) -> None:
        result = mapping_of(transcript.result)
        self.transcript = transcript
        self.exit = exit_
        self.result = result
        is_late = exit_.stopped == "deadline" and bool(result) and transcript.is_finished
        self.came_to_its_end = exit_.stopped == AFTER_RESULT or is_late
        # An API failure calls itself a success.
        self.api_failed = result.get("subtype") == "success" and result.get("is_error") is True
        self.status = int(number_of(result.get("api_error_status")) or 0) if self.api_failed else 0
        self.error = transcript.error if self.api_failed else ""
        # Newer versions name the failure exactly: it is a usage limit only if they call it one.
        self.named = text_of(result.get("api_error"))
        self.kind = text_of(result.get("api_error_type"))
        self.names_failures = bool(self.named or self.kind) or result.get("terminal_reason") == "api_error"

    @property
    def words(self) -> str:
        """The result line's own message about its failure."""
        errors = self.result.get("errors")
        messages = [text_of(error) for error in errors] if isinstance(errors, list) else []
        return shorten(text_of(self.result.get("result")) or "; ".join(messages))

    @property
    def how(self) -> str:
        code = self.exit.returncode
        if code is None:
            return "it ended"
        return f"it was killed by signal {-code}" if code < 0 else f"it exited with {code}"

    def verdict(self, outcome: Outcome, detail: str, retry_at: float | None = None) -> Verdict:
        return outcome, f"{detail}: {self.words}" if self.words else detail, retry_at


def _stopped(ending: _Ending) -> Verdict | None:
    reason = ending.exit.stopped
    if reason is None or ending.came_to_its_end:
        return None
    outcome, detail = STOPS.get(reason, (Outcome.STOPPED, f"stopped: {reason}"))
    return outcome, ending.exit.why or detail, None


def _succeeded(ending: _Ending) -> Verdict | None:
    transcript, exited_well = ending.transcript, ending.exit.returncode == 0 or ending.came_to_its_end
    if not (exited_well and reports_success(ending.result) and transcript.turns):
        return None
    if transcript.background.open:
        return Outcome.CRASHED, f"it ended while background work was running ({transcript.background.summary})", None
    # Some versions give an empty result after a complete last message.
    if text_of(ending.result.get("result")).strip() or transcript.spoke_last:
        return Outcome.SUCCEEDED, "", None
    if transcript.last_text or transcript.has_acted:  # it cost money, and a retry would cost it again
        return Outcome.CRASHED, "it ended without a final message", None
    return Outcome.TRANSIENT, "the result was empty", None


def _limited(ending: _Ending) -> Verdict | None:
    limit = ending.transcript.limit
    if ending.names_failures:
        if ending.named == USAGE_LIMIT:
            kind = limit.kind if limit else ""
            return ending.verdict(Outcome.LIMITED, _limit_of(kind), limit.resets_at if limit else None)
        return ending.verdict(Outcome.TRANSIENT, "too many requests") if ending.status == 429 else None
    is_rejected = limit is not None and limit.status == "rejected" and not limit.is_paid_for
    if limit and is_rejected and (ending.api_failed or not ending.result):
        return ending.verdict(Outcome.LIMITED, _limit_of(limit.kind), limit.resets_at)
    if ending.status != 429 and (ending.status or ending.error != "rate_limit"):
        return None
    # A login, not a key: its 429 is the subscription's limit.
    if ending.transcript.key_source in ("", "none"):
        return ending.verdict(Outcome.LIMITED, "the usage limit is reached")
    return ending.verdict(Outcome.TRANSIENT, "too many requests")


def _limit_of(kind: str) -> str:
    return f"the usage limit ({kind or 'unknown'}) is reached"


def _too_large(ending: _Ending) -> Verdict | None:
    is_full = ending.result.get("terminal_reason") in TOO_LARGE_REASONS or ending.named == THRASHING
    if ending.status != 413 and not is_full:
        return None
    return ending.verdict(Outcome.TOO_LARGE, "the prompt is too long")


def _fatal(ending: _Ending) -> Verdict | None:
    detail = FATAL_ERRORS.get(ending.error) or FATAL_STATUSES.get(ending.status)
    return ending.verdict(Outcome.FATAL, detail) if detail else None


def _transient(ending: _Ending) -> Verdict | None:
    unreachable = not ending.status and ending.error in TRANSIENT_ERRORS
    if not unreachable and ending.status != 408 and ending.status < 500:
        return None
    return ending.verdict(Outcome.TRANSIENT, "the service is unreachable or overloaded")


def _misused(ending: _Ending) -> Verdict | None:
    """Claude Code refuses its command line, or something else answers to its name."""
    if ending.transcript.came or ending.exit.returncode not in USAGE_EXITS:
        return None
    stderr = shorten(ending.exit.stderr)
    return Outcome.FATAL, f"{ending.how} before it began" + (f": {stderr}" if stderr else ""), None


def _crashed(ending: _Ending) -> Verdict:
    if not ending.result:
        stderr = shorten(ending.exit.stderr)
        return Outcome.CRASHED, f"{ending.how} without a result" + (f": {stderr}" if stderr else ""), None
    if not ending.transcript.turns:
        return ending.verdict(Outcome.CRASHED, "no turn ran")
    if reports_success(ending.result):
        return Outcome.CRASHED, f"{ending.how} after a result", None
    return ending.verdict(Outcome.CRASHED, _cause(ending))


def _cause(ending: _Ending) -> str:
    """The most specific cause that a failed result names."""
    subtype, reason = text_of(ending.result.get("subtype")), text_of(ending.result.get("terminal_reason"))
    if ending.result.get("stop_reason") == "refusal":
        return "the model refused to answer"
    if ending.status:
        facts = ", ".join((str(ending.status), *((shorten(ending.kind),) if ending.kind else ())))
        return f"the request was refused ({facts})"
    cause = shorten(reason if subtype == "success" and reason != "completed" else subtype)
    return cause or "the result is not complete"


RULES: tuple[Callable[[_Ending], Verdict | None], ...] = (
    _stopped,
    _succeeded,
    _limited,
    _too_large,
    _fatal,
    _transient,
    _misused,
)
