"""A change of the stories that a person asks for, as a value, and what it makes of prd.json."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ralphy.errors import Conflict, NotFound
from ralphy.pipeline.model import Document, Prd, Status, Story
from ralphy.pipeline.stories import next_ready, reopened, started
from ralphy.text.nearest import nearest

_NUMBERED = re.compile(r"(US-)(\d+)")


class Verb(Enum):
    """What is asked for; the value is the word on the command line."""

    ADD = "add"
    START = "start"
    FAIL = "fail"
    RESET = "reset"
    RESET_ALL = "reset all"


@dataclass(frozen=True, slots=True)
class StoryChange:
    """`story` is an id, "" for an added story that gets the next free one; `message` says why a story has failed."""

    verb: Verb
    story: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    message: str = ""


@dataclass(frozen=True, slots=True)
class Changed:
    """The new `prd`, and how it is committed (`event`, `subject`) and reported (`message`).

    `reset` is the journal's line about attempts that are forgotten; questions of the `reopened` stories are withdrawn.
    """

    prd: Prd
    story: str
    event: str
    subject: str
    message: str
    reset: Document | None = None
    reopened: tuple[str, ...] = ()


def changed(prd: Prd, feature: str, change: StoryChange) -> Changed:
    """The change made to `prd`. Raises NotFound or Conflict if it does not fit."""
    return _CHANGES[change.verb](prd, feature, change)


def find_story(prd: Prd, story_id: str, feature: str) -> Story:
    """The story of that id. Raises NotFound, with the id that was probably meant."""
    for other in prd.stories:
        if other.id == story_id:
            return other
    near = nearest(story_id, (other.id for other in prd.stories))
    raise NotFound(f"{feature} has no story {story_id!r}",
                   hint=f"did you mean {near}?" if near else f"ralphy story list {feature}")  # fmt: skip


def require_dependencies(prd: Prd, story: Story, feature: str) -> None:
    """Raises Conflict if a story that this one depends on is not completed."""
    missing = [other for other in story.depends_on if not prd.story(other).is_completed]
    if missing:
        raise Conflict(f"{story.id} depends on {', '.join(missing)}, not completed yet",
                       hint=f"ralphy story start {missing[0]} {feature}")  # fmt: skip


def _add(prd: Prd, feature: str, change: StoryChange) -> Changed:
    given: dict[str, Any] = dict(change.given)
    for story_id in given.get("dependsOn", ()):
        find_story(prd, story_id, feature)
    story_id = change.story or _free_id(prd)
    if any(other.id.lower() == story_id.lower() for other in prd.stories):
        raise Conflict(f"there is a story {story_id} already", hint=f"ralphy story list {feature}")
    last = max((other.priority for other in prd.stories), default=0)
    priority = given.get("priority")
    new: Document = {"id": story_id, "title": given.get("title", ""), "description": given.get("description", ""),
                     "acceptanceCriteria": given.get("acceptanceCriteria", []),
                     "priority": last + 1 if priority is None else priority,
                     "passes": False, "status": "pending", "dependsOn": given.get("dependsOn", [])}  # fmt: skip
    new = {name: value for name, value in new.items() if name == "title" or value not in ("", [])}
    prd = prd.with_stories([*(other.raw for other in prd.stories), new])
    message = f"{story_id} {new['title']} is added"
    return Changed(prd, story_id, f"added {story_id}", f"{story_id} is added", message)


def _free_id(prd: Prd) -> str:
    """The number after the highest one."""
    numbers = [int(match[2]) for other in prd.stories if (match := _NUMBERED.fullmatch(other.id.upper()))]
    return f"US-{max(numbers, default=0) + 1:03}"


def _start(prd: Prd, feature: str, change: StoryChange) -> Changed:
    story = find_story(prd, change.story, feature)
    if not story.is_open:
        raise Conflict(f"{story.id} is {story.status.value}", hint=f"ralphy story reset {story.id} {feature}")
    require_dependencies(prd, story, feature)
    if next_ready(prd) != story:
        prd = _first(prd, story)
    if story.id not in (begun := started(prd)):
        prd = prd.with_workflow(started=[*begun, story.id])
    message = f"{story.id} is in progress: it is the next story, `ralphy loop {feature}` works on it"
    return Changed(prd, story.id, f"next {story.id}", f"{story.id} goes first", message)


def _first(prd: Prd, story: Story) -> Prd:
    """The story below the lowest priority; where that is 0, the others that are open move up by one."""
    others = [other for other in prd.stories if other.is_open and other.id != story.id]
    lowest = min(other.priority for other in others)
    if lowest == 0:
        for other in others:
            prd = prd.with_story(other.id, priority=other.priority + 1)
    return prd.with_story(story.id, priority=max(0, lowest - 1))


def _fail(prd: Prd, feature: str, change: StoryChange) -> Changed:
    story = find_story(prd, change.story, feature)
    if story.is_completed:
        raise Conflict(f"{story.id} is completed", hint=f"ralphy story reset {story.id} {feature}")
    execution = {**story.execution, "last_error": change.message}
    prd = prd.with_story(story.id, status=Status.FAILED.value, execution=execution)
    message = f"{story.id} has failed: {change.message}"
    subject = f"{story.id} is given up by a person"
    return Changed(prd, story.id, f"failed {story.id}", subject, message)


def _reset(prd: Prd, feature: str, change: StoryChange) -> Changed:
    """The story is pending, its attempt count resets; its commit stays."""
    story = find_story(prd, change.story, feature)
    prd = _not_started(prd.with_story(story.id, **reopened(story)), story.id)
    return Changed(prd, story.id, f"redo {story.id}", f"{story.id} is done again", f"{story.id} is pending again",
                   {"story": story.id}, (story.id,))  # fmt: skip


def _not_started(prd: Prd, story: str) -> Prd:
    begun = started(prd)
    return prd.with_workflow(started=[other for other in begun if other != story]) if story in begun else prd


def _reset_all(prd: Prd, _: str, __: StoryChange) -> Changed:
    """Failed and blocked stories are pending, and all attempt counts reset."""
    stuck = [story for story in prd.stories if story.status in (Status.FAILED, Status.BLOCKED)]
    for story in stuck:
        prd = _not_started(prd.with_story(story.id, **reopened(story)), story.id)
    message = "failed and blocked stories are pending again" if stuck else "attempt counts start from 0 again"
    return Changed(prd, "", "reset", "failed stories are tried again", message, {}, tuple(story.id for story in stuck))


_CHANGES: dict[Verb, Callable[[Prd, str, StoryChange], Changed]] = {
    Verb.ADD: _add,
    Verb.START: _start,
    Verb.FAIL: _fail,
    Verb.RESET: _reset,
    Verb.RESET_ALL: _reset_all,
}
