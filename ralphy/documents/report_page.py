"""The report as one page of HTML: no script, nothing from elsewhere, light or dark as its reader's screen is.

Jinja2 escapes every value: titles, failures and remarks are agents' words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from ralphy.documents import report_text as text
from ralphy.documents.report import Report
from ralphy.documents.report_text import Clock, result
from ralphy.pipeline.nights import Past
from ralphy.resources import template_root
from ralphy.text.durations import span
from ralphy.text.rehearsed import NOTE

if TYPE_CHECKING:
    from jinja2 import Template

WIDTH, LANE_H, LEFT, TOP = 960.0, 30.0, 70.0, 24.0
_STEPS_S = (60, 300, 900, 1800, 3600, 7200, 14400, 43200, 86400, 604800)
_MOST_TICKS = 9
_LEAST_W = 3.0
_LETTER_W = 6.5


_Scale = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Bar:
    """A run or a pause in the picture of the night; `label` is what fits in it, `title` says all."""

    x: float
    y: float
    width: float
    height: float
    kind: str
    label: str
    title: str


@dataclass(frozen=True, slots=True)
class Picture:
    """The night by lane: bars, the lanes' names with their y, and ticks with their x."""

    height: float
    bars: tuple[Bar, ...]
    lanes: tuple[tuple[float, str], ...]
    ticks: tuple[tuple[float, str], ...]


def in_html(report: Report, clock: Clock) -> str:
    """The page, with moments as `clock` says them."""
    return template("report.html.j2").render(
        rehearsed=NOTE, report=report, moment=clock, lists=text.lists(report, clock), values=values_of(report, clock),
        night=text.summary(report.night), is_link=report.next.startswith("https://"),
    )  # fmt: skip


def values_of(report: Report, clock: Clock) -> dict[str, Any]:
    """What the page and the dashboard show as tables (title, head, rows, how many columns are numbers) and picture."""
    tables = {
        "landed": ("What landed", text.LANDED, list(text.landed_rows(report.done)), 5),
        "proof": ("What proves each criterion", text.MATRIX, list(text.matrix_rows(report.matrix)), 0),
        "cost": ("Cost", text.COST, list(text.cost_rows(report)), 7),
    }
    picture = picture_of(report, clock)
    return {"tables": tables, "picture": picture and asdict(picture), "night_head": text.NIGHT,
            "night_rows": list(text.night_rows(report, clock)),
            "began": clock(report.night.began), "ended": clock(report.night.ended)}  # fmt: skip


@cache
def template(name: str) -> Template:
    """A template of a page, whose values are escaped; it takes longer to compile than to fill in."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(template_root()), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return environment.get_template(name)


def picture_of(report: Report, clock: Clock) -> Picture | None:
    """Where everything stands in the picture; None where nobody worked."""
    night = report.night
    if not night.turns:
        return None
    names = sorted({turn.lane for turn in night.turns}, key=lambda name: (len(name), name))
    lanes = tuple((TOP + LANE_H * number, name) for number, name in enumerate(names))
    height = TOP + LANE_H * len(names)
    began, seconds = night.began, max(night.ended - night.began, 60.0)

    def x(at: float) -> float:
        return round(LEFT + (WIDTH - LEFT) * min(1.0, max(0.0, (at - began) / seconds)), 1)

    bars = [*_pauses(night, x, height - TOP, clock), *_runs(report, {name: y for y, name in lanes}, x, clock)]
    ticks = tuple((x(at), clock(at)[-5:]) for at in _ticks(began, began + seconds))
    return Picture(height, tuple(bars), lanes, ticks)


def _pauses(night: Past, x: _Scale, height: float, clock: Clock) -> Iterator[Bar]:
    for pause in night.pauses:
        start, end = x(pause.began), x(pause.ended or night.ended)
        if end > start:
            title = f"{pause.why}, from {clock(pause.began)}"
            yield Bar(start, TOP, end - start, height, "pause", "", title)


def _runs(report: Report, places: dict[str, float], x: _Scale, clock: Clock) -> Iterator[Bar]:
    for turn in report.night.turns:
        start = x(turn.began)
        width = max(_LEAST_W, x(turn.ended or report.night.ended) - start)
        kind = "good" if turn.landed or turn.outcome == "succeeded" else "bad" if turn.is_rejected else "cut"
        kind = kind if turn.ended else "working"
        label = turn.of if len(turn.of) * _LETTER_W < width - 6 else ""
        title = f"{report.named(turn.of)}, attempt {turn.attempt}, {result(turn)}, from {clock(turn.began)}"
        if turn.ended:
            title += f", {span(turn.ended - turn.began)}"
        yield Bar(start, places[turn.lane] + 3, width, LANE_H - 6, kind, label, title)


def _ticks(start: float, end: float) -> Sequence[float]:
    """Round moments between the two, a few of them."""
    step = next((step for step in _STEPS_S if (end - start) / step <= _MOST_TICKS), _STEPS_S[-1])
    first = int(start // step + 1) * step
    return [float(at) for at in range(first, int(end) + 1, step)][: 2 * _MOST_TICKS]
