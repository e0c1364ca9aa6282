"""Just enough GraphQL to answer `gh`: a parser and an executor over dictionaries.

The world is a tree of dictionaries whose values are plain, or callables that take the arguments.
A field that the world does not have is null, so a newer `gh` that asks for more still gets an answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(
    r"""
    (?P<blank>[\s,\ufeff]+|\#[^\n]*)
    |(?P<text>\"\"\".*?\"\"\"|"(?:\\.|[^"\\\n])*")
    |(?P<mark>\.\.\.|[!$()\[\]{}:=@|&])
    |(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<word>[_A-Za-z]\w*)
    """,
    re.VERBOSE | re.DOTALL,
)
_WORDS: Mapping[str, bool | None] = {"true": True, "false": False, "null": None}


class RefusedError(Exception):
    """An answer with `errors` in place of data, as the real API gives it."""

    def __init__(self, message: str, kind: str = "UNPROCESSABLE", path: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.path = path


@dataclass(frozen=True, slots=True)
class Variable:
    name: str


@dataclass(frozen=True, slots=True)
class Field:
    alias: str
    name: str
    arguments: Mapping[str, Any]
    selection: tuple[Selected, ...] | None


@dataclass(frozen=True, slots=True)
class Inline:
    on: str | None
    selection: tuple[Selected, ...]


@dataclass(frozen=True, slots=True)
class Spread:
    name: str


Selected = Field | Inline | Spread


@dataclass(slots=True)
class Document:
    """One operation (`query` or `mutation`) and the fragments that it may spread."""

    kind: str = "query"
    name: str = ""
    defaults: dict[str, Any] = field(default_factory=dict)
    selection: tuple[Selected, ...] = ()
    fragments: dict[str, Inline] = field(default_factory=dict)


def parse(source: str) -> Document:
    """The document's only operation; raises ValueError when it is not GraphQL."""
    return _Parser(_tokens(source)).document()


def execute(world: Any, document: Document, variables: Mapping[str, Any]) -> Any:
    """The `data` of an answer."""
    return _select(world, document.selection, document, {**document.defaults, **variables})


def _tokens(source: str) -> list[tuple[str, str]]:
    tokens, at = [], 0
    while at < len(source):
        found = _TOKEN.match(source, at)
        if found is None:
            raise ValueError(f"not GraphQL at {at}: {source[at : at + 20]!r}")
        at = found.end()
        kind = str(found.lastgroup)
        if kind != "blank":
            tokens.append((kind, found.group()))
    return tokens


class _Parser:
    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = tokens
        self._at = 0

    def document(self) -> Document:
        document = Document()
        while self._at < len(self._tokens):
            if self._sees("fragment"):
                self._take("fragment")
                name = self._take()
                document.fragments[name] = self._typed()
            else:
                self._operation(document)
        return document

    def _operation(self, document: Document) -> None:
        if not self._sees("{"):
            document.kind = self._take()
            if self._kind() == "word":
                document.name = self._take()
            if self._sees("("):
                document.defaults = self._variables()
            self._directives()
        document.selection = self._selection()

    def _kind(self) -> str:
        return self._tokens[self._at][0] if self._at < len(self._tokens) else ""

    def _sees(self, *wanted: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at][1] in wanted

    def _take(self, wanted: str = "") -> str:
        if self._at >= len(self._tokens) or (wanted and not self._sees(wanted)):
            raise ValueError(f"token {self._at}: expected {wanted or 'more'}")
        self._at += 1
        return self._tokens[self._at - 1][1]

    def _variables(self) -> dict[str, Any]:
        defaults: dict[str, Any] = {}
        self._take("(")
        while not self._sees(")"):
            self._take("$")
            name = self._take()
            self._take(":")
            while self._sees("[", "]", "!") or self._kind() == "word":
                self._take()
            if self._sees("="):
                self._take("=")
                defaults[name] = self._value()
        self._take(")")
        return defaults

    def _directives(self) -> None:
        while self._sees("@"):
            self._take("@")
            self._take()
            self._arguments()

    def _arguments(self) -> dict[str, Any]:
        return self._pairs("(", ")") if self._sees("(") else {}

    def _pairs(self, opening: str, closing: str) -> dict[str, Any]:
        pairs: dict[str, Any] = {}
        self._take(opening)
        while not self._sees(closing):
            name = self._take()
            self._take(":")
            pairs[name] = self._value()
        self._take(closing)
        return pairs

    def _value(self) -> Any:
        if self._sees("{"):
            return self._pairs("{", "}")
        if self._sees("["):
            return self._list()
        kind, token = self._kind(), self._take()
        if token == "$":
            return Variable(self._take())
        if kind == "text":
            return token[3:-3] if token.startswith('"""') else json.loads(token)
        return json.loads(token) if kind == "number" else _WORDS.get(token, token)

    def _list(self) -> list[Any]:
        values = []
        self._take("[")
        while not self._sees("]"):
            values.append(self._value())
        self._take("]")
        return values

    def _selection(self) -> tuple[Selected, ...]:
        chosen: list[Selected] = []
        self._take("{")
        while not self._sees("}"):
            chosen.append(self._spread() if self._sees("...") else self._field())
        self._take("}")
        return tuple(chosen)

    def _spread(self) -> Selected:
        self._take("...")
        if self._sees("on", "@", "{"):
            return self._typed()
        name = self._take()
        self._directives()
        return Spread(name)

    def _typed(self) -> Inline:
        on = None
        if self._sees("on"):
            self._take("on")
            on = self._take()
        self._directives()
        return Inline(on, self._selection())

    def _field(self) -> Field:
        alias = name = self._take()
        if self._sees(":"):
            self._take(":")
            name = self._take()
        arguments = self._arguments()
        self._directives()
        return Field(alias, name, arguments, self._selection() if self._sees("{") else None)


def _select(value: Any, selection: tuple[Selected, ...], document: Document, given: Mapping[str, Any]) -> Any:
    if value is None:
        return None
    if isinstance(value, list):
        return [_select(item, selection, document, given) for item in value]
    answer: dict[str, Any] = {}
    for chosen in selection:
        if isinstance(chosen, Field):
            answer[chosen.alias] = _resolve(value, chosen, document, given)
            continue
        part = document.fragments[chosen.name] if isinstance(chosen, Spread) else chosen
        if part.on in (None, value.get("__typename"), *value.get("__also", ())):
            answer.update(_select(value, part.selection, document, given))
    return answer


def _resolve(value: Mapping[str, Any], chosen: Field, document: Document, given: Mapping[str, Any]) -> Any:
    found = value.get(chosen.name)
    if callable(found):
        found = found(_fill(chosen.arguments, given))
    return found if chosen.selection is None else _select(found, chosen.selection, document, given)


def _fill(value: Any, given: Mapping[str, Any]) -> Any:
    if isinstance(value, Variable):
        return given.get(value.name)
    if isinstance(value, list):
        return [_fill(item, given) for item in value]
    if isinstance(value, Mapping):
        return {name: _fill(item, given) for name, item in value.items()}
    return value
