"""A run in CI: questions get their prepared answers, and GitHub a summary and lines beside the files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ralphy.cli.ci import annotation, is_github
from ralphy.cli.output import harmless, put
from ralphy.cli.report import report_now
from ralphy.cli.run import clarifying
from ralphy.cli.status.moments import minute
from ralphy.documents.report_text import in_markdown
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import ExitCode
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular
from ralphy.pipeline.decision import Rest
from ralphy.pipeline.events import Decided, Event, Listener, StoryFailed

_ANY = "*"
_MOST_SUMMARY = 900_000  # GitHub takes a megabyte


def with_answers(w: Workspace, prepared: Sequence[str], drive: Callable[[], Rest]) -> Rest:
    """Drive; and as often as that ends at a question which an answer is prepared for, again. Each is used once."""
    answers = dict(_pair(text) for text in prepared)
    used: set[str] = set()
    while True:
        rest = drive()
        if not answers or not _answer(w, answers, used):
            return rest


def _pair(text: str) -> tuple[str, str]:
    """(key, words) of `US-003: Blue`; what names nothing answers everything."""
    key, colon, words = text.partition(":")
    return (key.strip(), words.strip()) if colon and words.strip() else (_ANY, text.strip())


def _answer(w: Workspace, answers: dict[str, str], used: set[str]) -> bool:
    """Answer what is open in CLARIFICATIONS.md and QUESTIONS.md, as far as that is prepared. Was anything?"""

    def prepared_for(key: str) -> str:
        return "" if key in used else answers.get(key) or answers.get(_ANY, "")

    clarified = [one.id for one in clarifying.open_questions(w) if clarifying.answer(w, one.id, prepared_for(one.id))]
    wanted = {key: words for key in clarifying.open_keys(w) if (words := prepared_for(key))}
    answered = [*clarified, *clarifying.answer_in_questions(w, wanted)]
    for key in answered:
        w.say(f"answered the question of {key}, as ci.answers says: {prepared_for(key)}")
    used.update(answered)
    return bool(answered)


def telling_github(w: Workspace, listener: Listener) -> Listener:
    """The listener; in a workflow of GitHub, failures stand beside their files, and each rest leaves a summary."""
    if not is_github(os.environ):
        return listener
    reported: set[str] = set()

    def hear(event: Event) -> None:
        listener(event)
        if isinstance(event, StoryFailed):
            _annotate("error", event.reason, w.feature.in_repository("prd.json"), f"{event.story} failed")
        elif isinstance(event, Decided) and event.rests and event.reason not in reported:
            reported.add(event.reason)
            if event.exit_code == ExitCode.WAITING:
                _annotate("notice", event.reason, w.feature.path, f"{w.feature.name} waits for you")
            elif event.exit_code:
                _annotate("error", event.reason, w.feature.path, w.feature.name)
            _summarise(w)

    return hear


def _annotate(level: str, text: str, where: str, title: str) -> None:
    put(sys.stderr, f"{annotation(level, harmless(text), where, harmless(title))}\n")


def _summarise(w: Workspace) -> None:
    """Write the report into the job's summary, replacing an earlier one; an error of that is only a warning."""
    path = os.environ.get("GITHUB_STEP_SUMMARY", "")
    if not path:
        return
    begin, end = f"<!-- ralphy {w.feature.name} -->\n", f"<!-- end of ralphy {w.feature.name} -->\n"
    try:
        text = harmless(in_markdown(report_now(w, None), minute))[:_MOST_SUMMARY]
        before = (read_regular(Path(path)) or b"").decode("utf-8", "replace")
        preceding, _, rest = before.partition(begin)
        replace_file(Path(path), f"{preceding}{begin}{text}\n{end}{rest.partition(end)[2]}".encode("utf-8", "replace"),
                     durable=False)  # fmt: skip
    except Exception as error:
        w.say(f"warning: the summary could not be written: {error}")
