"""A run in CI: the profile that the settings `ci` make, prepared answers to questions, and a summary for GitHub."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ralphy.cli.ci import annotation, is_ci
from ralphy.cli.options import Invocation
from ralphy.cli.output import harmless, put
from ralphy.cli.report import report_now
from ralphy.cli.run import clarifying
from ralphy.cli.status.moments import minute
from ralphy.config.load import load
from ralphy.config.values import Config
from ralphy.documents.questions import key_of
from ralphy.documents.report_text import in_markdown
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import ExitCode
from ralphy.files.atomic import replace_file
from ralphy.files.read import read_regular
from ralphy.pipeline.decision import Rest
from ralphy.pipeline.events import Decided, Event, Listener, StoryFailed

_ANY = "*"
_MOST_SUMMARY = 900_000  # GitHub takes a megabyte


def use_profile(call: Invocation, *, asked_for: bool, now: float) -> float | None:
    """Apply the profile if it is `asked_for`, or if this is CI and the settings have a section `ci`.

    Options of the command line override it. Gives when its time is over; None if it does not apply.
    """
    settings = load(call.repository().root, None, env=os.environ, flags=call.flags)
    is_set = any(name.startswith("ci.") and source != "default" for name, source in settings.sources.items())
    if not asked_for and not (is_set and is_ci(os.environ)):
        return None
    profile = settings.config.ci
    call.override({**flags_of(settings.config), **call.flags})
    _commit_as(profile.author)
    call.look_again()  # Git's environment has changed
    return now + profile.max_total_time


def _commit_as(author: str) -> None:
    """Have Git in this process commit as `Name <address>`; "" leaves it as it is configured."""
    name, _, address = author.removesuffix(">").partition(" <")
    os.environ.update({f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER")
                       for what, value in (("NAME", name), ("EMAIL", address)) if author})  # fmt: skip


def flags_of(config: Config) -> dict[str, object]:
    """The settings that the profile stands for. Limits only become lower, labels and reviewers only more."""
    ci, limits = config.ci, config.limits
    flags: dict[str, object] = {
        "limits.max_iterations": min(limits.max_iterations, ci.max_tasks),
        "timeouts.agent": min(config.timeouts.agent, ci.max_healing_time),
        "pr.labels": list(dict.fromkeys([*config.pr.labels, *ci.labels])),
        "pr.reviewers": list(dict.fromkeys([*config.pr.reviewers, *ci.reviewers])),
    }
    if ci.branch_prefix:
        flags["git.branch_prefix"] = ci.branch_prefix
    if ci.auto_merge:
        flags["pr.auto_merge"] = True
    if ci.auto_approve:
        flags |= {"gates.spec": "auto", "gates.qa": "auto"}
    if ci.auto_approve and not ci.answers:  # prepared answers come first; what they leave open waits
        flags["gates.clarify"] = "auto"
    return flags


def with_answers(w: Workspace, prepared: Sequence[str], drive: Callable[[], Rest]) -> Rest:
    """Drive, again after each rest at a question with a prepared answer. Each answer is used once."""
    answers = dict(_pair(text) for text in prepared)
    used: set[str] = set()
    while True:
        rest = drive()
        if not answers or not _answer(w, answers, used):
            return rest


def _pair(text: str) -> tuple[str, str]:
    """(key, words) of `US-003: Blue`; an answer without a key is for all questions."""
    key, colon, words = text.partition(":")
    return (key.strip(), words.strip()) if colon and words.strip() else (_ANY, text.strip())


def _answer(w: Workspace, answers: dict[str, str], used: set[str]) -> bool:
    """Write the prepared answers into CLARIFICATIONS.md and QUESTIONS.md; False if there was none to write."""

    def prepared_for(key: str) -> str:
        return "" if key in used else answers.get(key) or answers.get(_ANY, "")

    clarified = [one.id for one in clarifying.open_questions(w) if clarifying.answer(w, one.id, prepared_for(one.id))]
    open_keys = map(key_of, clarifying.asked_in_questions(w))
    wanted = {key: words for key in open_keys if (words := prepared_for(key))}
    answered = [*clarified, *clarifying.answer_in_questions(w, wanted)]
    for key in answered:
        w.say(f"answered the question of {key}, as ci.answers says: {prepared_for(key)}")
    used.update(answered)
    return bool(answered)


def telling_github(w: Workspace) -> Listener:
    """A listener that annotates failures in a workflow of GitHub, and writes a summary at each rest."""
    reported: set[str] = set()

    def hear(event: Event) -> None:
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
    """Write the report into the job's summary, in place of an earlier one; an error is only a warning."""
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
