"""The text of a pull request: an agent's prose, made harmless, and the evidence that Ralphy adds.

Agents' prose must not ping people or close issues. An invisible zero-width space in such words (after the @ of a
mention, after the first letter of a closing keyword) breaks them in any context. Backticks around them do not: one
unpaired backtick before them turns the code span inside out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ralphy.errors import InvalidInput
from ralphy.text.markdown import escape_markdown, fences, heading
from ralphy.text.plain_text import one_line, without_controls

MAX_TITLE = 120
MAX_BODY = 60_000
MAX_ROWS = 200
MAX_NOTES = 50
MAX_NOTE = 400
CUT_NOTE = "\n\n*Cut: the text exceeds the limit of a pull request.*\n"

_BREAK = "\u200b"
# GitHub looks for mentions in the rendered text, where an entity has become an @.
_MENTION = re.compile(r"(?<![A-Za-z0-9])(@|&#0*64;|&#x0*40;|&commat;)(?=[A-Za-z0-9&])", re.IGNORECASE)
_REFERENCE = r"(?:[\w.-]+/[\w.-]+)?(?:#|GH-|https?://)"
_CLOSING = re.compile(rf"\b([cfr])((?:lose[sd]?|ix(?:e[sd])?|esolve[sd]?)\b(?=[\s:*_(\[]+{_REFERENCE}))", re.IGNORECASE)
_HTML_BLOCK = re.compile(r"^ {0,3}<[A-Za-z/!?]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PullRequestText:
    """`title` is one line of at most 120 characters, `body` Markdown of at most 60,000."""

    title: str
    body: str


@dataclass(frozen=True, slots=True)
class StoryEvidence:
    """A story's row: `checks` are (name, seconds), `files` is the number of changed files, `lines` of lines (`+41 -3`).

    `tests` has the number of tests before and after, `notes` the warnings of its evidence, `unproved` the lines that no
    test needs. `is_unverified` says that no check had anything to run.
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

    Raises InvalidInput if there is no title.
    """
    lines = without_controls(markdown.replace("\r\n", "\n")).strip("\n").split("\n")
    at = _title_line(lines)
    title = " ".join(neutralise(_bare(lines[at])).split())
    if not title:
        raise InvalidInput("the pull request's text has no title", hint="start PR.md with a `# title` line")
    body = neutralise("\n".join(lines[:at] + lines[at + 1 :])).strip("\n")
    return PullRequestText(_short(title, MAX_TITLE), _cut(body, MAX_BODY))


def with_evidence(text: PullRequestText, table: str) -> PullRequestText:
    """`text` with the evidence below it; if both are too long, the prose is cut."""
    room = MAX_BODY - len(table) - len("\n\n")
    return replace(text, body=f"{_cut(text.body, max(room, len(CUT_NOTE)))}\n\n{table}"[:MAX_BODY])


def evidence_table(rows: Sequence[StoryEvidence], read_first: Sequence[str] = ()) -> str:
    """A Markdown table with a row per story (at most 200) and the totals; below it the flags (at most 50).

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

    Fenced code stays as it is: decorators look like mentions, and GitHub looks for none there. With raw HTML, which
    could turn a fence into something else, all of the text is changed.
    """
    if _HTML_BLOCK.search(markdown):
        return _harmless(markdown)
    parts = groupby(fences(markdown.splitlines(keepends=True), in_lists=False), key=lambda row: bool(row[1]))
    texts = ((is_code, "".join(line for line, _ in rows)) for is_code, rows in parts)
    return "".join(text if is_code else _harmless(text) for is_code, text in texts)


def _harmless(prose: str) -> str:
    return _unlinked(_without_comments(prose).replace("<!--", "&lt;!--"))


def _unlinked(text: str) -> str:
    """The text with its mentions and closing keywords broken."""
    return _CLOSING.sub(rf"\1{_BREAK}\2", _MENTION.sub(f"@{_BREAK}", text))


def _without_comments(text: str) -> str:
    parts, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts.append(text[at:start])
        at = end + len("-->")
    return "".join(parts) + text[at:]


def _title_line(lines: Sequence[str]) -> int:
    marked = enumerate(fences(lines, in_lists=False))
    titles = (at for at, (line, mark) in marked if not mark and _is_title(line))
    written = (at for at, line in enumerate(lines) if line.strip())
    return next(titles, next(written, 0))


def _is_title(line: str) -> bool:
    parts = heading(line)
    return parts is not None and parts[0] == 1


def _bare(line: str) -> str:
    _, title = heading(line) or (0, line.strip().lstrip("#"))
    return title.strip(" \t*_")


def _short(text: str, size: int) -> str:
    return text if len(text) <= size else text[: size - 1].rstrip() + "…"


def _cut(body: str, size: int) -> str:
    if len(body) <= size:
        return body
    head = body[: max(size - len(CUT_NOTE) - len("\n~~~~"), 0)]
    head = head[: head.rfind("\n") + 1].rstrip("\n") or head
    *_, (_, opened) = fences([*head.split("\n"), ""], in_lists=False)
    return head + (f"\n{opened}" if opened else "") + CUT_NOTE


def _row(row: StoryEvidence) -> str:
    checks = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in row.checks[:10])
    doubt = "unverified" if row.is_unverified else ""
    checks = "; ".join(part for part in (doubt, _short(checks, 120), row.tests) if part)
    name = _cell(f"{row.id} {_short(row.title, 80)}")
    return f"| {name} | {row.attempts} | ${row.cost_usd:.2f} | {_cell(checks)} | {row.files} | {row.lines} |"


def _cell(text: str) -> str:
    """Text for a cell, which shows it literally."""
    return escape_markdown(_unlinked(one_line(text)))
