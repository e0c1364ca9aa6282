"""Questions before the specification: `ralphy clarify`, and answers that Ralphy writes for a person."""

from __future__ import annotations

from collections.abc import Mapping

import click

from ralphy.cli.options import Invocation, feature_argument, with_options
from ralphy.documents import questions
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import Conflict, ExitCode
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular
from ralphy.pipeline import clarifications
from ralphy.pipeline.clarifications import DOCUMENT, Clarification
from ralphy.pipeline.model import Answer
from ralphy.pipeline.steps.clarify import CLARIFY

QUESTIONS = "QUESTIONS.md"


def open_questions(w: Workspace) -> list[Clarification]:
    """The unanswered questions in the feature folder."""
    return clarifications.open_questions(_text(w))


def answer(w: Workspace, question: str, words: str) -> bool:
    """Write the answer below an open question; False if that changes nothing."""
    before = _text(w)
    text = clarifications.with_answer(before, question, words)
    if text == before:
        return False
    replace_file(w.feature.file(DOCUMENT), text.encode("utf-8", "surrogateescape"), durable=False)
    return True


def asked_in_questions(w: Workspace) -> tuple[Answer, ...]:
    """The questions in QUESTIONS.md that have no answer yet."""
    return questions.open_questions(_text(w, QUESTIONS))


def answer_in_questions(w: Workspace, words: Mapping[str, str]) -> list[str]:
    """Write each answer below the open question of its story or step; gives those that were answered."""
    text = _text(w, QUESTIONS)
    keys = [key for one in questions.open_questions(text) if (key := questions.key_of(one)) in words]
    for key in keys:
        text = questions.answered(text, key, words[key])
    if keys:
        replace_file(w.feature.file(QUESTIONS), text.encode("utf-8", "surrogateescape"), durable=False)
    return keys


def _text(w: Workspace, name: str = DOCUMENT) -> str:
    return (read_regular(w.feature.file(name)) or b"").decode("utf-8", "surrogateescape")


@click.command("clarify")
@feature_argument
@with_options
def clarify(call: Invocation, feature: str | None) -> int:
    """An agent asks, whatever clarify.ask says; the questions without an answer are shown. Answer in CLARIFICATIONS.md.
    The specification waits until each question has an answer, or is left to the agents by `ralphy approve`.
    """
    from ralphy.cli.run.drivers import drive

    with call.workspace(feature) as w:
        name, has_spec = w.feature.name, w.feature.file("SPEC.md").exists()
    if has_spec:
        raise Conflict(f"SPEC.md of {name} is written", hint=f"ask before the next one: ralphy redo spec {name}")
    code = drive(call, name, CLARIFY.name, {}, asks=False)
    if code != ExitCode.DONE:
        return code
    with call.workspace(name) as w:
        unanswered, at = open_questions(w), w.feature.in_repository(DOCUMENT)
        answer_in = f"write after each `Answer:` in {w.feature.typed}/{DOCUMENT}"
    following = f"{answer_in}, then: ralphy loop {name}" if unanswered else f"ralphy loop {name}"
    text = "\n\n".join(
        [*(one.text for one in unanswered), f"next: {following}" if unanswered else f"nothing is open: {following}"]
    )
    rows = [{"id": one.id, "question": one.text} for one in unanswered]
    return call.output.answer("clarify", text, feature=name, document=at, questions=rows, next=following)
