"""story list|next|show|add|start|done|fail|reset (also as tasks …): prd.json from the command line.

A change is made as the engine makes its own: under the lock, validated, committed if the feature has a branch. A
person's word alone completes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from ralphy.cli.group import Group
from ralphy.cli.options import (
    Invocation,
    WholeNumber,
    feature_argument,
    for_each,
    named_story,
    stories_begun,
    with_options,
)
from ralphy.cli.status.lines import story_line
from ralphy.cli.status.look import standing
from ralphy.cli.stories.changes import stories_changed
from ralphy.documents.criteria import Item
from ralphy.documents.review import boxes, known_answers
from ralphy.engine.person.accept import accept
from ralphy.engine.view.observe import observe
from ralphy.engine.view.status import status_of
from ralphy.engine.view.view import render_tasks
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import ExitCode, NotFound
from ralphy.git import ledger
from ralphy.git.ledger import KeptAttempt, StoryCommit
from ralphy.pipeline.model import Prd, Story
from ralphy.pipeline.parts import parts_in_words, with_parts
from ralphy.pipeline.stories import asks_only, next_ready, shown_status, warnings_of, why_stuck
from ralphy.pipeline.story_changes import StoryChange, Verb, find_story, require_dependencies
from ralphy.pipeline.verification import asked_of, verified_by

story_argument = click.argument("story_id", metavar="STORY", shell_complete=stories_begun)


@click.group("story", cls=Group, otherwise="list", also={"create": "add", "complete": "done"})
def story() -> None:
    """STORY is an id, or feature/id."""


tasks = story


@story.command("list")
@feature_argument
@with_options
def list_(call: Invocation, feature: str | None) -> int:
    """List the stories and their status, of every open feature."""
    names = call.meant(feature)

    def show(name: str | None) -> int:
        value = standing(call, name)
        heading: list[str] = [f"{name}:"] if len(names) > 1 else []
        lines: list[str] = list(map(story_line, value["stories"])) or [f"{value['feature']} has no stories yet"]
        return call.output.answer("story-list", [*heading, *lines], feature=value["feature"], stories=value["stories"])

    return for_each(call, names, show)


@story.command("next")
@feature_argument
@with_options
def next_(call: Invocation, feature: str | None) -> int:
    """Show the next story; where there is none, 10 if it waits for an answer, 11 if stories have failed."""
    with call.seen(feature) as (_, s):
        prd, name = s.prd, s.feature
    if not prd.stories:
        raise NotFound(f"{name} has no stories yet", hint=f"ralphy why {name}")
    ready = next_ready(prd)
    stuck = why_stuck(prd)
    message = f"{ready.id} {ready.title}" if ready else stuck or "all stories are completed"
    over = ExitCode.WAITING if asks_only(prd) else ExitCode.STORIES_OPEN
    code = ExitCode.DONE if ready or not stuck else over
    row = ready.raw if ready else None
    return call.output.answer("story-next", message, code, feature=name, story=row, said=message)


@story.command("show")
@story_argument
@feature_argument
@with_options
def show(call: Invocation, story_id: str, feature: str | None) -> int:
    """Show a story: its fields, evidence, commit and kept attempts. Several features may have one of that id."""
    story_id, feature = named_story(call, story_id, feature)
    names = call.meant(feature)
    holding = features_with(call, names, story_id)
    return for_each(call, holding, lambda name: _show(call, name, story_id, is_one=len(names) == 1))


def features_with(call: Invocation, names: Sequence[str | None], story_id: str) -> list[str | None]:
    """The features that have the story. Raises NotFound if none has it."""
    holding = []
    for name in names:
        with call.seen(name) as (_, s):
            if len(names) == 1:
                find_story(s.prd, story_id, s.feature)
            holding += [name] if any(one.id == story_id for one in s.prd.stories) else []
    if not holding:
        raise NotFound(f"no open feature has a story {story_id!r}", hint="ralphy story list")
    return holding


def _show(call: Invocation, feature: str | None, story_id: str, *, is_one: bool) -> int:
    with call.seen(feature) as (w, s):
        prd, name = with_parts(s.prd), s.feature
        story = find_story(prd, story_id, name)
        commit = ledger.story_commits(w.repository, name, s.tree.head).get(story.id)
        attempts = ledger.kept_attempts(w.repository, name, story.id)
    status = shown_status(prd)[story.id]
    heading = [] if is_one else [f"{name}:"]
    lines = [*heading, *_described(prd, story, status, commit, attempts)]
    return call.output.answer(
        "story", "\n".join(lines), feature=name, story=story.raw, status=status,
        commit=_commit(commit), kept_attempts=[attempt.ref for attempt in attempts],
    )  # fmt: skip


def _commit(commit: StoryCommit | None) -> dict[str, Any] | None:
    if commit is None:
        return None
    return {"commit": commit.commit, "subject": commit.subject, "at": commit.at, "attempt": commit.attempt,
            "run": commit.run, "cost_usd": commit.cost_usd, "reverted_by": commit.reverted_by or None}  # fmt: skip


def _described(
    prd: Prd, story: Story, status: str, commit: StoryCommit | None, attempts: Sequence[KeptAttempt]
) -> list[str]:
    raw, execution = story.raw, story.execution
    evidence = raw.get("evidence") or {}
    landed = f"{commit.commit[:12]} {commit.subject}" if commit else ""
    after = f", after {', '.join(story.depends_on)}" if story.depends_on else ""
    lists = [(f"{title.lower()}:", "".join(map(_ticked, items))) for title, items in boxes(story, known_answers(prd))]
    rows = (
        ("", str(raw.get("description") or "")),
        *lists,
        ("notes: ", str(raw.get("notes") or "")),
        ("attempts: ", str(execution.get("attempts") or "")),
        ("last error: ", str(execution.get("last_error") or "")),
        ("accepted: ", str(evidence.get("accepted") or "")),
        ("checks: ", verified_by(evidence)),
        ("asked: ", asked_of(evidence)),
        ("tests: ", parts_in_words(evidence, 20)),
        ("flagged:", "".join(f"\n- {text}" for text in warnings_of(story))),
        ("commit: ", f"{landed} (reverted by {commit.reverted_by[:12]})" if commit and commit.reverted_by else landed),
        ("commit: ", "none (imported, accepted or squash-merged)" if _is_foreign(story, commit) else ""),
        ("kept attempts: ", ", ".join(str(attempt.number) for attempt in attempts)),
    )
    lines = [f"{story.id} {story.title} ({status})", f"  priority {story.priority}, {story.kind}{after}"]
    return lines + [f"  {name}{text}".replace("\n", "\n    ") for name, text in rows if text]


def _is_foreign(story: Story, commit: StoryCommit | None) -> bool:
    return story.is_completed and (commit is None or bool(commit.reverted_by))


def _ticked(item: Item) -> str:
    return "\n" + item.bullet(f"[{'x' if item.done else ' '}]")


@story.command("add")
@click.argument("title")
@feature_argument
@click.option("--id", "story_id", default="", metavar="ID", help="Its id; default: the next free number.")
@click.option("--description", default="", help="What the story should do, for whom, and why.")
@click.option("--criteria", multiple=True, metavar="TEXT", help="An acceptance criterion; repeatable.")
@click.option("--priority", type=WholeNumber(0), metavar="N", help="Lower runs first; default: last.")
@click.option("--after", multiple=True, metavar="STORY", help="A story that must be completed first; repeatable.")
@with_options
def add(
    call: Invocation, title: str, feature: str | None, story_id: str, description: str, criteria: tuple[str, ...],
    priority: int | None, after: tuple[str, ...],
) -> int:  # fmt: skip
    """Add a story; `ralphy tasks create` is the same."""
    given = {"title": title, "description": description, "acceptanceCriteria": list(criteria), "priority": priority,
             "dependsOn": list(after)}  # fmt: skip
    return _change(call, feature, StoryChange(Verb.ADD, story_id, given=given), "story add")


@story.command("start")
@story_argument
@feature_argument
@with_options
def start(call: Invocation, story_id: str, feature: str | None) -> int:
    """Show a story as in_progress and make it the next one."""
    story_id, feature = named_story(call, story_id, feature)
    return _change(call, feature, StoryChange(Verb.START, story_id), f"story start {story_id}")


@story.command("done")
@story_argument
@feature_argument
@with_options
def done(call: Invocation, story_id: str, feature: str | None) -> int:
    """Complete a story that you did yourself; requires committed changes and green checks."""
    story_id, feature = named_story(call, story_id, feature)
    with call.edited(feature, f"story done {story_id}") as (w, s):
        story = find_story(s.prd, story_id, s.feature)
        if story.is_completed:
            return _say(call, w, "done", story.id, f"{story.id} is already completed")
        require_dependencies(s.prd, story, s.feature)
        checks = "the checks are green" if accept(w, s, story) else "no checks ran"
        return _say(call, w, "done", story.id, f"completed {story.id}: accepted by a person, {checks}")


@story.command("fail")
@story_argument
@feature_argument
@click.option(
    "-m", "--message", default="given up by a person", metavar="TEXT", help="The reason; stored as the last error."
)
@with_options
def fail(call: Invocation, story_id: str, feature: str | None, message: str) -> int:
    """Give up a story: stories that depend on it are blocked, others continue."""
    story_id, feature = named_story(call, story_id, feature)
    return _change(call, feature, StoryChange(Verb.FAIL, story_id, message=message), f"story fail {story_id}")


@story.command("reset")
@story_argument
@feature_argument
@with_options
def reset(call: Invocation, story_id: str, feature: str | None) -> int:
    """Make a story pending again; its commit and its kept attempts stay."""
    story_id, feature = named_story(call, story_id, feature)
    return _change(call, feature, StoryChange(Verb.RESET, story_id), f"story reset {story_id}")


def _change(call: Invocation, feature: str | None, change: StoryChange, purpose: str) -> int:
    """Make the change, and print what it was."""
    with stories_changed(call, feature, change, purpose) as (w, new):
        return _say(call, w, change.verb.value, new.story, new.message)


def _say(call: Invocation, w: Workspace, verb: str, story_id: str, message: str) -> int:
    """Print the message, or the story's row, and write TASKS.md again."""
    render_tasks(w, observe(w))
    row = next(row for row in status_of(w)["stories"] if row["id"] == story_id)
    return call.output.answer(f"story-{verb}", message, feature=w.feature.name, story=row, said=message)
