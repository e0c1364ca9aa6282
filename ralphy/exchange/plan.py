"""A plan between two formats: a project and its stories, in the fields of prd.json."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Story = dict[str, Any]
Files = Mapping[str, str]  # path below the folder, or a file's name -> text

_DONE = frozenset(("completed", "complete", "done", "passed", "closed", "x"))
_NAMED = re.compile(r"([A-Z][A-Za-z]*-?\d[\w.-]*)[:\s]\s*(\S.*)")
ITEM = re.compile(r"( *)(?:[-*+]|\d+[.)])\s+(?:\[([ xX])\]\s+)?(\S.*)")


@dataclass(slots=True)
class Plan:
    """`left_out` says which stories were not taken over, and why."""

    project: str = ""
    stories: list[Story] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """The prd.json of it."""
        named = {"project": self.project} if self.project else {}
        return {**named, **self.more, "userStories": self.stories}


def story(story_id: str, title: str, *, done: bool = False, **fields: Any) -> Story:
    """A story with those of the fields that say something."""
    said = {name: value for name, value in fields.items() if value not in (None, "", [], ())}
    state = {"passes": done, "status": "completed" if done else "pending"}
    return {"id": story_id, "title": " ".join(title.split()), **said, **state}


def is_done(status: object) -> bool:
    return status is True or (isinstance(status, str) and status.strip().lower() in _DONE)


def named(text: str, number: int, prefix: str = "US-") -> tuple[str, str]:
    """(id, title) of a line that may begin with an id."""
    found = _NAMED.fullmatch(text)
    return (found[1], found[2]) if found else (f"{prefix}{number:03}", text)


def words(items: Iterable[object]) -> list[str]:
    """Criteria or tasks as sentences, whatever their form."""
    from ralphy.documents.criteria import item_of

    return [text for item in items if (text := item_of(item).text)]


def sections(text: str) -> Iterator[tuple[str, str]]:
    """(heading, text) of the second level; what stands before it has the heading ""."""
    parts = re.split(r"^##[ \t]+(.+?)[ \t#]*$", text, flags=re.M)
    yield "", parts[0].strip()
    for heading, body in zip(parts[1::2], parts[2::2], strict=True):
        yield heading, body.strip()


def is_completed(raw: Mapping[str, Any]) -> bool:
    return raw.get("passes") is True or is_done(raw.get("status"))


def numbers_of(stories: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Story id -> its number, for formats that know nothing else."""
    ids = [str(raw["id"]) for raw in stories]
    if all(story_id.isdecimal() for story_id in ids):
        return {story_id: int(story_id) for story_id in ids}
    return {story_id: number for number, story_id in enumerate(ids, 1)}
