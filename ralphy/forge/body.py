"""The text of a pull request: what an agent wrote made harmless, and the evidence that Ralphy adds.

Agents' prose must not ping people or close issues. A zero-width space inside such words (after the @ of
a mention, after the first letter of a closing keyword) breaks them and changes nothing to the eye. It
works in any context; wrapping them in backticks does not: one unpaired backtick before them turns the
code span inside out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ralphy.errors import InvalidInput

MAX_TITLE = 120
MAX_BODY = 60_000
MAX_ROWS = 200
MAX_NOTES = 50
MAX_NOTE = 400
MAX_LINE = 1_000
CUT_NOTE = "\n\n*Cut: the text exceeds the limit of a pull request.*\n"

_BREAK = "\u200b"
# Control characters but for tab and newline; invisible and bidirectional ones; lone surrogates.
_UNPRINTABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
# The forge looks for mentions in what it has rendered, where an entity is an @ like any other.
_MENTION = re.compile(r"(?<![A-Za-z0-9])(@|&#0*64;|&#x0*40;|&commat;)(?=[A-Za-z0-9&])", re.IGNORECASE)
_REFERENCE = r"(?:[\w.-]+/[\w.-]+)?(?:#|GH-|https?://)"
_CLOSING = re.compile(rf"\b([cfr])((?:lose[sd]?|ix(?:e[sd])?|esolve[sd]?)\b(?=[\s:*_(\[]+{_REFERENCE}))", re.IGNORECASE)
_HEADING = re.compile(r" {0,3}#[ \t]+(?P<title>.*?)(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)$")
_HTML_BLOCK = re.compile(r"^ {0,3}<[A-Za-z/!?]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PullRequestText:
    """`title` is one line of at most 120 characters, `body` Markdown of at most 60,000."""

    title: str
    body: str


@dataclass(frozen=True, slots=True)
class StoryEvidence:
    """What Ralphy saw of a story: `checks` are (name, seconds), `files` is how many changed,
    `lines` how many of their lines (`+41 -3`).

    `tests` says how many there were and are; `notes` are the warnings of its evidence; `is_unverified` says that it
    landed without a check that had anything to run, `unproved` which lines no test needs.
    """

    id: str
    title: str
    attempts: int
    cost_usd: float
    checks: tuple[tuple[str, float], ...]
    files: int
    lines: str = ""
    tests: str = ""
    notes: tuple[str, ...] = ()
    is_unverified: bool = False
    unproved: str = ""


def parse_pr_text(markdown: str) -> PullRequestText:
    """The title (the first `# heading`, else the first line) and the neutralised rest.

    Raises InvalidInput when there is no title.
    """
    lines = _UNPRINTABLE.sub("", markdown.replace("\r\n", "\n")).strip("\n").split("\n")
    at = _title_line(lines)
    title = " ".join(neutralise(_bare(lines[at])).split())
    if not title:
        raise InvalidInput("the pull request's text has no title", hint="start PR.md with a `# title` line")
    body = neutralise("\n".join(lines[:at] + lines[at + 1 :])).strip("\n")
    return PullRequestText(_short(title, MAX_TITLE), _cut(body, MAX_BODY))


def with_evidence(text: PullRequestText, table: str) -> PullRequestText:
    """`text` with the evidence below it; when both are too long, it is the prose that is cut."""
    room = MAX_BODY - len(table) - len("\n\n")
    return replace(text, body=f"{_cut(text.body, max(room, len(CUT_NOTE)))}\n\n{table}"[:MAX_BODY])


def evidence_table(rows: Sequence[StoryEvidence], read_first: Sequence[str] = ()) -> str:
    """A Markdown table with a row per story (at most 200) and the totals; below it what was flagged (at most 50).

    `read_first` are lines about files that steer agents, CI or what people run.
    """
    first = [f"- {_cell(_short(line, MAX_NOTE))}" for line in read_first[:MAX_NOTES]]
    lines = ["Read these files first; they steer agents, CI or what people run:", "", *first, ""] if first else []
    missed = [f"- {_cell(row.id)}: {_cell(_short(row.unproved, MAX_NOTE))}" for row in rows if row.unproved]
    lines += ["No test fails without these lines:", "", *missed[:MAX_NOTES], ""] if missed else []
    lines += ["| Story | Attempts | Cost | Checks | Files | Lines |", "|---|---:|---:|---|---:|---:|"]
    lines += [_row(row) for row in rows[:MAX_ROWS]]
    if len(rows) > MAX_ROWS:
        lines.append(f"| … and {len(rows) - MAX_ROWS} more | | | | | |")
    attempts, cost = sum(row.attempts for row in rows), sum(row.cost_usd for row in rows)
    lines.append(f"| **{len(rows)} in all** | {attempts} | ${cost:.2f} | | {sum(row.files for row in rows)} | |")
    if doubtful := sum(row.is_unverified for row in rows):
        lines += ["", f"**{doubtful} of {len(rows)} stories landed unverified: no checks ran.**"]
    notes = [f"- {_cell(row.id)}: {_cell(_short(note, MAX_NOTE))}" for row in rows for note in row.notes]
    more = [f"- … and {len(notes) - MAX_NOTES} more"] if len(notes) > MAX_NOTES else []
    lines += ["", "Flagged:", "", *notes[:MAX_NOTES], *more] if notes else []
    return "\n".join(lines) + "\n"


def neutralise(markdown: str) -> str:
    """Markdown that pings nobody, closes no issue and hides nothing in comments.

    Fenced code is left as it is (decorators look like mentions, and the forge looks for none there),
    unless raw HTML could make a fence something else.
    """
    if _HTML_BLOCK.search(markdown):
        return _harmless(markdown)
    parts = groupby(_fences(markdown.splitlines(keepends=True)), key=lambda row: bool(row[1]))
    texts = ((is_code, "".join(line for line, _ in rows)) for is_code, rows in parts)
    return "".join(text if is_code else _harmless(text) for is_code, text in texts)


def _harmless(prose: str) -> str:
    visible = _without_comments(prose).replace("<!--", "&lt;!--")
    return _CLOSING.sub(rf"\1{_BREAK}\2", _MENTION.sub(f"@{_BREAK}", visible))


def _without_comments(text: str) -> str:
    parts, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts.append(text[at:start])
        at = end + len("-->")
    return "".join(parts) + text[at:]


def _fences(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(line, the mark of the fence that it opens, closes or stands in) in order; "" outside of fences."""
    opened = ""
    for line in lines:
        mark = _fence(line, opened)
        yield line, opened or mark
        if mark:
            opened = "" if opened else mark


def _fence(line: str, opened: str) -> str:
    """The mark of a line that opens a fence, or that closes the one that is `opened`; else nothing."""
    match = _FENCE.match(line.rstrip("\n"))
    if match is None:
        return ""
    mark, info = match["mark"], match["info"].strip()
    if opened:
        return mark if mark.startswith(opened) and not info else ""
    return "" if mark[0] == "`" and "`" in info else mark


def _title_line(lines: Sequence[str]) -> int:
    headings = (at for at, (line, mark) in enumerate(_fences(lines)) if not mark and _HEADING.match(line[:MAX_LINE]))
    written = (at for at, line in enumerate(lines) if line.strip())
    return next(headings, next(written, 0))


def _bare(line: str) -> str:
    match = _HEADING.match(line[:MAX_LINE])
    return (match["title"] if match else line.strip().lstrip("#")).strip(" \t*_")


def _short(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1].rstrip() + "…"


def _cut(body: str, size: int) -> str:
    if len(body) <= size:
        return body
    head = body[: max(size - len(CUT_NOTE) - len("\n~~~~"), 0)]
    head = head[: head.rfind("\n") + 1].rstrip("\n") or head
    *_, (_, opened) = _fences([*head.split("\n"), ""])
    return head + (f"\n{opened}" if opened else "") + CUT_NOTE


def _row(row: StoryEvidence) -> str:
    checks = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in row.checks[:10])
    doubt = "unverified" if row.is_unverified else ""
    checks = "; ".join(part for part in (doubt, _short(checks, 120), row.tests) if part)
    name = _cell(f"{row.id} {_short(row.title, 80)}")
    return f"| {name} | {row.attempts} | ${row.cost_usd:.2f} | {_cell(checks)} | {row.files} | {row.lines} |"


def _cell(text: str) -> str:
    """Text that stays in its cell: one line, pipes escaped, and backslashes, which could undo that."""
    line = " ".join(_UNPRINTABLE.sub("", text).split())
    return _harmless(line).replace("\\", "\\\\").replace("|", "\\|")
