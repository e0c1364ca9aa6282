"""Ids of stories and what a story depends on, in every accepted spelling.

Ralphy writes `dependsOn`; other tools write `dependencies`, and ids as numbers. In memory, and in a prd.json that
Ralphy has written, there is `dependsOn` alone, and ids are text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

DEPENDS_ON = "dependsOn"
SPELLINGS = (DEPENDS_ON, "dependencies")


def id_of(value: Any) -> str | None:
    """An id as text, also one that is a whole number; None for anything else."""
    if isinstance(value, str):
        return value
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return str(int(value)) if is_whole or (isinstance(value, float) and value.is_integer()) else None


def listed(story: Mapping[str, Any]) -> Iterator[tuple[str, int, str]]:
    """(field, index, id) of every dependency; values of a wrong type are left out."""
    for name in SPELLINGS:
        values = story.get(name)
        for n, value in enumerate(values if isinstance(values, list) else ()):
            if (story_id := id_of(value)) is not None:
                yield name, n, story_id


def disagrees(story: Mapping[str, Any]) -> str:
    """The other spelling, if it lists other ids than `dependsOn`; else ""."""
    listed_ids = story.get(DEPENDS_ON)
    if not isinstance(listed_ids, list):
        return ""
    others = (name for name in SPELLINGS if name != DEPENDS_ON and isinstance(story.get(name), list))
    return next((name for name in others if set(map(id_of, story[name])) != set(map(id_of, listed_ids))), "")


def with_own_spelling(document: dict[str, Any]) -> dict[str, Any]:
    """The document as Ralphy writes it; the same object if it is so already. It must fit its schema."""
    stories = document.get("userStories") or []
    if all(map(_is_own, stories)):
        return document
    return {**document, "userStories": [story if _is_own(story) else _respelled(story) for story in stories]}


def _is_own(story: Mapping[str, Any]) -> bool:
    return isinstance(story["id"], str) and not any(name in story for name in SPELLINGS if name != DEPENDS_ON)


def _respelled(story: dict[str, Any]) -> dict[str, Any]:
    respelled: dict[str, Any] = {}
    for name, value in story.items():
        if name == DEPENDS_ON or name not in SPELLINGS:
            respelled[name] = value
        elif DEPENDS_ON not in story:
            respelled[DEPENDS_ON] = list(map(id_of, value))
    return {**respelled, "id": id_of(story["id"])}
