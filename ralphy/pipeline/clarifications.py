"""CLARIFICATIONS.md: what an agent asks before the specification, and what a person answers.

A question is a section `## Q1. Who may sign in?` with choices `- A. …` and a line `Answer:`. It is open while nothing
follows that line. All else that a person writes is prose, which the agent of the specification reads as well.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ralphy.errors import InvalidInput

DOCUMENT = "CLARIFICATIONS.md"

_SECTIONS = re.compile(r"^(?=## )", re.M)
_QUESTION = re.compile(r"## +(Q\d+)\b")
_ANSWER = re.compile(r"^[ \t*_]*answer[*_]*:[*_]*", re.M | re.I)
_CHOICE = re.compile(r"^[-*] +\**[A-Z][.:)]", re.M)


@dataclass(frozen=True, slots=True)
class Clarification:
    """A question: `id` is Q1, Q2, …; `text` is its section above the answer, with the choices."""

    id: str
    text: str
    is_open: bool


def read_clarifications(text: str) -> list[Clarification]:
    """The questions of the document, in their order."""
    return [one for section in _SECTIONS.split(text) if (one := _read(section))]


def _read(section: str) -> Clarification | None:
    head, answers = _QUESTION.match(section), list(_ANSWER.finditer(section))
    if not head:
        return None
    if not answers:
        return Clarification(head[1], section.removeprefix("## ").strip(), is_open=False)
    begin, end = answers[-1].span()  # a question may quote such a line; its own stands at the end
    return Clarification(head[1], section[:begin].removeprefix("## ").strip(), not section[end:].strip())


def open_questions(text: str) -> list[Clarification]:
    """The questions that nobody has answered."""
    return [one for one in read_clarifications(text) if one.is_open]


def require_questions(text: str, most: int) -> None:
    """Raises InvalidInput, with words for the agent, if its questions are not as agreed."""
    asked = read_clarifications(text)
    if len(asked) != len(_SECTIONS.split(text)) - 1:  # what stands before the first heading
        raise InvalidInput(f"{DOCUMENT} has a section that is not a question", hint="## Q1. Who may sign in?")
    if len(asked) > most:
        raise InvalidInput(f"{DOCUMENT} asks {len(asked)} questions; at most {most} are allowed",
                           hint="keep those whose answers lead to different products")  # fmt: skip
    for place, one in enumerate(asked):
        if one.id in {other.id for other in asked[:place]}:
            raise InvalidInput(f"{DOCUMENT}: {one.id} appears twice")
        if len(_CHOICE.findall(one.text)) < 2:
            raise InvalidInput(f"{DOCUMENT}: {one.id} needs at least two choices", hint="- A. words")
        if not one.is_open:
            raise InvalidInput(f"{DOCUMENT}: {one.id} needs a line `Answer:` at its end, with nothing after it")


def with_answer(text: str, question: str, words: str) -> str:
    """The document with an answer to an open question; unchanged if there is none of that id, or no words."""
    answer = re.sub(r"^(?=## )", " ", words.strip(), flags=re.M)  # no line of it begins a section
    answer = re.sub(r"^(?=[ \t*_]*answer[*_]*:)", "> ", answer, flags=re.M | re.I)  # or stands for the answer's own

    def answered(section: str) -> str:
        one = _read(section)
        if not (answer and one and one.is_open and one.id == question):
            return section
        return f"{section.rstrip()} {answer}\n\n"

    return "".join(map(answered, _SECTIONS.split(text)))
