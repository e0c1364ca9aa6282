"""Is a PRD.md ready for an agent to be paid? What is missing, vague, open or contradictory, each with its line.

Only a missing title or objective stops a run. Everything else is a remark: it is said where words alone are certain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?:\[[ xX]\]\s+)?(.*)")
_FENCE = re.compile(r" {0,3}(```|~~~)")
_OBJECTIVE = re.compile(
    r"\b(?<!non-)(?<!non )(?:objecti(?:ve|f)s?|goals?|purpose|aims?|buts?|overview|summary|introduction|problem|vision|"
    r"motivation|description|background|ziele?|zweck|objetivos?|obiettiv[oi])\b", re.I,
)  # fmt: skip
_SCOPE = re.compile(r"scope|non-?goals?|périmètre|perimetre|hors|exclu|limits?|constraints?", re.I)
_OUTSIDE = re.compile(r"non-?goals?|out of scope|not in scope|hors|exclu", re.I)
_OPEN = re.compile(r"\b(TODO|TBD|TBC|FIXME|XXX)\b|\?\?\?")
_VAGUE = re.compile(
    r"\b(fast|quick|quickly|easy|easily|user[- ]friendly|intuitive|intuitively|robust|nice|nicely|modern|seamless|"
    r"seamlessly|efficient|efficiently|scalable|flexible|appropriate|appropriately|reasonable|reasonably|properly|"
    r"as needed|if possible|and so on|etc)\b",
    re.I,
)
_CONCRETE = re.compile(r"\d|`|\"|“")
_NOT = re.compile(r"\b(?:not|never|no|cannot|can't|doesn't|don't|won't)\b")
_NUMBER = re.compile(r"\b(?:\d+(?:[.,]\d+)*|one|two|three|four|five|six|seven|eight|nine|ten|twelve)\b")
_FILLER = re.compile(r"\b(?:does|do|is|are|must|shall|should|will|may|can|it|the|an?)\b|[^\w\s]")
_MOST_ITEMS, _MOST_WORDS = 40, 3000


@dataclass(frozen=True, slots=True)
class Remark:
    """What is to be said of a line; `stops` if no agent should be paid before it is mended."""

    line: int
    said: str
    stops: bool = False


@dataclass(slots=True)
class _Text:
    """A PRD.md taken apart: headings as (line, level, words), items and prose as (line, words, section)."""

    headings: list[tuple[int, int, str]] = field(default_factory=list)
    items: list[tuple[int, str, str]] = field(default_factory=list)
    prose: list[tuple[int, str, str]] = field(default_factory=list)


def remarks(text: str) -> list[Remark]:
    """What a PRD.md lacks, by line; nothing for one that is ready."""
    parts = _taken_apart(text)
    found = [*_title(parts), *_objective(parts), *_scope(parts), *_criteria(parts), *_open(parts)]
    found += [*_contradictions(parts.items), *_size(text, parts)]
    return sorted(found, key=lambda remark: (not remark.stops, remark.line))


def faults(text: str) -> list[str]:
    """What stops a run, as sentences with their lines."""
    return [f"{remark.line}: {remark.said}" for remark in remarks(text) if remark.stops]


def _taken_apart(text: str) -> _Text:
    parts, section, fence, last = _Text(), "", "", ""
    plain = re.sub(r"<!--.*?-->", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.S)
    for number, line in enumerate(plain.splitlines(), 1):
        marked = _FENCE.match(line)
        if marked or fence:
            fence = "" if marked and fence == marked[1] else fence or (marked[1] if marked else "")
            continue
        if heading := _HEADING.fullmatch(line):
            section = (heading[2] or "").strip()
            parts.headings.append((number, len(heading[1]), section))
        elif last and re.fullmatch(r" {0,3}=+\s*", line):  # the other way to write a title
            parts.headings.append((number - 1, 1, last))
            parts.prose.pop()
        elif item := _ITEM.fullmatch(line):
            parts.items.append((number, item[1].strip(), section))
        elif line.strip():
            parts.prose.append((number, line.strip(), section))
        last = line.strip() if parts.prose and parts.prose[-1][0] == number else ""
    return parts


def _title(parts: _Text) -> Iterator[Remark]:
    title = next(((line, words) for line, level, words in parts.headings if level == 1), None)
    if title is None or not title[1]:
        yield Remark(title[0] if title else 1, 'no title: begin with "# " and what is wanted', stops=True)


def _objective(parts: _Text) -> Iterator[Remark]:
    """A section says what is wanted, under whatever word for it, or a paragraph right below the document's title."""
    title = next((line for line, level, _ in parts.headings if level == 1), 0)
    second = next((line for line, _, _ in parts.headings if line > title), None)
    if title and any(title < line and (second is None or line < second) for line, _, _ in parts.prose):
        return
    titled = [(line, level) for line, level, said in parts.headings if line != title and _OBJECTIVE.search(said)]
    if any(_has_text(parts, line, level) for line, level in titled):
        return
    at = titled[0][0] if titled else parts.headings[-1][0] if parts.headings else 1
    yield Remark(at, 'no objective: write below "## Objective" what is wanted, and for whom', stops=True)


def _has_text(parts: _Text, begin: int, level: int) -> bool:
    """Is anything said in this section, or in those below it?"""
    end = next((line for line, other, _ in parts.headings if line > begin and other <= level), None)
    return any(
        words and begin < line and (end is None or line < end) for line, words, _ in (*parts.items, *parts.prose)
    )


def _scope(parts: _Text) -> Iterator[Remark]:
    if parts.headings and not any(_SCOPE.search(words) for _, _, words in parts.headings):
        yield Remark(parts.headings[-1][0], "nothing on scope or non-goals: say what is not to be built")


def _criteria(parts: _Text) -> Iterator[Remark]:
    if not parts.items and (parts.headings or parts.prose):
        line = (parts.prose or parts.headings)[-1][0]
        yield Remark(line, "no list of what must hold: one item for each, so that a test can show it")
    for line, words, _ in parts.items:
        vague = _VAGUE.search(words)
        if vague and not _CONCRETE.search(words):
            yield Remark(line, f'no test can show "{vague[1]}": give a number or an example')


def _open(parts: _Text) -> Iterator[Remark]:
    for line, words, _ in (*parts.items, *parts.prose):
        if mark := _OPEN.search(words):
            yield Remark(line, f"{mark[0]} is still open")


def _contradictions(items: Sequence[tuple[int, str, str]]) -> Iterator[Remark]:
    """Items that differ in nothing but a negation or a number, or that are both wanted and excluded."""
    seen: dict[str, tuple[int, str, bool]] = {}
    for line, words, section in items:
        lower = words.lower()
        bare = " ".join(_NUMBER.sub("#", _FILLER.sub(" ", _NOT.sub(" ", lower.replace("n't", "n not")))).split())
        numbers = " ".join(_NUMBER.findall(lower))
        is_denied = bool(_NOT.search(lower)) != bool(_OUTSIDE.search(section))
        if len(bare) < 8:
            continue
        before = seen.setdefault(bare, (line, numbers, is_denied))
        if before[0] == line:
            continue
        if before[2] != is_denied:
            yield Remark(line, f"says the opposite of line {before[0]}")
        elif before[1] != numbers:
            yield Remark(line, f"differs from line {before[0]} in a number alone")


def _size(text: str, parts: _Text) -> Iterator[Remark]:
    words = len(text.split())
    if len(parts.items) > _MOST_ITEMS or words > _MOST_WORDS:
        yield Remark(1, f"is large ({len(parts.items)} items, {words} words): several features are done more surely")
