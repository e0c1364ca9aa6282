"""Merge two versions of a prd.json: what a person has edited, and what Ralphy has recorded meanwhile.

The person's document stands, with Ralphy's own fields (passes, status, execution, evidence, ticks, the workflow) put in
by the stories' ids, and with what only Ralphy has changed. A completed story is never removed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ralphy.documents.criteria import LISTS, unticked
from ralphy.pipeline.model import Document

RECORDED = ("passes", "status", "execution", "evidence")  # the fields of a story that only Ralphy writes
_STORIES = "userStories"
_RECORDED_ROOT = ("workflow", _STORIES)


@dataclass(frozen=True, slots=True)
class Merged:
    """The document, and a sentence for each change that it does not have."""

    document: Document
    clashes: tuple[str, ...] = ()


def merge(base: Document, ralphy: Document, person: Document) -> Merged:
    """What `ralphy` and `person` made of `base`, in one document.

    All three are valid documents. Where the person's has no stories, Ralphy's stay: see `stories_gone`.
    """
    if _is_same(base, person):
        return Merged(ralphy)
    clashes: list[str] = []
    before, now, edited = _by_id(base), _by_id(ralphy), _by_id(person)
    merged = now if not edited else {
        name: _story(name, before.get(name), now.get(name), edited.get(name), clashes)
        for name in _order(ralphy, person)
    }  # fmt: skip
    stories = [story for story in merged.values() if story is not None]
    root = _fields("", base, {**ralphy, _STORIES: stories}, {**person, _STORIES: stories}, _RECORDED_ROOT, clashes)
    return Merged(root, tuple(clashes))


def began_with(person: Document, candidates: Sequence[Document]) -> int:
    """The index of the candidate (newest first) that a person has edited: the one with the same recorded fields.

    An editor that was open while Ralphy wrote saves an edit of an older version.
    """
    edited = _by_id(person)
    return min(range(len(candidates)), key=lambda number: _distance(_by_id(candidates[number]), edited))


def stories_gone(base: Document, ralphy: Document, person: Document) -> tuple[str, ...]:
    """The removed stories that the person has to confirm: all of them at once, or completed ones."""
    before, now, left = _by_id(base), _by_id(ralphy), _by_id(person)
    return tuple(name for name in before if name not in left and name in now and (not left or _is_completed(now[name])))


def _story(
    name: str, base: Document | None, ralphy: Document | None, person: Document | None, clashes: list[str]
) -> Document | None:
    if person is None:  # removed by the person, or added by Ralphy since
        was_completed = ralphy is not None and base is not None and _is_completed(ralphy)
        clashes += [f"{name}: completed meanwhile, kept"] if was_completed else []
        return ralphy if base is None or was_completed else None
    if ralphy is not None:
        return _fields(f"{name}: ", base or {}, ralphy, person, RECORDED, clashes)
    if base is not None and _is_same(_without_own(base), _without_own(person)):
        return None  # Ralphy has removed it, and the person has not touched it
    clashes += [f"{name}: story was changed by you and by Ralphy: keeping yours"] if base else []
    return _as_new(person)


def _fields(
    where: str, base: Document, ralphy: Document, person: Document, own: Sequence[str], clashes: list[str]
) -> Document:
    """Field by field, in Ralphy's order; what the person added goes before the last field (`Prd.with_story`)."""
    merged: Document = {}
    for name in (*ralphy, *(name for name in person if name not in ralphy)):
        is_edited = not _is_same_in(name, person, base) and not _is_same_in(name, person, ralphy)
        source = person if is_edited and name not in own else ralphy
        if is_edited and name in own:
            clashes.append(f"{where}{name} is recorded by Ralphy: ignoring your change")
        elif is_edited and where and name in LISTS and isinstance(person.get(name), list):
            source = {name: _ticked(person[name], ralphy.get(name))}
        elif is_edited and isinstance(ralphy.get(name), dict) and isinstance(person.get(name), dict):
            was = base.get(name) if isinstance(base.get(name), dict) else {}
            source = {name: _fields(f"{where}{name}.", was or {}, ralphy[name], person[name], (), clashes)}
        elif is_edited and not _is_same_in(name, ralphy, base):
            clashes.append(f"{where}{name} was changed by you and by Ralphy: keeping yours")
        if name in source:
            merged[name] = source[name]
    last = next(reversed(ralphy), "")
    if last in merged:
        merged[last] = merged.pop(last)
    return merged


def _ticked(person: Any, ralphy: Any) -> list[Any]:
    """The person's items, with Ralphy's ticks."""
    known = {_text(unticked(item)): item for item in ralphy or ()}
    return [known.get(_text(unticked(item)), _open(item)) for item in person]


def _order(ralphy: Document, person: Document) -> list[str]:
    """The person's order; each story that only Ralphy has follows the one before it."""
    order, before = list(_by_id(person)), 0
    for name in _by_id(ralphy):
        if name not in order:
            order.insert(before, name)
        before = order.index(name) + 1
    return order


def _distance(candidate: Mapping[str, Document], edited: Mapping[str, Document]) -> int:
    """How many stories of a candidate are missing in the edit, or have other recorded fields there."""
    return sum(
        name not in edited or any(not _is_same_in(own, raw, edited[name]) for own in RECORDED)
        for name, raw in candidate.items()
    )


def _without_own(story: Document) -> Document:
    return {name: value for name, value in story.items() if name not in RECORDED}


def _is_completed(story: Document) -> bool:
    status: str = story.get("status", "completed" if story.get("passes") is True else "")
    return status == "completed"


def _as_new(story: Document) -> Document:
    """A person's new story, as pending, whatever it claims."""
    plain = {name: [_open(item) for item in value] if name in LISTS and isinstance(value, list) else value
             for name, value in _without_own(story).items()}  # fmt: skip
    last = next(reversed(plain))
    end = {last: plain.pop(last)}
    return {**plain, "passes": False, "status": "pending", **end}


def _open(item: Any) -> Any:
    return {**item, "done": False} if isinstance(item, dict) and item.get("done") else item


def _by_id(document: Document) -> dict[str, Document]:
    return {story["id"]: story for story in document.get(_STORIES, ())}


def _is_same_in(name: str, one: Document, other: Document) -> bool:
    """Is the field the same in both, or in neither?"""
    return (name in one) == (name in other) and _is_same(one.get(name), other.get(name))


def _is_same(one: Any, other: Any) -> bool:
    return one is other or _text(one) == _text(other)


def _text(value: Any) -> str:
    """A value as JSON, whatever the order of its fields: in Python, True equals 1."""
    return json.dumps(value, sort_keys=True)
