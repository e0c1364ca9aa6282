"""What a story depends on, in every spelling that is read: `dependsOn`, and `dependencies` as other tools write it.

The value in memory has `dependsOn` alone, and so has prd.json once Ralphy writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

OWN = "dependsOn"
# Other tools write the ids of their stories as numbers, too.
SPELLINGS = (OWN, "dependencies")


def listed(story: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
    """(field, place in it, id) of every dependency; what has the wrong type is passed over."""
    for name in SPELLINGS:
        for n, value in enumerate(_list(story.get(name))):
            if (story_id := _id(value)) is not None:
                yield name, n, story_id


def disagrees(story: Mapping[str, Any]) -> str:
    """The other spelling that says something else than `dependsOn`; "" if none does."""
    own = story.get(OWN)
    if not isinstance(own, list):
        return ""
    others = (name for name in SPELLINGS if name != OWN and isinstance(story.get(name), list))
    return next((name for name in others if set(map(_id, story[name])) != set(map(_id, own))), "")


def with_own_spelling(document: dict[str, Any]) -> dict[str, Any]:
    """The document with `dependsOn` in the place of other spellings; the same one if there are none.

    It must fit its schema.
    """
    stories = document.get("userStories") or []
    if not any(name in story for story in stories for name in SPELLINGS if name != OWN):
        return document
    return {**document, "userStories": [_respelled(story) for story in stories]}


def _respelled(story: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in story.items():
        if name == OWN or name not in SPELLINGS:
            found[name] = value
        elif OWN not in story:
            found[OWN] = [str(other) for other in value]
    return found


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _id(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else None
