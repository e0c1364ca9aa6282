"""QUESTIONS.md: the questions to a person about a story or a step, and the answers.

A section is headed `## US-003: title` for a story and `## spec step: SPEC.md` for a step; no story id holds a space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralphy.pipeline.model import Answer
from ralphy.text.plain_text import replace_unprintable

_SECTION = re.compile(r"^## ([A-Za-z0-9][A-Za-z0-9._-]*(?: step)?):[^\n]*\n(.*?)(?=^## |\Z)", re.M | re.S)
_ANSWER = re.compile(r"^[ \t*_]*answer[*_]*:[*_]*[ \t]*(.*)\Z", re.M | re.S | re.I)
_QUOTED = re.compile(r"^> ?(.*)$", re.M)
_STEP = " step"
_INTRO = "# Questions\n\nWrite after `Answer:` and save; the story or step then resumes.\n"


def step_key(step: str) -> str:
    """The heading of a step's question; a story's is its id."""
    return f"{step}{_STEP}"


def key_of(question: Answer) -> str:
    """The heading of a question: a story's id, or a step's key."""
    return step_key(question.step) if question.step else question.story


def asked(text: str, key: str, title: str, question: str) -> str:
    """QUESTIONS.md with an open question of a story or step, in place of an earlier one."""
    remaining = without(text, key) or _INTRO
    plain = replace_unprintable(question.strip(), "\n")
    quoted = "\n".join(f"> {line}".rstrip() for line in plain.split("\n")) if plain.strip() else "> (no words)"
    return f"{remaining.rstrip()}\n\n## {key}: {title}\n\n{quoted}\n\nAnswer:\n"


def without(text: str, key: str) -> str:
    """QUESTIONS.md without the section of a story or step."""
    return _SECTION.sub(lambda m: "" if m.group(1) == key else m.group(0), text)


def answered(text: str, key: str, answer: str) -> str:
    """QUESTIONS.md with an answer below the question of a story or step; unchanged if it has no question.

    No line of the answer can begin a section.
    """
    indented = re.sub(r"^(?=#)", " ", answer.strip(), flags=re.M)

    def put(section: re.Match[str]) -> str:
        match = _ANSWER.search(section.group(0))
        if section.group(1) != key or not match:
            return section.group(0)
        return f"{section.group(0)[: match.start(1)].rstrip()} {indented}\n\n"

    return _SECTION.sub(put, text)


def open_questions(text: str) -> tuple[Answer, ...]:
    """The questions that have no answer yet."""
    return tuple(answer for answer in _sections(text) if not answer.text)


def answers(text: str) -> tuple[Answer, ...]:
    """The questions that have an answer after `Answer:`."""
    return tuple(answer for answer in _sections(text) if answer.text)


def unanswered_steps(text: str) -> frozenset[str]:
    """The steps whose question has no answer yet."""
    return frozenset(answer.step for answer in _sections(text) if answer.step and not answer.text)


def _sections(text: str) -> Iterator[Answer]:
    for key, body in _SECTION.findall(text):
        match = _ANSWER.search(body)
        asked_for = "\n".join(_QUOTED.findall(body[: match.start()] if match else body)).strip()
        step = key.removesuffix(_STEP) if key.endswith(_STEP) else ""
        yield Answer("" if step else key, match.group(1).strip() if match else "", asked_for, step)
