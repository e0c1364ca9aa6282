"""stats: what all nights of a repository came to."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace

import click

from ralphy.cli.options import Invocation, with_options
from ralphy.cli.status.moments import minute
from ralphy.errors import InvalidInput
from ralphy.pipeline.nights import past_of
from ralphy.pipeline.statistics import Statistics, statistics_of
from ralphy.state.journal import Journal
from ralphy.text.durations import span
from ralphy.text.rehearsed import NOTE, is_marked

_DAYS = re.compile(r"(\d{1,4})d")
_MOST_NIGHTS = 14


@click.command("stats")
@click.option("--since", metavar="DATE", help="Count runs from this day on: 2026-11-01, or 7d for the last seven days.")
@with_options
def stats(call: Invocation, since: str | None) -> int:
    """By night, step and model. The success rate is of the stories that landed or were rejected at least once. The
    forecast of a story is the median of those that landed before it.
    """
    begin = _moment(since, time.time())
    past = past_of(Journal(call.repository().state_dir / "journal.jsonl").entries())
    found = statistics_of(replace(past, turns=tuple(turn for turn in past.turns if turn.began >= begin)))
    return call.output.answer("stats", list(_lines(found)), **asdict(found), success_rate=found.success_rate)


def _moment(text: str | None, now: float) -> float:
    """The beginning of a day, in epoch seconds; 0 for none."""
    if text is None:
        return 0.0
    if days := _DAYS.fullmatch(text):
        return now - int(days[1]) * 86400.0
    try:
        return time.mktime(time.strptime(text, "%Y-%m-%d"))
    except (ValueError, OverflowError):
        raise InvalidInput(f"{text[:40]!r} is not a day", hint="such as --since 2026-11-01 or --since 7d") from None


def _lines(found: Statistics) -> Iterator[str]:
    if not found.groups:
        yield "no agent has worked here yet"
        return
    if found.success_rate is not None:
        goal = "goal met" if found.success_rate > found.goal else "goal missed"
        yield (f"Stories   {found.landed} of {found.tried} landed, {found.success_rate:.0%} "
               f"({goal}: over {found.goal:.0%}); {found.first_attempt} on the first attempt")  # fmt: skip
    if found.landed:
        attempts, each = found.attempts / found.landed, found.cost_usd / found.landed
        yield f"Each      {attempts:.1f} attempts, {span(found.seconds / found.landed)} and ${each:.2f} on average"
    if found.forecast[0]:
        (number, said_s, said), (_, was_s, was) = found.forecast, found.outcome
        yield (f"Forecast  {span(said_s)} and ${said:.2f} for {number} {'story' if number == 1 else 'stories'}; "
               f"it took {span(was_s)} and ${was:.2f}")  # fmt: skip
    nights = [(minute(one.began), span(one.ended - one.began), str(one.runs),
               f"{one.landed} of {one.tried}", f"${one.cost_usd:.2f}")
              for one in found.nights[-_MOST_NIGHTS:]]  # fmt: skip
    yield from _table([("Night", "Time", "Runs", "Landed", "Cost"), *nights])
    groups = [(one.step, one.model, str(one.runs), str(one.succeeded), str(one.rejected), span(one.seconds),
               f"${one.cost_usd:.2f}") for one in found.groups]  # fmt: skip
    yield from _table([("Step", "Model", "Runs", "Succeeded", "Rejected", "Time", "Cost"), *groups])
    if any(is_marked(one.model) for one in found.groups):
        yield from ("", NOTE)


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield ""
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
