"""Strict YAML with positions: plain data from one document, and the line that every value stands on.

The tree is built from the parser's events, so that nothing is ever constructed from a tag, an alias can
not multiply, and scalars follow YAML 1.2: `07:00`, `no` and `1_000` are text, not numbers or booleans.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ralphy.errors import InvalidInput

MAX_BYTES = 256 * 1024
MAX_EVENTS = 20_000
MAX_DEPTH = 20
_MOST_SHOWN = 40

Place = tuple[str | int, ...]

_WORDS: Mapping[str, object] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,15})")
_DECIMAL = re.compile(r"[-+]?([0-9]{1,16}\.[0-9]{0,16}|\.[0-9]{1,16}|[0-9]{1,16})([eE][-+]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Document:
    """`lines` counts from 1 and is keyed by the path of a value, such as ("checks", 0, "run")."""

    root: object
    lines: Mapping[Place, int]


def parse(data: bytes, where: str) -> Document:
    """Dicts, lists, texts, numbers, booleans and None; an empty document is None.

    Raises InvalidInput, with `where` as "path:line", for what is not YAML or not plain.
    """
    if len(data) > MAX_BYTES:
        raise InvalidInput(f"is larger than {MAX_BYTES // 1024} KB", where=where)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput("is not UTF-8 text", where=f"{where}:{line}", hint="save it as UTF-8") from None
    return _Builder(where, text).document()


class _Builder:
    """One pass over the events of one text."""

    def __init__(self, where: str, text: str) -> None:
        self._where = where
        self._text = text
        self._events = self._checked_events()
        self._lines: dict[Place, int] = {}

    def document(self) -> Document:
        event = next(self._events)
        if type(event).__name__ == "StreamEndEvent":
            return Document(None, {})
        root = self._value(next(self._events), ())
        next(self._events)  # the document's end
        extra = next(self._events)
        if type(extra).__name__ != "StreamEndEvent":
            raise self._refusal(extra, "has a second document", 'remove the line "---" between them')
        return Document(root, self._lines)

    def _value(self, event: Any, path: Place) -> object:
        self._lines.setdefault(path, event.start_mark.line + 1)
        if len(path) > MAX_DEPTH:
            raise self._refusal(event, f"is nested deeper than {MAX_DEPTH} levels")
        match type(event).__name__:
            case "ScalarEvent":
                return _scalar(event)
            case "SequenceStartEvent":
                return [self._value(item, (*path, n)) for n, item in enumerate(self._until("SequenceEndEvent"))]
            case _:
                return self._mapping(path)

    def _mapping(self, path: Place) -> dict[str, object]:
        found: dict[str, object] = {}
        for key in self._until("MappingEndEvent"):
            if type(key).__name__ != "ScalarEvent":
                raise self._refusal(key, "has a list or a mapping as a key", "keys are plain words")
            name = str(key.value)
            if name in found:
                first = self._lines[(*path, name)]
                raise self._refusal(key, f"has the key {short(name)} twice (first on line {first})")
            self._lines[(*path, name)] = key.start_mark.line + 1
            found[name] = self._value(next(self._events), (*path, name))
        return found

    def _until(self, end: str) -> Iterator[Any]:
        while type(event := next(self._events)).__name__ != end:
            yield event

    def _checked_events(self) -> Iterator[Any]:
        """Every event but the stream's start; raises for the parser's errors, anchors, aliases and tags."""
        import yaml

        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            for count, event in enumerate(yaml.parse(self._text, Loader=loader)):
                if count > MAX_EVENTS:
                    raise self._refusal(event, "has too many values for a configuration")
                if getattr(event, "anchor", None) is not None:
                    raise self._refusal(event, "uses an anchor or an alias (& or *)", "write the value out")
                if getattr(event, "tag", None) is not None:
                    raise self._refusal(event, "uses a tag (!)", "write the plain value")
                if count:
                    yield event
        except yaml.YAMLError as error:
            raise self._parse_error(error) from None

    def _refusal(self, event: Any, what: str, hint: str = "") -> InvalidInput:
        return InvalidInput(what, where=f"{self._where}:{event.start_mark.line + 1}", hint=hint)

    def _parse_error(self, error: Exception) -> InvalidInput:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be parsed"
        index = mark.line if mark else self._text.count("\n", 0, getattr(error, "position", 0) or 0)
        lines = self._text.split("\n")
        hint = "check the indentation, the colons and the quotes"
        if index < len(lines) and "\t" in lines[index]:
            hint = "YAML indentation needs spaces: replace the tab"
        return InvalidInput(f"is not YAML: {problem}", where=f"{self._where}:{index + 1}", hint=hint)


def _scalar(event: Any) -> object:
    text = str(event.value)
    if event.style:  # quoted, or a block: always text
        return text
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    return float(text) if _DECIMAL.fullmatch(text) and "0" <= text[-1] <= "9" else text


def short(value: object) -> str:
    """A value as an error shows it: JSON-like, one line, no control characters."""
    import json

    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, (list, tuple)):
        return "a list"
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = "".join(letter if letter.isprintable() else "�" for letter in text)
    return text if len(text) <= _MOST_SHOWN else text[: _MOST_SHOWN - 1] + "…"
