"""Markdown: code fences, headings, the items of lists, front matter, and text that Markdown shows unchanged."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# An item of a list: its indent, the mark in its box (None without one), its words.
ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?(\S.*)")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")
_FENCE_OUTSIDE_LISTS = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_MOST_OF_A_HEADING = 1000  # characters
_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\n((?:.*\n)*?)---[ \t]*(?:\n|\Z)")
# What would begin emphasis, a link, HTML, an entity or the next cell of a table.
_SPECIAL = re.compile(r"[\\*\[<|]|&(?=#?\w+;)")


def fences(lines: Iterable[str], *, in_lists: bool = True) -> Iterator[tuple[str, str]]:
    """(line, mark) in order: the mark of the code fence that the line opens, closes or stands in, "" outside of fences.

    A fence without an end goes on to the last line. With `in_lists`, a mark may stand behind any indent; without, it
    is what CommonMark takes for one outside of lists.
    """
    pattern = _FENCE if in_lists else _FENCE_OUTSIDE_LISTS
    opened = ""
    for line in lines:
        mark = _mark(pattern.match(line), opened)
        yield line, opened or mark
        if mark:
            opened = "" if opened else mark


def _mark(match: re.Match[str] | None, opened: str) -> str:
    """The mark of a line that opens a fence, or that closes the one that is `opened`; else nothing."""
    if match is None:
        return ""
    mark, info = match[1], match[2].strip()
    if opened:
        return mark if mark.startswith(opened) and not info else ""
    return "" if mark[0] == "`" and "`" in info else mark


def outside_fences(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """(number, line) of the lines that are not in a code fence."""
    return ((number, line) for number, (line, mark) in enumerate(fences(lines), 1) if not mark)


def heading(line: str) -> tuple[int, str] | None:
    """(level, title) of a heading that begins with `#`; None for any other line. A long title is cut."""
    match = _HEADING.fullmatch(line[:_MOST_OF_A_HEADING])
    return (len(match[1]), (match[2] or "").strip()) if match else None


def split_front_matter(text: str) -> tuple[str, str] | None:
    """(YAML, rest) of a text that begins with front matter, between two lines of `---`; None for any other text."""
    unix_text = text.replace("\r\n", "\n")
    match = _FRONT_MATTER.match(unix_text)
    return (match[1], unix_text[match.end() :]) if match else None


def escape_markdown(line: str) -> str:
    """A line that Markdown shows as it is, also in the cell of a table."""
    return _SPECIAL.sub(r"\\\g<0>", line)
