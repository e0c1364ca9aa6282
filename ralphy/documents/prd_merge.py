"""Merge two prd.json that came from one: what Ralphy has recorded since, and what a person has edited since.

Fields are merged by name and stories by id. What only one side changed is taken from that side. Where both changed a
field the person's value stands, but what Ralphy records (passes, status, execution, evidence, ticks, the workflow) is
always Ralphy's, and a completed story is never removed. Every such case is named as a clash.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ralphy.documents.criteria import LISTS, unticked
from ralphy.pipeline.model import Document

OWN = ("passes", "status", "execution", "evidence")  # of a story
_OWN_ROOT, _STORIES = "workflow", "userStories"
_WHOLE = "story"


class Side(Enum):
    """Whose value stands."""

    PERSON = "person"
    RALPHY = "ralphy"


@dataclass(frozen=True, slots=True)
class Clash:
    """A field that both changed, or that a person cannot change: `field` is a path with dots, or "story" for all of it.

    `story` is "" for a field of the document itself.
    """

    story: str
    field: str
    kept: Side

    def __str__(self) -> str:
        where = f"{self.story}: " if self.story else ""
        if self.kept is Side.PERSON:
            return f"{where}{self.field} was changed by you and by Ralphy: keeping yours"
        if self.field == _WHOLE:
            return f"{where}completed meanwhile, kept"
        return f"{where}{self.field} is recorded by Ralphy: ignoring your change"


@dataclass(frozen=True, slots=True)
class Merged:
    """The document, and what could not be taken from both sides."""

    document: Document
    clashes: tuple[Clash, ...] = ()


_NOTHING = object()  # the value of a field that is not there


@dataclass(slots=True)
class _Fields:
    """The merge of one story's fields, or of the document's own; clashes gather in `clashes`."""

    story: str = ""
    clashes: list[Clash] = field(default_factory=list)

    def merge(self, base: Document, ralphy: Document, person: Document, own: Sequence[str], path: str = "") -> Document:
        """Field by field, in Ralphy's order; what the person added goes before the last field (`Prd.with_story`)."""
        merged: Document = {}
        for name in (*ralphy, *(name for name in person if name not in ralphy)):
            sides = tuple(side.get(name, _NOTHING) for side in (base, ralphy, person))
            value = self._own(name, *sides) if name in own else self._value(f"{path}{name}", *sides)
            if value is not _NOTHING:
                merged[name] = value
        last = next(reversed(ralphy), "")
        if last in merged and next(reversed(merged)) != last:
            merged[last] = merged.pop(last)
        return merged

    def _own(self, name: str, base: Any, ralphy: Any, person: Any) -> Any:
        if not _is_same(person, base) and not _is_same(person, ralphy):
            self.clashes.append(Clash(self.story, name, Side.RALPHY))
        return ralphy

    def _value(self, path: str, base: Any, ralphy: Any, person: Any) -> Any:
        if _is_same(person, base) or _is_same(person, ralphy):
            return ralphy
        if self.story and path in LISTS and isinstance(person, list):
            return self._ticked(path, base, ralphy, person)
        if _is_same(ralphy, base):
            return person
        if isinstance(ralphy, dict) and isinstance(person, dict):
            return self.merge(base if isinstance(base, dict) else {}, ralphy, person, (), f"{path}.")
        self.clashes.append(Clash(self.story, path, Side.PERSON))
        return person

    def _ticked(self, path: str, base: Any, ralphy: Any, person: list[Any]) -> Any:
        """The items that the person wants; ticked are those that Ralphy has ticked."""
        asked, was, now = _plain(person), _plain(base), _plain(ralphy)
        if _is_same(asked, was):
            return ralphy
        if not _is_same(was, now) and not _is_same(asked, now):
            self.clashes.append(Clash(self.story, path, Side.PERSON))
        known = {_text(unticked(item)): item for item in ralphy} if isinstance(ralphy, list) else {}
        return [known.get(_text(unticked(item)), _open(item)) for item in person]


def merge(base: Document, ralphy: Document, person: Document) -> Merged:
    """What `ralphy` and `person` made of `base`, in one document.

    All three are valid documents. A person who removed all stories has removed none: that is asked about elsewhere.
    """
    root = _Fields()
    stories, clashes = _stories(_by_id(base), _by_id(ralphy), _by_id(person))
    merged = root.merge(_head(base), _head(ralphy), _head(person), (_OWN_ROOT,))
    document = _in_place(merged, ralphy, stories) if stories or _STORIES in ralphy else merged
    return Merged(document, (*root.clashes, *clashes))


def began_with(person: Document, candidates: Sequence[Document]) -> int:
    """Which of the candidates (newest first) an edited document came from: a person leaves Ralphy's own fields alone.

    An editor that was open while Ralphy wrote saves the edit of an older version.
    """
    edited = _by_id(person)
    return min(range(len(candidates)), key=lambda number: _distance(_by_id(candidates[number]), edited))


def stories_gone(base: Document, ralphy: Document, person: Document) -> tuple[str, ...]:
    """The stories whose removal is a slip until the person confirms it: all of them at once, or completed ones."""
    before, now, left = _by_id(base), _by_id(ralphy), _by_id(person)
    return tuple(name for name in before if name not in left and name in now and (not left or _is_completed(now[name])))


def _stories(
    base: Mapping[str, Document], ralphy: Mapping[str, Document], person: Mapping[str, Document]
) -> tuple[list[Document], list[Clash]]:
    merged: dict[str, Document] = {}
    clashes: list[Clash] = []
    for name in _order(list(base), list(ralphy), list(person)):
        fields = _Fields(name, clashes)
        found = _story(fields, base.get(name), ralphy.get(name), person.get(name), keeps=bool(base) and not person)
        if found is not None:
            merged[name] = found
    return list(merged.values()), clashes


def _story(
    fields: _Fields, base: Document | None, ralphy: Document | None, person: Document | None, *, keeps: bool
) -> Document | None:
    if person is None:
        return _without_the_persons(fields, base, ralphy, keeps=keeps)
    if ralphy is not None:
        return ralphy if _is_same(base, person) else fields.merge(base or {}, ralphy, person, OWN)
    if base is not None and _is_same(_theirs(base), _theirs(person)):
        return None  # Ralphy has removed it, and the person has not touched it
    if base is not None:
        fields.clashes.append(Clash(fields.story, _WHOLE, Side.PERSON))
    return _as_new(person)


def _without_the_persons(
    fields: _Fields, base: Document | None, ralphy: Document | None, *, keeps: bool
) -> Document | None:
    """A story that the person's document does not have: removed there, or added by Ralphy since."""
    if ralphy is None or base is None or keeps:
        return ralphy
    if _is_completed(ralphy):
        fields.clashes.append(Clash(fields.story, _WHOLE, Side.RALPHY))
        return ralphy
    return None


def _order(base: list[str], ralphy: list[str], person: list[str]) -> list[str]:
    """Ralphy's order, or the person's if that person has moved stories; each new story follows the one before it."""
    common = set(base) & set(person)
    has_moved = [name for name in base if name in common] != [name for name in person if name in common]
    first, second = (person, ralphy) if has_moved else (ralphy, person)
    order = list(first)
    for number, name in enumerate(second):
        if name not in order:
            before = second[number - 1] if number else ""
            order.insert(order.index(before) + 1 if before else 0, name)
    return order


def _distance(candidate: Mapping[str, Document], edited: Mapping[str, Document]) -> int:
    """How many stories of a candidate are missing in the edit, or have other fields of Ralphy's."""
    return sum(name not in edited or not _is_same(_own(raw), _own(edited[name])) for name, raw in candidate.items())


def _own(story: Document) -> Document:
    return {name: story[name] for name in OWN if name in story}


def _theirs(story: Document) -> Document:
    return {name: value for name, value in story.items() if name not in OWN}


def _is_completed(story: Document) -> bool:
    status: str = story.get("status", "completed" if story.get("passes") is True else "")
    return status == "completed"


def _as_new(story: Document) -> Document:
    """A person's new story: nothing is proved of it, whatever it says."""
    plain = {name: [_open(item) for item in value] if name in LISTS and isinstance(value, list) else value
             for name, value in _theirs(story).items()}  # fmt: skip
    last = next(reversed(plain))
    end = {last: plain.pop(last)}
    return {**plain, "passes": False, "status": "pending", **end}


def _plain(items: Any) -> Any:
    return [unticked(item) for item in items] if isinstance(items, list) else items


def _open(item: Any) -> Any:
    return {**item, "done": False} if isinstance(item, dict) and item.get("done") else item


def _by_id(document: Document) -> dict[str, Document]:
    return {story["id"]: story for story in document.get(_STORIES, ())}


def _head(document: Document) -> Document:
    return {name: value for name, value in document.items() if name != _STORIES}


def _in_place(merged: Document, ralphy: Document, stories: list[Document]) -> Document:
    """The stories where Ralphy's document has them, else at the end."""
    names = list(ralphy)
    after = names[names.index(_STORIES) + 1 :] if _STORIES in ralphy else []
    before = {name: value for name, value in merged.items() if name not in after}
    return {**before, _STORIES: stories, **{name: merged[name] for name in after if name in merged}}


def _is_same(one: Any, other: Any) -> bool:
    if one is _NOTHING or other is _NOTHING or one is None or other is None:
        return one is other
    return one is other or _text(one) == _text(other)


def _text(value: Any) -> str:
    """A value as one text, whatever the order of its fields: in Python, true equals 1."""
    return json.dumps(value, sort_keys=True)
