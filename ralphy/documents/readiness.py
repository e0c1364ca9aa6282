"""Is a PRD.md ready for an agent? It needs a title and an objective."""

from __future__ import annotations

import re

from ralphy.errors import InvalidInput
from ralphy.text.markdown import ITEM, heading, outside_fences

_UNDERLINED = re.compile(r"^(\S.*)\n {0,3}=+[ \t]*$", re.M)  # the other way to write a title
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_OBJECTIVE = re.compile(
    r"\b(?<!non-)(?<!non )(?:objecti(?:ve|f)s?|goals?|purpose|aims?|buts?|overview|summary|introduction|problem|vision|"
    r"motivation|description|background|ziele?|zweck|objetivos?|obiettiv[oi])\b", re.I,
)  # fmt: skip


def require_ready(text: str, where: str) -> None:
    """Raises InvalidInput with the file and line of each thing that a PRD.md lacks."""
    if missing := faults(text):
        raise InvalidInput("\n".join(f"{where}:{fault}" for fault in missing),
                           hint=f'edit {where}: "# Title", then "## Objective" with what is wanted')  # fmt: skip


def faults(text: str) -> list[str]:
    """A sentence with its line (`1: no title: …`) for each thing that a PRD.md lacks."""
    missing = []
    title_at, title = next(((line, words) for line, level, words, _ in _sections(text) if level == 1), (1, ""))
    if not title:
        missing.append(f'{title_at}: no title: begin with "# " and what is wanted')
    if line := _without_objective(text):
        missing.append(f'{line}: no objective: write below "## Objective" what is wanted, and for whom')
    return missing


def _without_objective(text: str) -> int:
    """The line where an objective is missing; 0 if there is text in a section with one of its names, or a paragraph
    below the title."""
    named = inside = last = 0
    has_title = False
    for line, level, words, below in _sections(text):
        last = line
        is_title, has_title = level == 1 and not has_title, has_title or level == 1
        if is_title and any(not ITEM.fullmatch(one) for one in below):
            return 0
        inside = inside if level > inside else 0
        if not is_title and _OBJECTIVE.search(words):
            named, inside = named or line, inside or level
        if inside and below:
            return 0
    return named or last


def _sections(text: str) -> list[tuple[int, int, str, list[str]]]:
    """(line, level, heading, lines below it) of each section, without comments and code; level 0 is above all."""
    sections: list[tuple[int, int, str, list[str]]] = [(1, 0, "", [])]
    plain = _UNDERLINED.sub(r"# \1\n", _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text))
    for number, line in outside_fences(plain.splitlines()):
        if parts := heading(line):
            sections.append((number, *parts, []))
        elif line.strip():
            sections[-1][3].append(line)
    return sections
