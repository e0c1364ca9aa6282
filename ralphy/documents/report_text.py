"""The report as Markdown: REPORT.md, `ralphy report`, and the appendix of QA_REPORT.md and PR.md.

Titles, failures and remarks are agents' words: they can make no picture, no HTML, no new section, and no link
that hides where it leads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from ralphy.documents.report import Cost, Landed, Need, Report, Row
from ralphy.pipeline.nights import Past, Turn
from ralphy.text.durations import span
from ralphy.text.plain_text import printable
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
_DOUBTS = {"no": "not met", "unknown": "unknown"}  # what a review may say of a criterion, but for yes
_MATRIX = "What proves each criterion"
# What would begin emphasis, a link, HTML, an entity or the next cell; what stands in code is shown as it is anyway.
_SPECIAL = re.compile(r"[\\*\[<|]|&(?=#?\w+;)")


def in_markdown(report: Report, clock: Clock) -> str:
    """The whole report, with moments as `clock` says them; a section that has nothing to say is left out."""
    blocks = [f"# {report.feature}: {report.landed} of {report.stories} stories landed", _plain(report.state)]
    blocks += [NOTE] if report.is_rehearsed else []
    blocks += _section("What waits for you", _need_lines(report.waits))
    blocks += _section("What landed", _table(LANDED, landed_rows(report.done), 5))
    for _, title, lines in lists(report, clock):
        blocks += _section(title, [f"- {_plain(line)}" for line in lines])
    blocks += _section(_MATRIX, _table(MATRIX, matrix_rows(report.matrix)))
    blocks += _section("The night", _night_lines(report, clock))
    blocks += _section("Cost", _table(COST, cost_rows(report), 7))
    blocks.append(f"## Next\n\n    {' '.join(report.next.split())}" if report.next else "")
    return "\n\n".join(block for block in blocks if block) + "\n"


def with_appendix(text: str, rows: Sequence[Row]) -> str:
    """A document with the matrix behind it, in place of the one that it may have had."""
    own, lines = without_appendix(text), _table(MATRIX, matrix_rows(rows))
    return "\n\n".join([own, *([f"{_HEAD}{_MATRIX}\n\n" + "\n".join(lines)] if lines else [])]) + "\n"


def without_appendix(text: str) -> str:
    """A document as it was handed in."""
    return re.split(rf"^{re.escape(_HEAD)}", text, maxsplit=1, flags=re.M)[0].rstrip()


def summary(night: Past) -> str:
    """`31 runs in 7 h 2 min`; "" where nobody worked."""
    if not night.turns:
        return ""
    runs = "1 run" if len(night.turns) == 1 else f"{len(night.turns)} runs"
    return f"{runs} in {span(night.ended - night.began)}"


def result(turn: Turn) -> str:
    """How a run came out, in a word or two."""
    if turn.landed:
        return "landed"
    return turn.outcome.replace("_", " ") if turn.outcome else "at work"


def lists(report: Report, clock: Clock) -> list[tuple[str, str, list[str]]]:
    """(id, title, lines) of what the report has as lists."""
    decisions = [f"{clock(one.at)} {one.said}" if one.at else one.said for one in report.decisions]
    return [
        ("failed", "What failed", _about(report, report.failed)),
        ("rejected", "Rejected attempts", [_rejected(report, turn) for turn in report.rejected[:_MOST_ROWS]]),
        ("flagged", "What was flagged", _about(report, report.flagged)),
        ("doubts", "What could not be verified", _about(report, report.doubts)),
        ("decisions", "Decisions", decisions),
    ]


def landed_rows(done: Sequence[Landed]) -> Rows:
    for one in done:
        yield (f"{one.id} {one.title}", one.verified, one.commit, str(one.files), one.lines, str(one.attempts),
               span(one.seconds), f"${one.cost_usd:.2f}")  # fmt: skip


def matrix_rows(rows: Sequence[Row]) -> Rows:
    for row in rows:
        doubt = _DOUBTS.get(row.met, "")
        said = f" ({doubt}: {row.note})" if doubt and row.note else f" ({doubt})" if doubt else ""
        yield f"{row.id} {row.criterion}".strip() + said, row.test or "none", row.before, row.after, row.commit


def night_rows(report: Report, clock: Clock) -> Rows:
    """The runs and the pauses of the night, as they began."""
    found = [(turn.began, (clock(turn.began), clock(turn.ended) if turn.ended else "", turn.lane,
                           report.named(turn.of), str(turn.attempt), turn.model, result(turn)))
             for turn in report.night.turns]  # fmt: skip
    found += [(pause.began, (clock(pause.began), clock(pause.ended) if pause.ended else "", "",
                             pause.why, "", "", "")) for pause in report.night.pauses]  # fmt: skip
    yield from (row for _, row in sorted(found, key=lambda one: one[0]))


def cost_rows(report: Report) -> Rows:
    """A row for each story (or step) and model, and one for all; none where no run is known."""
    tokens = {kind: sum(cost.tokens.get(kind, 0) for cost in report.costs) for kind in TOKENS}
    runs, seconds = sum(cost.runs for cost in report.costs), sum(cost.seconds for cost in report.costs)
    total = Cost("in all", "", report.cost_usd, runs, seconds, tokens)
    for cost in (*report.costs, total) if report.costs else ():
        used = (f"{cost.tokens.get(kind, 0):,}" for kind in TOKENS)
        yield cost.of, cost.model, str(cost.runs), span(cost.seconds), *used, f"${cost.usd:.2f}"


def _about(report: Report, said: Sequence[tuple[str, str]]) -> list[str]:
    return [f"{report.named(of)}: {text}" for of, text in said]


def _rejected(report: Report, turn: Turn) -> str:
    look = f" (ralphy attempts diff {report.feature}/{turn.story} {turn.kept})" if turn.kept else ""
    said = f"{result(turn)}: {turn.why}" if turn.why else result(turn)
    return f"{report.named(turn.of)}, attempt {turn.attempt} ({turn.model}): {said}{look}"


def _night_lines(report: Report, clock: Clock) -> list[str]:
    night = report.night
    if not night.turns:
        return []
    head = f"From {clock(night.began)} to {clock(night.ended)}: {summary(night)}."
    return [head, "", *_table(NIGHT, night_rows(report, clock))]


def _need_lines(needs: Iterable[Need]) -> list[str]:
    return [line for need in needs for line in (f"- {_plain(need.said)}", f"  - {_plain(need.do)}")]


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"## {title}\n\n" + "\n".join(lines)] if lines else []


def _table(columns: Sequence[str], rows: Rows, right: int = 0) -> list[str]:
    """A table whose last `right` columns are numbers; nothing without a row."""
    found = list(rows)
    rule = ["---"] * (len(columns) - right) + ["---:"] * right
    lines = [f"| {' | '.join(columns)} |", f"|{'|'.join(rule)}|"]
    lines += ["| " + " | ".join(_plain(cell[:300]) for cell in row) + " |" for row in found[:_MOST_ROWS]]
    more = [f"… and {len(found) - _MOST_ROWS} more", *[""] * (len(columns) - 1)]
    lines += [f"| {' | '.join(more)} |"] if len(found) > _MOST_ROWS else []
    return lines if found else []


def _plain(text: str) -> str:
    """Text on one line that is shown as it is."""
    line = " ".join(printable(text).split())
    return _SPECIAL.sub(r"\\\g<0>", line)
