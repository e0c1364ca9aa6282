"""The section of SPEC.md that a story comes from."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ralphy.text.markdown import heading, outside_fences

_LINE_END = re.compile(r"\r+\n")


def pick_spec_section(spec: str, story_id: str, parent_spec: str | None = None) -> str:
    """The section of SPEC.md that a story comes from; "" if there is none.

    It is the one with the anchor of `parent_spec` ("SPEC.md#us-003-title"), else the first whose heading has the id. A
    section ends at the next heading of its level or above.
    """
    lines = _LINE_END.sub("\n", spec).split("\n")
    headings = list(_headings(lines))
    anchor = _slug((parent_spec or "").partition("#")[2])
    named = next((h for h, slug in zip(headings, _anchors(headings), strict=True) if anchor and slug == anchor), None)
    named = named or (_naming(headings, story_id) if story_id else None)
    if named is None:
        return ""
    start, level_of_section, _ = named
    end = next((at for at, level, _ in headings if at > start and level <= level_of_section), len(lines))
    return "\n".join(lines[start:end]).strip("\n")


def _naming(headings: Sequence[tuple[int, int, str]], story_id: str) -> tuple[int, int, str] | None:
    """The first heading that has an id."""
    pattern = re.compile(rf"(?<![\w-]){re.escape(story_id)}(?![\w-])", re.IGNORECASE)
    return next((named for named in headings if pattern.search(named[2])), None)


def _headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """(line index, level, title) of every heading outside code fences."""
    for number, line in outside_fences(lines):
        if parts := heading(line):
            yield number - 1, *parts


def _slug(title: str) -> str:
    """The anchor of a heading; an anchor stays the same, in lower case."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def _anchors(headings: Sequence[tuple[int, int, str]]) -> Iterator[str]:
    """The anchors that GitHub gives to the headings; a repeated title gets a number."""
    counts: dict[str, int] = {}
    for _, _, title in headings:
        slug = _slug(title)
        count = counts.get(slug, 0)
        counts[slug] = count + 1
        yield f"{slug}-{count}" if count else slug
