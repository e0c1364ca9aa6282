"""Ids of stories and what a story depends on, in every spelling that is read.

`dependsOn` is Ralphy's own; `dependencies`, and ids as numbers, are what other tools write. The value in memory has
`dependsOn` and texts alone, and so has prd.json once Ralphy writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

OWN = "dependsOn"
SPELLINGS = (OWN, "dependencies")


def id_of(value: Any) -> str | None:
    """An id as text, also one that is a whole number; None for anything else."""
    if isinstance(value, str):
        return value
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return str(int(value)) if is_whole or (isinstance(value, float) and value.is_integer()) else None


def listed(story: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
    """(field, place in it, id) of every dependency; what has the wrong type is passed over."""
    for name in SPELLINGS:
        for n, value in enumerate(_list(story.get(name))):
            if (story_id := id_of(value)) is not None:
                yield name, n, story_id


def disagrees(story: Mapping[str, Any]) -> str:
    """The other spelling that says something else than `dependsOn`; "" if none does."""
    own = story.get(OWN)
    if not isinstance(own, list):
        return ""
    others = (name for name in SPELLINGS if name != OWN and isinstance(story.get(name), list))
    return next((name for name in others if set(map(id_of, story[name])) != set(map(id_of, own))), "")


def with_own_spelling(document: dict[str, Any]) -> dict[str, Any]:
    """The document as Ralphy spells it; the same one if it is spelled so. It must fit its schema."""
    stories = document.get("userStories") or []
    if all(map(_is_own, stories)):
        return document
    return {**document, "userStories": [story if _is_own(story) else _respelled(story) for story in stories]}


def _is_own(story: Mapping[str, Any]) -> bool:
    return isinstance(story["id"], str) and not any(name in story for name in SPELLINGS if name != OWN)


def _respelled(story: dict[str, Any]) -> dict[str, Any]:
    respelled: dict[str, Any] = {}
    for name, value in story.items():
        if name == OWN or name not in SPELLINGS:
            respelled[name] = value
        elif OWN not in story:
            respelled[OWN] = list(map(id_of, value))
    return {**respelled, "id": id_of(story["id"])}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
