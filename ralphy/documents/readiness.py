"""Does a PRD.md say enough for an agent to be paid: a title, and what is wanted?"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ralphy.text.markdown import ITEM, outside_fences

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_UNDERLINE = re.compile(r" {0,3}=+\s*")  # the other way to write a title
_OBJECTIVE = re.compile(
    r"\b(?<!non-)(?<!non )(?:objecti(?:ve|f)s?|goals?|purpose|aims?|buts?|overview|summary|introduction|problem|vision|"
    r"motivation|description|background|ziele?|zweck|objetivos?|obiettiv[oi])\b", re.I,
)  # fmt: skip


@dataclass(slots=True)
class _Section:
    """A heading, and how many lines of paragraphs and lists stand directly below it; level 0 is above all headings."""

    line: int
    level: int
    heading: str
    paragraphs: int = 0
    items: int = 0


def faults(text: str) -> list[str]:
    """What a PRD.md lacks, as sentences behind their lines; nothing for one that is ready."""
    sections = _sections(text)
    title = next((section for section in sections if section.level == 1), None)
    found = []
    if title is None or not title.heading:
        found.append(f'{title.line if title else 1}: no title: begin with "# " and what is wanted')
    if line := _without_objective(sections, title):
        found.append(f'{line}: no objective: write below "## Objective" what is wanted, and for whom')
    return found


def _without_objective(sections: list[_Section], title: _Section | None) -> int:
    """The line where an objective is missing: no section has one of its names, no paragraph is below the title."""
    if title and title.paragraphs:
        return 0
    named = [n for n, section in enumerate(sections) if section is not title and _OBJECTIVE.search(section.heading)]
    if any(_has_text(sections[number:]) for number in named):
        return 0
    return sections[named[0] if named else -1].line


def _has_text(sections: list[_Section]) -> bool:
    """Is anything said in the first section, or in those below it?"""
    first, *others = sections
    end = next((n for n, other in enumerate(others) if other.level <= first.level), len(others))
    return any(section.paragraphs or section.items for section in (first, *others[:end]))


def _sections(text: str) -> list[_Section]:
    """The document by its headings; comments and code blocks are left out."""
    found = [_Section(1, 0, "")]
    paragraph = ""
    plain = re.sub(r"<!--.*?-->", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.S)
    for number, line in outside_fences(plain.splitlines()):
        before, paragraph = paragraph, ""
        if heading := _HEADING.fullmatch(line):
            found.append(_Section(number, len(heading[1]), (heading[2] or "").strip()))
        elif before and _UNDERLINE.fullmatch(line):
            found[-1].paragraphs -= 1
            found.append(_Section(number - 1, 1, before))
        elif ITEM.fullmatch(line):
            found[-1].items += 1
        elif paragraph := line.strip():
            found[-1].paragraphs += 1
    return found
