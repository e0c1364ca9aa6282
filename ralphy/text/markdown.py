"""Markdown, line by line: the lines outside of code fences, and the items of lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

# An item of a list: its indent, the mark in its box (None without one), its words.
ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?(\S.*)")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})(.*)")


def outside_fences(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """(number, line) of the lines outside of code fences; a fence that nothing closes goes on to the end."""
    fence = ""
    for number, line in enumerate(lines, 1):
        mark = _FENCE.match(line)
        if fence:
            is_end = mark is not None and mark[1].startswith(fence) and not mark[2].strip()
            fence = "" if is_end else fence
        elif mark:
            fence = mark[1]
        else:
            yield number, line
