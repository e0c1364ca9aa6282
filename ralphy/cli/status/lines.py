"""Where a feature stands, in lines for people."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ralphy.cli.status.moments import moment, seconds_of
from ralphy.pipeline.parts import untested_changes
from ralphy.pipeline.verification import runs_in_words
from ralphy.text.counted import counted
from ralphy.text.durations import span
from ralphy.text.rehearsed import marked_words
from ralphy.text.tone import OF_STATUS, Toned


def status_lines(v: dict[str, Any]) -> list[str]:
    """The status of a feature as lines."""
    lines = [f"{v['feature']}: {phase(v)}, {v['tasks_completed']} of {v['tasks_total']} stories completed"]
    if v.get("running"):
        lines.append(f"  running: pid {v['running'].get('pid')} ({v['running'].get('purpose')})")
    lines.append(f"  next:    {v['next']}")
    if v.get("waiting_until"):
        lines.append(f"  until:   {local_moment(v['waiting_until'])}")
    unknown = f" (runs of unknown cost: {v['unknown_cost_runs']})" if v.get("unknown_cost_runs") else ""
    lines.append(f"  branch:  {v['branch']}   runs: {v['runs']}   cost: ${v['cost_usd']:.2f}{unknown}")
    if ahead := v.get("forecast"):
        stories = counted(ahead["stories_left"], "story", "stories")
        words = f"{stories} left, about {span(ahead['seconds'])} and ${ahead['cost_usd']:.2f} at the current rate"
        lines.append(f"  ahead:   {marked_words(words, ahead['rehearsed'])}")
    if (ran := v.get("check_runs")) and ran["stories"]:
        stories = counted(ran["stories"], "story", "stories")
        lines.append(f"  checks:  {runs_in_words(ran)}, for {stories}")
    if windows := [_window(row) for row in v.get("usage_windows") or ()]:
        lines.append(f"  usage:   {', '.join(windows)}")
    breaker, warned = v.get("circuit_breaker") or {}, v.get("watchdog")
    if warned and v.get("status") == "running":
        lines.append(f"  watchdog: HALF_OPEN, warning {warned['number']}/{warned['most']}: {warned['seen']}")
    elif breaker.get("state", "CLOSED") != "CLOSED":
        why = f" ({breaker['last_trigger']})" if breaker.get("last_trigger") else ""
        lines.append(f"  circuit breaker: {breaker['state']}{why}, {breaker['attempts']} agent runs without success")
    if v.get("pull_request"):
        lines.append(f"  pull request: {v['pull_request']}")
    if v.get("current"):
        lines.append(f"  documents: {v['current']}")
    lines += [f"  read first: {line}" for line in v.get("steering") or ()]
    if v.get("unverified"):
        lines.append(f"  unverified: {v['unverified']} of {v['tasks_completed']} completed stories (no checks ran)")
    if flagged := [row for row in v["stories"] if row.get("warnings")]:
        lines.append(f"  flagged: {v['warnings']} in the evidence: ralphy story show {flagged[0]['id']}")
    lines += [story_line(row) for row in v["stories"]]
    return lines


def _window(row: dict[str, Any]) -> str:
    used = "nearly all" if row["used"] is None else f"{row['used']:.0%}"
    until = f" until {local_moment(row['resets_at'])}" if row["resets_at"] else ""
    return f"{used} of {row['kind']}{until}"


def phase(v: Mapping[str, Any]) -> str:
    """The phase for people: a merged feature is CLOSED."""
    return "CLOSED" if v.get("life") == "merged" else str(v["phase"])


def local_moment(iso: str) -> str:
    """A moment of the JSON in local time, with how far away it is."""
    return moment(seconds_of(iso), time.time())


def doubts_of(row: Mapping[str, Any]) -> tuple[list[str], str]:
    """(what is not proved of a story, how many flags it has), in a few words each."""
    unverified = "unverified" if row.get("verified") is False else ""
    doubts = [*filter(None, (unverified, untested_changes(row.get("parts") or {})))]
    return doubts, f"{row['warnings']} flagged" if row.get("warnings") else ""


def story_line(row: dict[str, Any]) -> Toned:
    """A story's row for people."""
    doubts, flagged = doubts_of(row)
    tries = f"{row['attempts']} attempts" if row["attempts"] > 1 else ""
    after = f"after {', '.join(row['depends_on'])}" if row["status"] == "blocked" and row.get("depends_on") else ""
    about = ", ".join(filter(None, (row["status"], *doubts, tries, after, flagged)))
    error = f"\n      {' '.join(row['last_error'].split())[:160]}" if row.get("last_error") else ""
    sign, tone = OF_STATUS[row["status"]]
    return Toned(f"  {sign} {row['id']} {row['title']} ({about}){error}", tone)
