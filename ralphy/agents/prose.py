"""What a last message without a report seems to say: a guess for people and the evidence, never a verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_DONE = re.compile(
    r"\b(?:(?:tests?|checks) (?:pass|are green)|implemented|completed?|done|finished|works|verified)\b", re.I
)  # fmt: skip
_DOUBT = re.compile(
    r"\b(?:not|never|todo|fixme|unable|un(?:finished|implemented)|cannot|fail(?:s|ed|ing|ures?)?|errors?|stuck|blocked|"
    r"remain(?:s|ing)|still|incomplete|partial(?:ly)?|broken|next steps?)\b|[a-z]{2,8}n't\b", re.I,
)  # fmt: skip
_BASE, _FOR, _AGAINST, _MOST = 0.5, 0.1, 0.2, 0.8  # prose is never as sure as a report
_MOST_READ, _MOST_LINES, _MOST_ASKED = 4000, 20, 1000


def confidence(lines: Iterable[str]) -> float:
    """How sure the text seems, 0 to 1, that the work is done; what is negated speaks against it."""
    text = "\n".join(lines)[-_MOST_READ:]
    if not text.strip():
        return 0.0
    doubts = len({found.group().lower() for found in _DOUBT.finditer(text)})
    signs = len({found.group().lower() for found in _DONE.finditer(text)})
    return round(max(0.0, min(_MOST, _BASE + _FOR * signs - _AGAINST * doubts)), 2)


def closing_question(lines: Sequence[str]) -> str:
    """The last paragraph, if the message ends with a question; else ""."""
    last: list[str] = []
    for line in reversed(lines[-_MOST_LINES:]):
        if line.strip():
            last.insert(0, line.strip())
        elif last:
            break
    ends = last[-1][-100:].rstrip("*_` ") if last else ""
    return "\n".join(last)[-_MOST_ASKED:] if ends.endswith("?") else ""
