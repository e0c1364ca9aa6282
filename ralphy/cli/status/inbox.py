"""All features as an inbox: first those that need a person, each with the command to type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ralphy.text.tone import BAD, FAINT, GOOD, STRONG, WAITING, Toned

NEEDS_YOU, READY, WORKING, WAITS = "needs_you", "ready", "working", "waiting"
DONE, REJECTED = "done", "rejected"
SECTIONS = {NEEDS_YOU: ("Needs you", WAITING), READY: ("Ready", STRONG), WORKING: ("Working", STRONG),
           WAITS: ("Waiting", FAINT), DONE: ("Done", GOOD), REJECTED: ("Rejected", FAINT)}  # fmt: skip


def section_of(v: Mapping[str, Any]) -> str:
    """The section of the inbox that a feature belongs to."""
    if "error" in v:
        return NEEDS_YOU
    if v["life"] == "rejected":
        return REJECTED
    if v["life"] in ("merged", "published") or v["status"] == "completed":
        return DONE
    if v["status"] == "running":
        return WORKING
    if v["status"] == "ready":
        return WAITS if v.get("running") else READY
    is_a_matter_of_time = v["waiting_until"] and v["circuit_breaker"]["state"] != "OPEN"
    return WAITS if is_a_matter_of_time else NEEDS_YOU


def command_of(v: Mapping[str, Any]) -> str:
    """What to type next."""
    name, section = v["feature"], section_of(v)
    if section == NEEDS_YOU:
        return _answer(v)
    return {READY: f"ralphy start {name}", WORKING: f"ralphy logs {name} -f", WAITS: f"ralphy why {name}",
            DONE: f"ralphy report {name}", REJECTED: f"ralphy why {name}"}[section]  # fmt: skip


def at_gate(v: Mapping[str, Any]) -> bool:
    """Does a person have to open a gate?"""
    return str(v.get("phase", "")).startswith("AWAITING_") and v["status"] == "waiting"


def _answer(v: Mapping[str, Any]) -> str:
    name = v["feature"]
    if "error" in v or v.get("phase") == "IDLE":  # PRD.md is missing or incomplete
        return f"ralphy validate {name}"
    if v.get("phase") == "AWAITING_CLARIFICATION":
        return f"ralphy clarify {name}"
    if at_gate(v):
        return f"ralphy approve {name}"
    if v["circuit_breaker"]["state"] == "OPEN":
        return f"ralphy reset-circuit {name}"
    return f"ralphy status {name}" if v["status"] == "failed" else f"ralphy why {name}"


def inbox_lines(
    values: Sequence[Mapping[str, Any]],
    line: Callable[[Mapping[str, Any]], str],
    command: Callable[[Mapping[str, Any]], str] = command_of,
) -> Iterator[str]:
    """The sections that are not empty; `line` gives a feature's line, `command` what to type."""
    for section, (title, tone) in SECTIONS.items():
        if rows := [v for v in values if section_of(v) == section]:
            yield Toned(title, tone)
            for v in rows:
                yield Toned(f"  {line(v)}", BAD) if "error" in v else f"  {line(v)}"
                yield Toned(f"    {command(v)}", FAINT)
