"""What the words of a message say about the work: signs that it is done, words of unfinished work, a question."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Kind -> words; a kind counts once. Fields of a report have the same kinds.
_SIGNS = {
    "done": r"done|finished|completed?",
    "implemented": r"implemented",
    "tests pass": r"(?:tests?|checks?|suite)(?: \w+){0,2} (?:pass(?:es|ed)?|green)",
    "criteria met": r"(?:criteri(?:on|a)|requirements?)(?: \w+){0,3} (?:met|satisfied|fulfilled)",
    "works": r"works",
    "verified": r"verified|tested",
}
_DONE = {kind: re.compile(rf"\b(?:{words})\b", re.I) for kind, words in _SIGNS.items()}
_LEFT = r"remain(?:s|ing)?|left|todos?|fixmes?|fail(?:s|ed|ing|ures?)?"
_NOT_DONE = r"yet|all|every|fully|able|(?:\w+ )?(?:done|finish\w*|complet\w*|implement\w*|test\w*|pass\w*|work\w*|met)"
_UNFINISHED = re.compile(
    rf"\b(?:(?:not|\w+n't) (?:{_NOT_DONE})|(?:could|can|have|has) ?not|(?:could|ca|have|has|wo)n't|unable|"
    r"(?:tests?|checks?|suite)(?: \w+){0,2} fail(?:s|ed|ing)?|no (?:\w+ )?(?:tests?|checks?) (?:pass|ran)|"
    r"un(?:finished|implemented)|incomplete|partial(?:ly)?|(?<!as )parts? of|half of|stuck|blocked|broken|todo|fixme|"
    r"remains?|remaining (?:work|tasks?|steps?|criteria)|left to|still(?! (?:pass|green|work|hold))|later|"
    r"continu(?:e|ing)|next steps?|will (?:now )?(?:finish|complete|implement)|needs? to be|work in progress|wip)\b",
    re.I,
)
_NOTHING_LEFT = re.compile(rf"\b(?:no|nothing|none|0|zero|without)(?: \w+){{0,2}} (?:{_LEFT})\b", re.I)
_MOST_READ, _MOST_LINES, _MOST_ASKED = 4000, 20, 1000


def signs_of(text: str) -> list[str]:
    """The kinds of words that say that the work is done."""
    return [kind for kind, words in _DONE.items() if words.search(text[-_MOST_READ:])]


def unfinished_words(text: str) -> list[str]:
    """The words that speak of work to be done; "nothing is left" does not."""
    plain = _NOTHING_LEFT.sub("", text[-_MOST_READ:].replace("\u2019", "'"))
    return list(dict.fromkeys(match[0].lower() for match in _UNFINISHED.finditer(plain)))


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
