"""The pictures of docs/pictures/: what stands on a terminal, drawn from the code that writes it there.

`python -m tests.cli.pictures docs/pictures` draws them all, as `make pictures` does.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from rich.cells import cell_len

from ralphy.cli.drawing import STYLES, Terminal
from ralphy.cli.run.panel import panel
from ralphy.cli.run.sentences import sentences
from ralphy.cli.status.inbox import inbox_lines
from ralphy.cli.status.look import feature_line
from ralphy.documents.report_text import in_markdown
from ralphy.pipeline import events as e
from ralphy.text.tone import BAD, FAINT, GOOD, STRONG, WAITING, tone_of
from tests.cli.a_night import NOW, the_morning, the_night

COLUMNS = 100
Row = Sequence[tuple[str, str]]  # a line of texts, each with its tone
_REPORT_LINES = 28
_CELL, _LINE, _EDGE = 8.4, 20, 16
_FILL = {GOOD: "#7ee787", BAD: "#ff7b72", WAITING: "#e3b341", FAINT: "#8b949e", STRONG: "#ffffff"}
_HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">
<title>{title}</title>
<rect width="{width}" height="{height}" rx="8" fill="#0d1117"/>
<g font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">
"""


def drawn(title: str, lines: Sequence[Row]) -> str:
    """A terminal with these lines, as SVG."""
    width, height = round(COLUMNS * _CELL) + 2 * _EDGE, len(lines) * _LINE + 2 * _EDGE
    texts = "".join(_texts(row, _EDGE + number * _LINE + 14) for number, row in enumerate(lines))
    return f"{_HEAD.format(width=width, height=height, title=escape(title))}{texts}</g>\n</svg>\n"


def _texts(row: Row, y: int) -> str:
    """A text for each part, as wide as its columns are in whatever font there is."""
    found, column = [], 0
    for text, tone in row:
        kept = text.lstrip(" ")
        x, columns = _EDGE + (column + len(text) - len(kept)) * _CELL, cell_len(kept.rstrip(" "))
        column += cell_len(text)
        if columns:
            bold = ' font-weight="bold"' if tone == STRONG else ""
            found.append(
                f'<text x="{x:.1f}" y="{y}" textLength="{columns * _CELL:.1f}" lengthAdjust="spacingAndGlyphs" '
                f'xml:space="preserve" fill="{_FILL.get(tone, "#c9d1d9")}"{bold}>{escape(kept.rstrip(" "))}</text>\n'
            )
    return "".join(found)


def _log() -> Iterator[Row]:
    """The last lines above the live view."""
    red = e.CheckRan(story="US-007", check="test", purpose="candidate", passed=False, said="exit 1", seconds=31.4,
                     first_error="tests/test_export.py:41: AssertionError: 3 columns, not 4")  # fmt: skip
    told: tuple[e.Event, ...] = (
        e.CheckRan(story="US-004", check="test", purpose="candidate", passed=True, said="passed", seconds=28.9),
        e.Landed(story="US-004", title="Lock an account", commit="5d1f0c92aa", run="r4", attempt=1, cost_usd=0.71,
                 verified=True, flagged=("no test of its own fails without it",)),
        red,
        e.RunEnded(feature="login", story="US-007", run="r", step="story", attempt=1, outcome="rejected", kept=1,
                   detail="the check test fails: tests/test_export.py::test_columns"),
    )  # fmt: skip
    for minute, event in enumerate(told):
        for text, tone in sentences(event):
            yield (f"[02:1{minute}:07] ", ""), (text[: COLUMNS - 11], tone)


def _live() -> Iterator[Row]:
    tones = {style: tone for tone, style in STYLES.items()}
    console = Terminal(StringIO(), is_coloured=True)
    console.width = COLUMNS
    view = panel(the_night(), NOW, COLUMNS, 12)
    assert view
    for line in console.render_lines(view, pad=False):
        yield [(segment.text, tones.get(str(segment.style), "")) for segment in line]


def _view(name: str, status: str, phase: str, done: int, of: int, said: str, **more: Any) -> dict[str, Any]:
    return {"feature": name, "life": "in_work", "status": status, "phase": phase, "tasks_completed": done,
            "tasks_total": of, "next": said, "waiting_until": None, "running": None,
            "circuit_breaker": {"state": "CLOSED"}, **more}  # fmt: skip


FEATURES = (
    _view("login", "running", "IMPLEMENTATION", 4, 12, "US-006, US-007, US-008 in progress"),
    _view("csv-export", "waiting", "AWAITING_SPEC_VALIDATION", 0, 5, "SPEC.md is ready for review"),
    _view("invoices", "failed", "FAILED", 6, 7, "failed: US-004; answer in QUESTIONS.md"),
    _view("farewell", "ready", "SPECIFICATION", 0, 0, "PRD.md exists, SPEC.md is missing", running={"purpose": "loop"}),
    _view("search", "completed", "COMPLETED", 9, 9, "the pull request is open", life="published"),
)


def _report() -> Iterator[Row]:
    """The report without empty lines between a heading and what stands below it."""
    text = in_markdown(the_morning(), lambda at: time.strftime("%H:%M", time.gmtime(at)))
    for line in re.sub(r"(?m)^(#.*)\n\n", r"\1\n", text).splitlines()[:_REPORT_LINES]:
        short = line if len(line) <= COLUMNS else f"{line[: COLUMNS - 1]}…"
        yield ((short, STRONG if line.startswith("#") else FAINT if line.startswith("    ") else tone_of(line)),)


def pictures() -> dict[str, str]:
    """Every picture, by the name of its file."""
    inbox = [((line, tone_of(line)),) for line in inbox_lines(FEATURES, feature_line)]
    return {
        "report.svg": drawn("ralphy report login", [(("$ ralphy report login", FAINT),), *_report()]),
        "inbox.svg": drawn("ralphy status --all", [(("$ ralphy status --all", FAINT),), *inbox]),
        "live.svg": drawn("ralphy loop --jobs 3", [*_log(), *_live()]),
    }


def draw_pictures(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pictures().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    draw_pictures(Path(sys.argv[1]))
