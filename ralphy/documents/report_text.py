"""The report in sections, and as Markdown: REPORT.md, `ralphy report`, and the appendix of QA_REPORT.md and PR.md.

Titles, failures and remarks come from agents: they are escaped, and cannot become images, HTML, headings or links.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ralphy.documents.report import Cost, CriterionRow, LandedStory, Report
from ralphy.pipeline.nights import Past, Turn
from ralphy.text.counted import counted
from ralphy.text.durations import span
from ralphy.text.markdown import escape_markdown
from ralphy.text.plain_text import one_line
from ralphy.text.rehearsed import NOTE

Clock = Callable[[float], str]
Rows = Iterable[tuple[str, ...]]
TOKENS = {"input": "In", "output": "Out", "cache_read": "Cache read", "cache_creation": "Cache written"}
LANDED = ("Story", "Verified by", "Commit", "Files", "Lines", "Attempts", "Time", "Cost")
MATRIX = ("Criterion", "Test", "Before", "After", "Commit")
NIGHT = ("From", "To", "Lane", "Work", "Attempt", "Model", "Result")
COST = ("Of", "Model", "Runs", "Time", *TOKENS.values(), "Cost")
_MOST_ROWS = 200
_HEAD = "## Appendix: "
_DOUBTS = {"no": "not met", "unknown": "unknown"}  # the answers of a review but for yes
_MATRIX = "What proves each criterion"


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the report: `lines` of a list, or `rows` of a table whose last `numbers` columns are numbers, with
    the paragraph `above` before it."""

    id: str
    title: str
    lines: Sequence[str] = ()
    head: Sequence[str] = ()
    rows: Sequence[tuple[str, ...]] = ()
    numbers: int = 0
    above: str = ""


def sections_of(report: Report, clock: Clock) -> Iterator[Section]:
    """The sections that are not empty, in their order; `clock` formats times."""
    night = report.night
    span_of_night = f"From {clock(night.began)} to {clock(night.ended)}: {summary(night)}."
    decisions = [f"{clock(one.at)} {one.text}" if one.at else one.text for one in report.decisions]
    sections = (
        Section("landed", "What landed", head=LANDED, rows=[*landed_rows(report.done)], numbers=5),
        Section("failed", "What failed", _about(report, report.failed)),
        Section("rejected", "Rejected attempts", [_rejected(report, turn) for turn in report.rejected[:_MOST_ROWS]]),
        Section("asked", "How it was checked", _about(report, report.asked)),
        Section("flagged", "What was flagged", _about(report, report.flagged)),
        Section("doubts", "What could not be verified", _about(report, report.doubts)),
        Section("decisions", "Decisions", decisions),
        Section("proof", _MATRIX, head=MATRIX, rows=[*matrix_rows(report.matrix)]),
        Section("night", "The night", head=NIGHT, rows=[*night_rows(report, clock)], above=span_of_night),
        Section("cost", "Cost", head=COST, rows=[*cost_rows(report)], numbers=7),
    )
    return (one for one in sections if one.lines or one.rows)


def tables_of(report: Report, clock: Clock) -> list[dict[str, Any]]:
    """The tables that the dashboard shows."""
    return [asdict(one) for one in sections_of(report, clock) if one.id in ("night", "cost", "proof")]


def in_markdown(report: Report, clock: Clock) -> str:
    """The whole report."""
    needs = [line for need in report.waits for line in (f"- {_plain(need.said)}", f"  - {_plain(need.do)}")]
    blocks = [f"# {report.feature}: {report.landed} of {report.stories} stories landed", _plain(report.headline)]
    blocks += [NOTE] if report.is_rehearsed else []
    blocks += ["## What waits for you", "\n".join(needs)] if needs else []
    for section in sections_of(report, clock):
        listed = [f"- {_plain(line)}" for line in section.lines]
        blocks += [f"## {section.title}", section.above, "\n".join(listed or _table(section))]
    blocks += ["## Next", f"    {' '.join(report.next.split())}"] if report.next else []
    return "\n\n".join(block for block in blocks if block) + "\n"


def with_appendix(text: str, rows: Sequence[CriterionRow]) -> str:
    """A document with the matrix at its end, in place of an earlier one."""
    matrix = Section("proof", _MATRIX, head=MATRIX, rows=[*matrix_rows(rows)])
    appendix = [f"{_HEAD}{_MATRIX}", "\n".join(_table(matrix))] if rows else []
    return "\n\n".join([without_appendix(text), *appendix]) + "\n"


def without_appendix(text: str) -> str:
    """A document without the matrix at its end."""
    return re.split(rf"^{re.escape(_HEAD)}", text, maxsplit=1, flags=re.M)[0].rstrip()


def summary(night: Past) -> str:
    """`31 runs in 7 h 2 min`; "" for a night without runs."""
    if not night.turns:
        return ""
    return f"{counted(len(night.turns), 'run')} in {span(night.ended - night.began)}"


def result(turn: Turn) -> str:
    """The outcome of a run, in a word or two."""
    if turn.landed:
        return "landed"
    return turn.outcome.replace("_", " ") if turn.outcome else "at work"


def landed_rows(done: Sequence[LandedStory]) -> Rows:
    for one in done:
        yield (f"{one.id} {one.title}", one.verified, one.commit, str(one.files), one.lines, str(one.attempts),
               span(one.seconds), f"${one.cost_usd:.2f}")  # fmt: skip


def matrix_rows(rows: Sequence[CriterionRow]) -> Rows:
    for row in rows:
        doubt = _DOUBTS.get(row.met, "")
        remark = f" ({doubt}: {row.note})" if doubt and row.note else f" ({doubt})" if doubt else ""
        yield f"{row.id} {row.criterion}".strip() + remark, row.test or "none", row.before, row.after, row.commit


def night_rows(report: Report, clock: Clock) -> Rows:
    """The runs and the pauses of the night, by when they began."""
    rows = [(turn.began, (clock(turn.began), clock(turn.ended) if turn.ended else "", turn.lane,
                          report.named(turn.of), str(turn.attempt), turn.model, result(turn)))
            for turn in report.night.turns]  # fmt: skip
    rows += [(pause.began, (clock(pause.began), clock(pause.ended) if pause.ended else "", "",
                            pause.why, "", "", "")) for pause in report.night.pauses]  # fmt: skip
    yield from (row for _, row in sorted(rows, key=lambda one: one[0]))


def cost_rows(report: Report) -> Rows:
    """A row for each story (or step) and model, and a total; no rows without runs."""
    tokens = {kind: sum(cost.tokens.get(kind, 0) for cost in report.costs) for kind in TOKENS}
    runs, seconds = sum(cost.runs for cost in report.costs), sum(cost.seconds for cost in report.costs)
    total = Cost("in all", "", report.cost_usd, runs, seconds, tokens)
    for cost in (*report.costs, total) if report.costs else ():
        used = (f"{cost.tokens.get(kind, 0):,}" for kind in TOKENS)
        yield cost.of, cost.model, str(cost.runs), span(cost.seconds), *used, f"${cost.usd:.2f}"


def _about(report: Report, remarks: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{report.named(of)}: {text}" for of, text in remarks]


def _rejected(report: Report, turn: Turn) -> str:
    look = f" (ralphy attempts diff {report.feature}/{turn.story} {turn.kept})" if turn.kept else ""
    reason = f"{result(turn)}: {turn.why}" if turn.why else result(turn)
    return f"{report.named(turn.of)}, attempt {turn.attempt} ({turn.model}): {reason}{look}"


def _table(section: Section) -> list[str]:
    width, rows = len(section.head), section.rows
    rule = ["---"] * (width - section.numbers) + ["---:"] * section.numbers
    lines = [f"| {' | '.join(section.head)} |", f"|{'|'.join(rule)}|"]
    lines += ["| " + " | ".join(_plain(cell[:300]) for cell in row) + " |" for row in rows[:_MOST_ROWS]]
    more = [f"… and {len(rows) - _MOST_ROWS} more", *[""] * (width - 1)]
    return [*lines, f"| {' | '.join(more)} |"] if len(rows) > _MOST_ROWS else lines


def _plain(text: str) -> str:
    return escape_markdown(one_line(text))
