"""story list|next|show|add|start|done|fail|reset (also as tasks …): prd.json from the command line.

Every change goes the way that the engine's own changes go: under the lock, checked as a file is checked when
it is read, committed where the feature has its branch. A person's word alone completes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from ralphy.cli.options import Group, Invocation, WholeNumber, feature_argument, named_story, with_options
from ralphy.core.errors import Conflict, ExitCode, NotFound

if TYPE_CHECKING:
    from ralphy.adapters.ledger import KeptAttempt, Landed
    from ralphy.core.criteria import Item
    from ralphy.core.model import Document, Prd, Snapshot, Story
    from ralphy.engine.workspace import Workspace

_NUMBERED = re.compile(r"(US-)(\d+)")
story_argument = click.argument("story_id", metavar="STORY")


@click.group("story", cls=Group, otherwise="list")
def story() -> None:
    """Look at the stories of a feature, and change them. STORY is an id, or feature/id."""


tasks = story


@story.command("list")
@feature_argument
@with_options
def list_(call: Invocation, feature: str | None) -> int:
    """List the stories and where they stand."""
    from ralphy.cli.look import standing
    from ralphy.cli.quick import story_line

    value = standing(call, feature, keeps=False)
    lines = [story_line(row) for row in value["stories"]]
    call.output.data(
        lines or f"{value['feature']} has no stories yet",
        {"schema": "ralphy/story-list@1", "ok": True, "feature": value["feature"], "stories": value["stories"]},
    )
    return ExitCode.DONE


@story.command("next")
@feature_argument
@with_options
def next_(call: Invocation, feature: str | None) -> int:
    """Say which story is next; 11 if failed or blocked ones leave none."""
    from ralphy.core.stories import next_ready, why_stuck

    with call.workspace(feature) as w:
        prd, name = w.store.load(), w.feature.name
    if not prd.stories:
        raise NotFound(f"{name} has no stories yet", hint=f"ralphy why {name}")
    ready = next_ready(prd)
    stuck = why_stuck(prd)
    said = f"{ready.id} {ready.title}" if ready else stuck or "all stories are completed"
    code = ExitCode.DONE if ready or not stuck else ExitCode.STORIES_OPEN
    value = {"schema": "ralphy/story-next@1", "ok": code == ExitCode.DONE, "feature": name,
             "story": ready.raw if ready else None, "said": said}  # fmt: skip
    call.output.data(said, value)
    return code


@story.command("show")
@story_argument
@feature_argument
@with_options
def show(call: Invocation, story_id: str, feature: str | None) -> int:
    """Show all that is known of a story: its fields, its evidence, its commit, its kept attempts."""
    from ralphy.adapters import git, ledger
    from ralphy.core.stories import shown_status
    from ralphy.engine.observe import observe

    story_id, feature = named_story(story_id, feature)
    with call.workspace(feature) as w:
        s = observe(w)
        prd, name = s.prd, s.feature
        found = _found(prd, story_id, name)
        branch = f"refs/heads/{s.tree.feature_branch}"
        tip = branch if git.resolve(w.repository, branch) else "HEAD"
        commit = ledger.landed(w.repository, name, tip).get(found.id)
        attempts = ledger.kept(w.repository, name, found.id)
    status = shown_status(prd)[found.id]
    value = {"schema": "ralphy/story@1", "ok": True, "feature": name, "story": found.raw, "status": status,
             "commit": _commit(commit), "kept_attempts": [attempt.ref for attempt in attempts]}  # fmt: skip
    call.output.data("\n".join(_described(found, status, commit, attempts)), value)
    return ExitCode.DONE


def _commit(commit: Landed | None) -> dict[str, Any] | None:
    if commit is None:
        return None
    return {"commit": commit.commit, "subject": commit.subject, "at": commit.at, "attempt": commit.attempt,
            "run": commit.run, "cost_usd": commit.cost_usd, "reverted_by": commit.reverted_by or None}  # fmt: skip


def _described(found: Story, status: str, commit: Landed | None, attempts: Sequence[KeptAttempt]) -> list[str]:
    from ralphy.core.criteria import titled_lists
    from ralphy.core.stories import warnings_of
    from ralphy.core.verification import is_proved, verified_by

    raw, execution, proved = found.raw, found.execution, is_proved(found)
    evidence = raw.get("evidence") or {}
    landed = f"{commit.commit[:12]} {commit.subject}" if commit else ""
    after = f", after {', '.join(found.depends_on)}" if found.depends_on else ""
    lists = [
        (f"{title.lower()}:", "".join(_ticked(item, proved) for item in items)) for title, items in titled_lists(raw)
    ]
    rows = (
        ("", str(raw.get("description") or "")),
        *lists,
        ("notes: ", str(raw.get("notes") or "")),
        ("attempts: ", str(execution.get("attempts") or "")),
        ("last error: ", str(execution.get("last_error") or "")),
        ("accepted: ", str(evidence.get("accepted") or "")),
        ("checks: ", verified_by(evidence)),
        ("flagged:", "".join(f"\n- {text}" for text in warnings_of(found))),
        ("commit: ", f"{landed} (reverted by {commit.reverted_by[:12]})" if commit and commit.reverted_by else landed),
        ("commit: ", "none of its own (imported, accepted or squash-merged)" if _is_foreign(found, commit) else ""),
        ("kept attempts: ", ", ".join(str(attempt.number) for attempt in attempts)),
    )
    lines = [f"{found.id} {found.title} ({status})", f"  priority {found.priority}, {found.kind}{after}"]
    return lines + [f"  {name}{text}".replace("\n", "\n    ") for name, text in rows if text]


def _is_foreign(found: Story, commit: Landed | None) -> bool:
    return found.is_completed and (commit is None or bool(commit.reverted_by))


def _ticked(item: Item, proved: bool) -> str:
    return "\n" + item.bullet(f"[{'x' if item.done or proved else ' '}]")


@story.command("add")
@click.argument("title")
@feature_argument
@click.option("--description", default="", help="What is wanted, by whom, and why.")
@click.option("--criteria", multiple=True, metavar="TEXT", help="What must hold when it is done; may be repeated.")
@click.option("--priority", type=WholeNumber(0), metavar="N", help="Lower runs first; default: last.")
@click.option("--after", multiple=True, metavar="STORY", help="A story that must be completed first; may be repeated.")
@with_options
def add(
    call: Invocation, title: str, feature: str | None, description: str, criteria: tuple[str, ...],
    priority: int | None, after: tuple[str, ...],
) -> int:  # fmt: skip
    """Add a story."""
    with call.edited(feature, "story add") as (w, s):
        for story_id in after:
            _found(s.prd, story_id, s.feature)
        last = max((other.priority for other in s.prd.stories), default=0)
        new: Document = {"id": _free_id(s.prd), "title": title, "description": description,
                         "acceptanceCriteria": list(criteria), "priority": last + 1 if priority is None else priority,
                         "passes": False, "status": "pending", "dependsOn": list(after)}  # fmt: skip
        new = {name: value for name, value in new.items() if name == "title" or value not in ("", [])}
        prd = s.prd.with_stories([*(other.raw for other in s.prd.stories), new])
        _keep(w, s, prd, f"added {new['id']}", f"{new['id']} is added")
        return _say(call, w, "add", new["id"], f"{new['id']} {title} is added")


def _free_id(prd: Prd) -> str:
    """The number after the highest one."""
    numbers = [int(found[2]) for other in prd.stories if (found := _NUMBERED.fullmatch(other.id.upper()))]
    return f"US-{max(numbers, default=0) + 1:03}"


@story.command("start")
@story_argument
@feature_argument
@with_options
def start(call: Invocation, story_id: str, feature: str | None) -> int:
    """Make a story the next one, by its priority."""
    from ralphy.core.stories import next_ready

    story_id, feature = named_story(story_id, feature)
    with call.edited(feature, f"story start {story_id}") as (w, s):
        found = _found(s.prd, story_id, s.feature)
        if not found.is_open:
            raise Conflict(f"{found.id} is {found.status.value}", hint=f"ralphy story reset {found.id} {s.feature}")
        _require_dependencies(s.prd, found)
        if next_ready(s.prd) != found:
            _keep(w, s, _first(s.prd, found), f"next {found.id}", f"{found.id} goes first")
        return _say(call, w, "start", found.id, f"{found.id} is the next story; ralphy loop {s.feature} works on it")


def _first(prd: Prd, found: Story) -> Prd:
    """The story below the lowest priority; where that is 0, the others that are open move up by one."""
    others = [other for other in prd.stories if other.is_open and other.id != found.id]
    lowest = min(other.priority for other in others)
    if lowest == 0:
        for other in others:
            prd = prd.with_story(other.id, priority=other.priority + 1)
    return prd.with_story(found.id, priority=max(0, lowest - 1))


@story.command("done")
@story_argument
@feature_argument
@with_options
def done(call: Invocation, story_id: str, feature: str | None) -> int:
    """Complete a story that a person did: only if everything is committed and none of Ralphy's own checks is red."""
    from ralphy.engine.accept import accept

    story_id, feature = named_story(story_id, feature)
    with call.edited(feature, f"story done {story_id}") as (w, s):
        found = _found(s.prd, story_id, s.feature)
        if found.is_completed:
            return _say(call, w, "done", found.id, f"{found.id} is completed already")
        _require_dependencies(s.prd, found)
        checks = "the checks are green" if accept(w, s, found) else "no checks ran"
        return _say(call, w, "done", found.id, f"{found.id} is completed: accepted by a person, {checks}")


def _require_dependencies(prd: Prd, found: Story) -> None:
    missing = [other for other in found.depends_on if not prd.story(other).is_completed]
    if missing:
        raise Conflict(f"{found.id} depends on {', '.join(missing)}, not completed yet",
                       hint=f"ralphy story start {missing[0]}")  # fmt: skip


@story.command("fail")
@story_argument
@feature_argument
@click.option("-m", "--message", default="given up by a person", metavar="TEXT", help="Why; it becomes the last error.")
@with_options
def fail(call: Invocation, story_id: str, feature: str | None, message: str) -> int:
    """Give a story up: those that depend on it are blocked, the others go on."""
    story_id, feature = named_story(story_id, feature)
    with call.edited(feature, f"story fail {story_id}") as (w, s):
        found = _found(s.prd, story_id, s.feature)
        if found.is_completed:
            raise Conflict(f"{found.id} is completed", hint=f"ralphy story reset {found.id} {s.feature}")
        fields = {"passes": False, "status": "failed", "execution": {**found.execution, "last_error": message[:2000]}}
        prd = s.prd.with_story(found.id, **fields)
        _keep(w, s, prd, f"failed {found.id}", f"{found.id} is given up by a person")
        return _say(call, w, "fail", found.id, f"{found.id} has failed: {message}")


@story.command("reset")
@story_argument
@feature_argument
@with_options
def reset(call: Invocation, story_id: str, feature: str | None) -> int:
    """Make a story pending again; its commit and its kept attempts stay."""
    from ralphy.engine.again import redo_story

    story_id, feature = named_story(story_id, feature)
    with call.edited(feature, f"story reset {story_id}") as (w, s):
        found = _found(s.prd, story_id, s.feature)
        return _say(call, w, "reset", found.id, redo_story(w, found.id))


def _found(prd: Prd, story_id: str, feature: str) -> Story:
    """The story of that id. Raises NotFound, with the id that was meant if only the case differs."""
    for other in prd.stories:
        if other.id == story_id:
            return other
    near = next((other.id for other in prd.stories if other.id.lower() == story_id.lower()), "")
    raise NotFound(f"{feature} has no story {story_id!r}",
                   hint=f"did you mean {near}?" if near else f"ralphy story list {feature}")  # fmt: skip


def _keep(w: Workspace, s: Snapshot, prd: Prd, event: str, subject: str, **more: bytes | None) -> None:
    """Check the new PRD as if it were read from the disk, then commit or write it."""
    from ralphy.adapters.documents import check_prd
    from ralphy.core.jsontext import dump
    from ralphy.core.stories import canonical
    from ralphy.engine.gate import keep_prd

    prd = canonical(prd)
    check_prd(dump(prd.raw), "the changed prd.json", base_branches=(s.tree.base,))
    keep_prd(w, s, prd, event, subject, **more)


def _say(call: Invocation, w: Workspace, verb: str, story_id: str, said: str) -> int:
    """The sentence, or the story's row; TASKS.md shows the change as well."""
    from ralphy.engine.observe import observe
    from ralphy.engine.status import status_of
    from ralphy.engine.view import render_tasks

    render_tasks(w, observe(w))
    row = next(row for row in status_of(w)["stories"] if row["id"] == story_id)
    value = {"schema": f"ralphy/story-{verb}@1", "ok": True, "feature": w.feature.name, "story": row, "said": said}
    call.output.data(said, value)
    return ExitCode.DONE
