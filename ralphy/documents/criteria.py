"""Acceptance criteria and tasks of a prd.json, in every form that it may give them.

An entry is a sentence, or an object with its text in `title`, `text` or `description`. The texts of its other fields
follow with the fields' names, so that nothing is lost between prd.json and an agent.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

# The fields with the text of an object; at least one of them must have some.
WORDS = ("title", "text", "description")
# The lists of a story whose items are read here, and what people call them.
LISTS = {"acceptanceCriteria": "Acceptance criteria", "tasks": "Tasks"}
_NOT_WORDS = frozenset((*WORDS, "id", "status"))


@dataclass(frozen=True, slots=True)
class Item:
    """A criterion or a task: `id` may be "", `text` may have several lines."""

    id: str
    text: str
    done: bool = False

    def __str__(self) -> str:
        return f"{self.id}: {self.text}" if self.id and self.text else self.id or self.text

    @property
    def digest(self) -> str:
        """12 hex digits of the text: an answer to a criterion holds only for the text that it was given for."""
        return sha256(str(self).encode("utf-8", "replace")).hexdigest()[:12]

    def bullet(self, mark: str = "-") -> str:
        """The item of a list: lines after the first are indented, so that they stay in it."""
        return f"{mark} {self}".replace("\n", "\n  ")


def item_of(raw: Any) -> Item:
    """The item that one entry of a list describes, whatever its form."""
    if not isinstance(raw, Mapping):
        return Item("", "" if raw is None else str(raw).strip())
    words = dict.fromkeys(text for name in WORDS if (text := _text(raw.get(name))))
    more = [f"{name}: {text}" for name, value in raw.items() if name not in _NOT_WORDS and (text := _text(value))]
    name = raw.get("id")
    text = "\n".join(part for part in (": ".join(words), *more) if part)
    return Item("" if name is None else str(name).strip(), text, raw.get("done") is True)


def _text(value: Any) -> str:
    """The text of a field; of a list, its texts."""
    if isinstance(value, list | tuple):
        return "; ".join(text for one in value if (text := _text(one)))
    return value.strip() if isinstance(value, str) else ""


def items_of(story: Mapping[str, Any], name: str) -> list[Item]:
    """The items of one of a story's LISTS."""
    listed = story.get(name)
    return [item_of(raw) for raw in listed] if isinstance(listed, list | tuple) else []


def titled_lists(story: Mapping[str, Any]) -> Iterator[tuple[str, list[Item]]]:
    """(title, items) of each of a story's LISTS that holds any."""
    for name, title in LISTS.items():
        if items := items_of(story, name):
            yield title, items


def unticked(raw: Any) -> Any:
    """An entry without its `done`."""
    return {name: value for name, value in raw.items() if name != "done"} if isinstance(raw, dict) else raw
