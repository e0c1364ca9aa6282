"""Notices: which events a person who is not there is told of, what the message says, and when it is quiet."""

from __future__ import annotations

from typing import Any

import pytest

from ralphy.errors import ExitCode
from ralphy.pipeline.events import Decided, Event, HeldUp, Landed, RunEnded, Said, StoryFailed
from ralphy.pipeline.notices import is_quiet, notice_of

FOLDER = "docs/features/login"


def rest(decision: str, code: int, reason: str = "why", **more: Any) -> Decided:
    return Decided(feature="login", at=1000.0, decision=decision, phase="P", reason=reason, rests=True,
                   exit_code=code, completed=1, stories=2, cost_usd=0.5, **more)  # fmt: skip


def ended(outcome: str, story: str | None = "US-002") -> RunEnded:
    return RunEnded(
        feature="login", story=story, run="r", step="story", attempt=1, outcome=outcome, detail="Which one?"
    )


@pytest.mark.parametrize(
    ("event", "kind", "text", "where", "command"),
    [
        (rest("Wait", ExitCode.WAITING, gate="spec"), "gate", "why", "SPEC.md", "ralphy approve login"),
        (rest("Wait", ExitCode.WAITING), "question", "why", "", "ralphy loop login"),
        (rest("Wait", ExitCode.LIMITED, until=5000.0), "limit", "why", "", "ralphy status login"),
        (rest("Halt", ExitCode.BUDGET), "budget", "1 of 2 stories completed, $0.50; why", "REPORT.md",
         "ralphy loop login"),
        (rest("Halt", ExitCode.BREAKER_OPEN, until=5000.0), "breaker", "1 of 2 stories completed, $0.50; why",
         "REPORT.md", "ralphy reset-circuit login"),
        (rest("Halt", ExitCode.STORIES_OPEN), "ended", "1 of 2 stories completed, $0.50; why", "REPORT.md",
         "ralphy loop login"),
        (rest("Done", ExitCode.DONE), "ended", "1 of 2 stories completed, $0.50; why", "REPORT.md",
         "ralphy report login"),
        (StoryFailed(feature="login", story="US-002", reason="red", asked_in="QUESTIONS.md"), "question",
         "US-002 has failed: red", "QUESTIONS.md", "ralphy loop login"),
        (ended("needs_input"), "question", "US-002 asks: Which one?", "QUESTIONS.md", "ralphy loop login"),
        (HeldUp(feature="login", message="no git", hint="install it", exit_code=5), "question", "no git (install it)",
         "", "ralphy loop login"),
    ],
)  # fmt: skip
def test_a_message_says_what_where_and_the_command(
    event: Event, kind: str, text: str, where: str, command: str
) -> None:
    notice = notice_of(event, FOLDER)
    assert notice
    assert (notice.event, notice.text, notice.command) == (kind, text, command)
    assert notice.where == (f"{FOLDER}/{where}" if where else "")
    assert notice.title.startswith("login: ")


@pytest.mark.parametrize(
    "event",
    [
        Said(text="hello"), rest("Await", ExitCode.WAITING), rest("Halt", ExitCode.INTERRUPTED), ended("rejected"),
        ended("needs_input", story=None), rest("Wait", ExitCode.LIMITED, until=1010.0),
        rest("Wait", ExitCode.ENVIRONMENT, until=1010.0),
        Landed(title="t", commit="c", run="r", attempt=1, cost_usd=0.0, verified=True),
    ],
)  # fmt: skip
def test_what_needs_nobody_is_no_message(event: Event) -> None:
    assert notice_of(event, FOLDER) is None


@pytest.mark.parametrize(
    ("hours", "minute", "quiet"),
    [("", 0, False), ("22:00-07:00", 22 * 60, True), ("22:00-07:00", 6 * 60 + 59, True), ("22:00-07:00", 7 * 60, False),
     ("13:00-14:30", 14 * 60, True), ("13:00-14:30", 12 * 60, False)],
)  # fmt: skip
def test_quiet_hours_may_go_over_midnight(hours: str, minute: int, quiet: bool) -> None:
    assert is_quiet(hours, minute) is quiet
