"""Splitting a story that is too much for its attempts: pieces are cut off it, and what is left stays the story.

The story keeps its id, its text and its criteria, so nothing that people have agreed to is lost or weakened; it
comes again when the pieces are completed, and whatever depends on it goes on waiting for it. A piece says
`context.split_from`; nothing else is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ralphy.errors import InvalidInput
from ralphy.pipeline.chosen import split_from
from ralphy.pipeline.model import Document, Prd, Story
from ralphy.pipeline.stories import as_drafted, reopened

MOST_PIECES = 4

# What a draft may say of a piece. Its kind and the tests that it may remove are the story's.
_DRAFTED = ("id", "title", "description", "acceptanceCriteria", "tasks", "notes")


def pieces_of(prd: Prd, story_id: str) -> list[Story]:
    """The stories that were cut off a story, in the file's order."""
    return [story for story in prd.stories if split_from(story) == story_id]


def may_be_split(prd: Prd, story: Story, most: int) -> bool:
    """Has it not been split as often as it may? A piece is never split itself: then a person should look."""
    rounds = {_round(piece) for piece in pieces_of(prd, story.id)}
    return not split_from(story) and len(rounds) < most


def _round(piece: Story) -> int:
    number = piece.raw["context"].get("split")
    return number if isinstance(number, int) else 1


def split(prd: Prd, story: Story, draft: Sequence[Document]) -> Prd:
    """The PRD with the draft's pieces behind all stories, and the story open again behind its pieces.

    Raises InvalidInput if they are too few or too many; the check of the whole finds circles.
    """
    if not 1 <= len(draft) <= MOST_PIECES:
        raise InvalidInput(f"{len(draft)} pieces were handed in", hint=f"hand in 1 to {MOST_PIECES}")
    names = _names(prd, story.id, len(draft))
    renamed = {piece["id"]: name for piece, name in zip(draft, names, strict=True)}
    rounds = {_round(piece) for piece in pieces_of(prd, story.id)}
    pieces = [_piece(story, piece, renamed, len(rounds) + 1) for piece in draft]
    waits_for = list(dict.fromkeys([*story.depends_on, *names]))
    again = prd.with_story(story.id, **reopened(story), dependsOn=waits_for)
    return again.with_stories([known.raw for known in again.stories] + pieces)


def _names(prd: Prd, story_id: str, count: int) -> list[str]:
    """The next free ids: US-003-1, US-003-2, …"""
    known = {story.id.lower() for story in prd.stories}
    free = (f"{story_id}-{n}" for n in range(1, len(known) + count + 1))
    return [name for name in free if name.lower() not in known][:count]


def _piece(story: Story, piece: Document, renamed: dict[str, str], round_: int) -> Document:
    planned = as_drafted({name: piece[name] for name in _DRAFTED if name in piece})
    after = [renamed.get(other, other) for other in piece.get("dependsOn") or ()]
    inherited: dict[str, Any] = {name: story.raw[name] for name in ("kind", "model") if story.raw.get(name)}
    testing = story.raw.get("testing") or {}
    named = {name: testing[name] for name in ("removes", "changes") if testing.get(name)}
    inherited |= {"testing": named} if named else {}
    origin = {**(story.raw.get("context") or {}), "split_from": story.id, "split": round_}
    return {
        **planned,
        "id": renamed[piece["id"]],
        **inherited,
        "dependsOn": list(dict.fromkeys([*story.depends_on, *after])),
        "context": origin,
        "priority": story.priority,
    }
