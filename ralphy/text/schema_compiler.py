"""A quick yes or no to "does this value fit the schema?", compiled from a JSON Schema into closures.

It answers as jsonschema's Draft202012Validator does, some twenty times faster, and gives no reason: whoever
needs that asks jsonschema, on the rare refusal. It knows the keywords that Ralphy's schemas use, and refuses to compile
any other (docs/decisions/005-a-compiled-shape-check.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Fits = Callable[[Any], bool]
Schema = Mapping[str, Any]

ANNOTATIONS = {"$schema", "$id", "$comment", "$defs", "title", "description", "examples", "default"}
_SCALARS = (str, bool, int, float, type(None))
_NUMBERS = (int, float)


def compile_check(schema: Schema, siblings: Mapping[str, Schema] | None = None) -> Fits:
    """Whether a value, as `ralphy.text.strict_json.parse` gives it, fits `schema`.

    `siblings` holds the schemas that a `$ref` may name, such as "prd.schema.json#/$defs/story". Raises
    ValueError for a keyword it does not know and for a `$ref` that leads nowhere.
    """
    return _Document(schema, siblings or {}).check(schema)


class _Document:
    """One schema with its `$ref`s, each compiled once."""

    def __init__(self, root: Schema, siblings: Mapping[str, Schema]) -> None:
        self._root = root
        self._siblings = siblings
        self._references: dict[str, Fits] = {}

    def check(self, schema: Schema | bool) -> Fits:
        if isinstance(schema, bool):
            return lambda _: schema
        if unknown := schema.keys() - _KEYWORDS.keys() - _WITH_OTHERS - ANNOTATIONS:
            raise ValueError(f"the schema uses keywords that are not known here: {', '.join(unknown)}")
        wanted = dict.fromkeys(compiled for key, compiled in _KEYWORDS.items() if key in schema)  # each once
        return _all([compiled(self, schema) for compiled in wanted])

    def checks(self, schemas: Sequence[Schema]) -> list[Fits]:
        return [self.check(each) for each in schemas]

    def reference(self, schema: Schema) -> Fits:
        name = schema["$ref"]
        if name not in self._references:
            # A schema may contain itself: what it finds while it is compiled looks the result up later.
            self._references[name] = lambda value: self._references[name](value)
            self._references[name] = self._compiled(name)
        return self._references[name]

    def _compiled(self, name: str) -> Fits:
        file, _, pointer = name.partition("#")
        try:
            if file:
                return _Document(self._siblings[file], self._siblings).reference({"$ref": f"#{pointer}"})
            found: Any = self._root
            for step in pointer.split("/")[1:]:
                found = found[step]
        except KeyError:
            raise ValueError(f"the $ref {name} leads nowhere") from None
        return self.check(found)


def _all(checks: Sequence[Fits]) -> Fits:
    if len(checks) == 1:
        return checks[0]

    def fits(value: Any) -> bool:
        for check in checks:  # noqa: SIM110  # a loop is twice as fast as all() here
            if not check(value):
                return False
        return True

    return fits


def _of(types: tuple[type, ...], fits: Fits) -> Fits:
    """A keyword that says something of these types alone."""
    return lambda value: type(value) not in types or fits(value)


_TYPES: dict[str, Fits] = {
    "object": lambda value: type(value) is dict,
    "array": lambda value: type(value) is list,
    "string": lambda value: type(value) is str,
    "boolean": lambda value: type(value) is bool,
    "null": lambda value: value is None,
    "integer": lambda value: type(value) is int or (type(value) is float and value.is_integer()),
    "number": lambda value: type(value) is int or type(value) is float,
}


def _type(_: _Document, schema: Schema) -> Fits:
    named = schema["type"]
    return _TYPES[named] if isinstance(named, str) else _any([_TYPES[name] for name in named])


def _any(checks: Sequence[Fits]) -> Fits:
    return lambda value: any(check(value) for check in checks)


def _constants(values: Sequence[Any]) -> Fits:
    if not all(type(value) in _SCALARS for value in values):
        raise ValueError("enum and const hold plain values only")
    # True equals 1 for Python, but not for JSON.
    allowed = {(type(value) is bool, value) for value in values}
    return lambda value: type(value) in _SCALARS and (type(value) is bool, value) in allowed


def _properties(document: _Document, schema: Schema) -> Fits:
    """`properties` and `additionalProperties` together, in one pass over the value."""
    checks = {name: document.check(each) for name, each in schema.get("properties", {}).items()}
    others = document.check(schema.get("additionalProperties", True))
    return _of((dict,), lambda value: all(checks.get(name, others)(item) for name, item in value.items()))


def _required(_: _Document, schema: Schema) -> Fits:
    names = frozenset(schema["required"])
    return _of((dict,), lambda value: names <= value.keys())


def _items(document: _Document, schema: Schema) -> Fits:
    check = document.check(schema["items"])
    return _of((list,), lambda value: all(map(check, value)))


def _pattern(_: _Document, schema: Schema) -> Fits:
    found = re.compile(schema["pattern"]).search
    return _of((str,), lambda value: found(value) is not None)


def _not(document: _Document, schema: Schema) -> Fits:
    check = document.check(schema["not"])
    return lambda value: not check(value)


def _if(document: _Document, schema: Schema) -> Fits:
    condition, then, otherwise = document.checks([schema["if"], schema.get("then", True), schema.get("else", True)])
    return lambda value: then(value) if condition(value) else otherwise(value)


# In the order in which they are asked: what is cheap and often wrong comes first.
_KEYWORDS: dict[str, Callable[[_Document, Schema], Fits]] = {
    "type": _type,
    "const": lambda _, schema: _constants([schema["const"]]),
    "enum": lambda _, schema: _constants(schema["enum"]),
    "required": _required,
    "minLength": lambda _, schema: _of((str,), lambda value: len(value) >= schema["minLength"]),
    "maxLength": lambda _, schema: _of((str,), lambda value: len(value) <= schema["maxLength"]),
    "minItems": lambda _, schema: _of((list,), lambda value: len(value) >= schema["minItems"]),
    "maxItems": lambda _, schema: _of((list,), lambda value: len(value) <= schema["maxItems"]),
    "minimum": lambda _, schema: _of(_NUMBERS, lambda value: value >= schema["minimum"]),
    "exclusiveMinimum": lambda _, schema: _of(_NUMBERS, lambda value: value > schema["exclusiveMinimum"]),
    "maximum": lambda _, schema: _of(_NUMBERS, lambda value: value <= schema["maximum"]),
    "pattern": _pattern,
    "properties": _properties,
    "additionalProperties": _properties,
    "items": _items,
    "$ref": _Document.reference,
    "anyOf": lambda document, schema: _any(document.checks(schema["anyOf"])),
    "allOf": lambda document, schema: _all(document.checks(schema["allOf"])),
    "not": _not,
    "if": _if,
}
_WITH_OTHERS = {"then", "else"}  # they are compiled with their `if`, and mean nothing without one
