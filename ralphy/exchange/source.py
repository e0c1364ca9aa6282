"""A JSON or YAML file of another tool, read strictly: errors name the place of a value, such as `tasks.json:12`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ralphy.config import strict_yaml
from ralphy.documents.dependencies import id_of
from ralphy.documents.prd_rules import rendered
from ralphy.errors import InvalidInput
from ralphy.exchange.plan import state_of
from ralphy.text import strict_json
from ralphy.text.line_numbers import ValuePath, lines_of
from ralphy.text.strict_json import preview

FINISHED = ("passes", "completed", "complete", "done", "status")  # the fields that say whether a story is done
_RANKS = {"critical": 1, "high": 1, "medium": 2, "low": 3}


@dataclass(frozen=True, slots=True)
class Source:
    """`lines` gives the line of the value at each path."""

    name: str
    root: Any
    lines: Callable[[Sequence[ValuePath]], Sequence[int]]

    def places(self, paths: Sequence[ValuePath]) -> list[str]:
        return [f"{self.name}:{line}" for line in self.lines(paths)]

    def rows(self, names: Sequence[str], above: ValuePath = ()) -> Iterator[StoryRow]:
        """The entries of the list at the path `above`, or of the first list that the object there has in a field of
        `names`.

        Raises InvalidInput if there are none.
        """
        around, path = self.root, above
        for step in above:
            around = around[step]
        if isinstance(around, dict):
            name = next((name for name in names if isinstance(around.get(name), list)), "")
            path, around = (*above, name), around.get(name)
        listed: list[Any] = around if isinstance(around, list) else []
        if not listed:
            looked_for = f" (looked for {', '.join(dict.fromkeys(names))})" if names else ""
            raise self.refusal(above, f"has no list of stories{looked_for}")
        paths = [(*path, n) for n in range(len(listed))]
        for raw, at, place in zip(listed, paths, self.places(paths), strict=True):
            yield StoryRow(raw, self, at, place)

    def refusal(self, path: ValuePath, what: str, hint: str = "") -> InvalidInput:
        """The error to raise for the value at a path."""
        return InvalidInput(f"{rendered(path)} {what}", where=self.places([path])[0], hint=hint)


def json_source(text: str, name: str) -> Source:
    """The JSON of a text. Raises InvalidInput with its line for a mistake."""
    return Source(name, strict_json.parse(text.encode(), name), lambda paths: lines_of(text, paths))


def yaml_source(text: str, name: str, first_line: int = 1) -> Source:
    """The YAML of a text, which begins at `first_line` of its file. Raises InvalidInput for a mistake."""
    document = strict_yaml.parse(("\n" * (first_line - 1) + text).encode(), name)
    return Source(name, document.root, lambda paths: [_line(document.lines, path) for path in paths])


def _line(lines: Mapping[ValuePath, int], path: ValuePath) -> int:
    """The line of the value, or of the nearest one around it."""
    return next((lines[path[:n]] for n in range(len(path), -1, -1) if path[:n] in lines), 1)


@dataclass(frozen=True, slots=True)
class StoryRow:
    """One entry of a list of stories, and its place."""

    raw: Any
    source: Source
    path: ValuePath
    place: str

    def refusal(self, what: str, *inner: str | int, hint: str = "") -> InvalidInput:
        return self.source.refusal((*self.path, *inner), what, hint)

    def fields(self) -> Mapping[str, Any]:
        """The entry as an object. Raises InvalidInput if it is none."""
        if not isinstance(self.raw, dict):
            raise self.refusal(f"is {preview(self.raw)} but must be an object")
        return self.raw

    def texts(self, field: str) -> list[Any]:
        """The items of a list field; a text counts as a list of one. Raises InvalidInput for other values."""
        value = self.fields().get(field)
        if isinstance(value, str):
            return [value] if value.strip() else []
        if value is not None and not isinstance(value, list):
            raise self.refusal(f"is {preview(value)} but must be a list", field)
        return value or []

    def ids(self, field: str) -> list[str]:
        """The ids in a list, in a text with commas, or a single id. Raises InvalidInput for other values."""
        value = self.fields().get(field)
        single = value.split(",") if isinstance(value, str) and value.strip() else [value] if id_of(value) else []
        if not single and value not in (None, "") and not isinstance(value, list):
            raise self.refusal(f"is {preview(value)} but must be a list of ids", field)
        listed: list[Any] = single or value or []
        for n, one in enumerate(listed):
            if not text_of(one):
                raise self.refusal(f"is {preview(one)} but must be the id of a story", field, n)
        return list(map(text_of, listed))

    def state(self) -> tuple[str, str]:
        """(`done`, `open` or `gone`, the word for it). Raises InvalidInput for an unknown word."""
        words: dict[str, str] = {}
        for field in FINISHED:
            value = self.fields().get(field)
            if value in (None, ""):
                continue
            word = str(value).lower() if isinstance(value, str | bool) else ""
            state = {"true": "done", "false": "open"}.get(word) or state_of(word)
            if not state:
                known = (
                    "a status such as todo, in_progress, done or cancelled" if field == "status" else "true or false"
                )
                raise self.refusal(f"is {preview(value)} but must be {known}", field)
            words.setdefault(state, word)
        first = next((state for state in ("done", "gone") if state in words), "open")
        return first, words.get(first, "")

    def rank(self, default: int) -> int:
        """The priority as a number. Raises InvalidInput if it is neither a number nor high, medium or low."""
        value = self.fields().get("priority")
        text = str(value).strip().lower() if isinstance(value, str | int) and not isinstance(value, bool) else ""
        if value is not None and not text.isdecimal() and text not in _RANKS:
            what = f"is {preview(value)} but must be 0, a positive number, or high, medium or low"
            raise self.refusal(what, "priority")
        return _RANKS[text] if text in _RANKS else int(text or default)

    def id(self) -> str:
        """The entry's own id, "" if it has none. Raises InvalidInput if it is no text or number."""
        raw = self.fields()
        name = next((name for name in ("id", "story_id") if raw.get(name) not in (None, "")), "")
        if name and id_of(raw[name]) is None:
            raise self.refusal(f"is {preview(raw[name])} but must be a text or a number", name)
        return text_of(raw[name]) if name else ""


def text_of(value: object) -> str:
    """A text, or a whole number as text; "" for any other value."""
    return value.strip() if isinstance(value, str) else id_of(value) or ""
