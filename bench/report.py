"""Figures and their table: what was measured, what stands beside it, and the limit that it must keep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from statistics import median

Rounds = Sequence[Sequence[float]]
_HEADINGS = ("figure", "ours", "min", "baseline", "ratio", "judged", "limit", "")


class Judged(Enum):
    """What of a figure is held against its limit."""

    RATIO = "ratio"
    MEDIAN = "median"
    P99 = "p99"
    MOST = "most"
    LEAST = "at least"


@dataclass(frozen=True, slots=True)
class Limit:
    """A figure keeps it by being at most `value`; for LEAST by a median of at least that."""

    judged: Judged
    value: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. Samples come in rounds, so that each is compared with what ran beside it.

    `unit` is that of the samples ("" for ratios); `note` says what a reader must know of this run.
    """

    name: str
    unit: str
    ours: Rounds
    baseline: Rounds = ()
    limit: Limit | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """The median over the rounds of (our median : the baseline's median); None without a baseline."""
        pairs = [(median(ours), median(theirs)) for ours, theirs in zip(self.ours, self.baseline, strict=False)]
        ratios = [ours / theirs for ours, theirs in pairs if theirs]
        return median(ratios) if ratios else None

    @property
    def judged(self) -> float | None:
        """The number that is held against the limit."""
        return _JUDGED[self.limit.judged](self) if self.limit and self.ours else None

    @property
    def verdict(self) -> str:
        """Whether the limit is kept, "ok" or "over"; "skipped" without samples, "" without a limit."""
        if not self.ours:
            return "skipped"
        judged = self.judged
        if self.limit is None or judged is None:
            return ""
        is_kept = judged >= self.limit.value if self.limit.judged is Judged.LEAST else judged <= self.limit.value
        return "ok" if is_kept else "over"


def one(value: float) -> Rounds:
    """A figure that was taken once."""
    return ((value,),)


def each(values: Iterable[float]) -> Rounds:
    """A round for each value."""
    return tuple((value,) for value in values)


def flat(rounds: Rounds) -> list[float]:
    return [sample for samples in rounds for sample in samples]


def percentile(samples: Sequence[float], share: float) -> float:
    """The sample below which this share (0 to 1) of them lies; with few samples the greatest."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _ratio(figure: Figure) -> float | None:
    return figure.ratio


_JUDGED: dict[Judged, Callable[[Figure], float | None]] = {
    Judged.RATIO: _ratio,
    Judged.MEDIAN: lambda figure: median(flat(figure.ours)),
    Judged.P99: lambda figure: percentile(flat(figure.ours), 0.99),
    Judged.MOST: lambda figure: max(flat(figure.ours)),
    Judged.LEAST: lambda figure: median(flat(figure.ours)),
}


def table(figures: Sequence[Figure]) -> str:
    """The figures as a Markdown table with aligned columns, the notes below it."""
    rows = [_HEADINGS, *map(_row, figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    lines = [_line(row, widths) for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    notes = list(dict.fromkeys(f"- {figure.name}: {figure.note}" for figure in figures if figure.note))
    return "\n".join([*lines, *([""] if notes else []), *notes]) + "\n"


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    return "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"


def _row(figure: Figure) -> tuple[str, ...]:
    ours, theirs = flat(figure.ours), flat(figure.baseline)
    return (
        figure.name,
        _shown(median(ours), figure.unit) if ours else "",
        _shown(min(ours), figure.unit) if len(ours) > 1 else "",
        _shown(median(theirs), figure.unit) if theirs else "",
        _shown(figure.ratio, ""),
        _shown(figure.judged, _unit(figure)),
        f"{_SIGN[figure.limit.judged]} {_shown(figure.limit.value, _unit(figure))}" if figure.limit else "",
        figure.verdict,
    )


_SIGN = {
    Judged.RATIO: "ratio ≤",
    Judged.MEDIAN: "median ≤",
    Judged.P99: "p99 ≤",
    Judged.MOST: "≤",
    Judged.LEAST: "≥",
}


def _unit(figure: Figure) -> str:
    return "" if figure.limit and figure.limit.judged is Judged.RATIO else figure.unit


def _shown(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    number = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
    return f"{number} {unit}".rstrip()


def as_value(figure: Figure) -> dict[str, object]:
    """A figure as JSON can say it, samples included."""
    ours = flat(figure.ours)
    return {
        "name": figure.name,
        "unit": figure.unit,
        "median": median(ours) if ours else None,
        "min": min(ours) if ours else None,
        "ours": [list(samples) for samples in figure.ours],
        "baseline": [list(samples) for samples in figure.baseline],
        "ratio": figure.ratio,
        "judged": figure.judged,
        "limit": {"of": figure.limit.judged.value, "value": figure.limit.value} if figure.limit else None,
        "verdict": figure.verdict,
        "note": figure.note,
    }
