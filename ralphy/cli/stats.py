"""stats: the totals of all nights of a repository."""

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
from ralphy.text.counted import counted
from ralphy.text.durations import span
from ralphy.text.rehearsed import NOTE, is_marked

_DAYS = re.compile(r"(\d{1,4})d")
_MOST_NIGHTS = 14


@click.command("stats")
@click.option("--since", metavar="DATE", help="Count runs from this day on: 2026-11-01, or 7d for the last seven days.")
@with_options
def stats(call: Invocation, since: str | None) -> int:
    """By night, step and model. The success rate is of the stories that landed or were rejected at least once; one
    that was redone counts again. The forecast of a story is the median of those that landed before it.
    """
    begin = _moment(since, time.time())
    past = past_of(Journal(call.repository().state_dir / "journal.jsonl").entries())
    figures = statistics_of(replace(past, turns=tuple(turn for turn in past.turns if turn.began >= begin)))
    return call.output.answer("stats", list(_lines(figures)), **asdict(figures), success_rate=figures.success_rate)


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


def _lines(figures: Statistics) -> Iterator[str]:
    if not figures.groups:
        yield "no agent has worked here yet"
        return
    if figures.success_rate is not None:
        goal = "goal met" if figures.success_rate > figures.goal else "goal missed"
        yield (f"Stories   {figures.landed} of {figures.tried} landed, {figures.success_rate:.0%} "
               f"({goal}: over {figures.goal:.0%}); {figures.first_attempt} on the first attempt")  # fmt: skip
    if figures.landed:
        attempts, each = figures.attempts / figures.landed, figures.cost_usd / figures.landed
        yield f"Each      {attempts:.1f} attempts, {span(figures.seconds / figures.landed)} and ${each:.2f} on average"
    if figures.forecast[0]:
        (number, forecast_s, forecast_usd), (_, outcome_s, outcome_usd) = figures.forecast, figures.outcome
        yield (f"Forecast  {span(forecast_s)} and ${forecast_usd:.2f} "
               f"for {counted(number, 'story', 'stories')}; "
               f"it took {span(outcome_s)} and ${outcome_usd:.2f}")  # fmt: skip
    nights = [(minute(one.began), span(one.ended - one.began), str(one.runs),
               f"{one.landed} of {one.tried}", f"${one.cost_usd:.2f}")
              for one in figures.nights[-_MOST_NIGHTS:]]  # fmt: skip
    yield from _table([("Night", "Time", "Runs", "Landed", "Cost"), *nights])
    groups = [(one.step, one.model, str(one.runs), str(one.succeeded), str(one.rejected), span(one.seconds),
               f"${one.cost_usd:.2f}") for one in figures.groups]  # fmt: skip
    yield from _table([("Step", "Model", "Runs", "Succeeded", "Rejected", "Time", "Cost"), *groups])
    if any(is_marked(one.model) for one in figures.groups):
        yield from ("", NOTE)


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield ""
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
