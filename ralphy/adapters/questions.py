"""QUESTIONS.md: what only a person can decide about a story, and what was answered."""

from __future__ import annotations

import re

from ralphy.core.model import Answer

_SECTION = re.compile(r"^## ([A-Za-z0-9][A-Za-z0-9._-]*):[^\n]*\n(.*?)(?=^## |\Z)", re.M | re.S)
_ANSWER = re.compile(r"^[ \t*_]*answer[*_]*:[*_]*[ \t]*(.*)\Z", re.M | re.S | re.I)


def asked(text: str, story: str, title: str, question: str) -> str:
    """QUESTIONS.md with an open question for a story; an earlier section of that story is replaced."""
    kept = without(text, story) or "# Questions\n\nWrite behind `Answer:` and save; the story is taken up again.\n"
    plain = "".join(c if c.isprintable() or c == "\n" else " " for c in question.strip())
    quoted = "\n".join(f"> {line}".rstrip() for line in plain.split("\n")) if plain.strip() else "> (no words)"
    return f"{kept.rstrip()}\n\n## {story}: {title}\n\n{quoted}\n\nAnswer:\n"


def without(text: str, story: str) -> str:
    """QUESTIONS.md without a story's section."""
    return _SECTION.sub(lambda m: "" if m.group(1) == story else m.group(0), text)


def answers(text: str) -> tuple[Answer, ...]:
    """What was written behind `Answer:`, story by story."""
    found = []
    for story, body in _SECTION.findall(text):
        said = _ANSWER.search(body)
        if said and said.group(1).strip():
            found.append(Answer(story, said.group(1).strip()))
    return tuple(found)
