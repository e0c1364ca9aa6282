"""A quick yes or no to "does this value fit the schema?", compiled from a JSON Schema into closures.

It answers as jsonschema's Draft202012Validator does, some thirty times faster, and says nothing about the
reason: whoever needs that asks jsonschema, on the rare refusal. It knows the keywords that Ralphy's schemas
use, and refuses to compile any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Fits = Callable[[Any], bool]
Schema = Mapping[str, Any]

ANNOTATIONS = {"$schema", "$id", "$comment", "$defs", "title", "description", "examples", "default"}


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
            return _anything if schema else _nothing
        unknown = [key for key in schema if key not in _KEYWORDS and key not in ANNOTATIONS]
        if unknown:
            raise ValueError(f"the schema uses keywords that are not known here: {', '.join(unknown)}")
        made = [compiled(self, schema) for key, compiled in _KEYWORDS.items() if key in schema]
        return _all([fits for fits in made if fits])

    def reference(self, schema: Schema) -> Fits:
        name = schema["$ref"]
        if name not in self._references:
            # A schema may contain itself: what it finds while it is compiled looks the result up later.
            self._references[name] = lambda value: self._references[name](value)
            self._references[name] = self._compiled(name)
        return self._references[name]

    def _compiled(self, name: str) -> Fits:
        file, _, pointer = name.partition("#")
        if file:
            if file not in self._siblings:
                raise ValueError(f"the $ref {name} leads nowhere")
            return _Document(self._siblings[file], self._siblings).reference({"$ref": f"#{pointer}"})
        found: Any = self._root
        for step in pointer.split("/")[1:]:
            if not isinstance(found, Mapping) or step not in found:
                raise ValueError(f"the $ref {name} leads nowhere")
            found = found[step]
        return self.check(found)


def _anything(_: Any) -> bool:
    return True


def _nothing(_: Any) -> bool:
    return False


def _all(checks: Sequence[Fits]) -> Fits:
    if not checks:
        return _anything
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:
        first, second = checks
        return lambda value: first(value) and second(value)

    def fits(value: Any) -> bool:
        for check in checks:  # noqa: SIM110  # a loop is twice as fast as all() here
            if not check(value):
                return False
        return True

    return fits


def _is_integer(value: Any) -> bool:
    return type(value) is int or (type(value) is float and value.is_integer())


_TYPES: dict[str, Fits] = {
    "object": lambda value: type(value) is dict,
    "array": lambda value: type(value) is list,
    "string": lambda value: type(value) is str,
    "boolean": lambda value: type(value) is bool,
    "null": lambda value: value is None,
    "integer": _is_integer,
    "number": lambda value: type(value) is int or type(value) is float,
}


def _type(_: _Document, schema: Schema) -> Fits:
    named = schema["type"]
    if isinstance(named, str):
        return _TYPES[named]
    checks = [_TYPES[name] for name in named]
    return lambda value: any(check(value) for check in checks)


def _constants(values: Sequence[Any]) -> Fits:
    if not all(value is None or isinstance(value, (str, bool, int, float)) for value in values):
        raise ValueError("enum and const hold plain values only")
    # True equals 1 for Python, but not for JSON.
    allowed = {(type(value) is bool, value) for value in values}
    scalars = (str, bool, int, float, type(None))
    return lambda value: type(value) in scalars and (type(value) is bool, value) in allowed


def _properties(document: _Document, schema: Schema) -> Fits:
    """`properties` and `additionalProperties` together, in one pass over the value."""
    checks = {name: document.check(each) for name, each in schema.get("properties", {}).items()}
    others = document.check(schema.get("additionalProperties", True))
    default = None if others is _anything else others

    def fits(value: Any) -> bool:
        if type(value) is dict:
            for name, item in value.items():
                check = checks.get(name, default)
                if check is not None and not check(item):
                    return False
        return True

    return fits


def _additional(document: _Document, schema: Schema) -> Fits | None:
    return None if "properties" in schema else _properties(document, schema)


def _required(_: _Document, schema: Schema) -> Fits:
    names = tuple(schema["required"])

    def fits(value: Any) -> bool:
        if type(value) is dict:
            for name in names:
                if name not in value:
                    return False
        return True

    return fits


def _items(document: _Document, schema: Schema) -> Fits:
    check = document.check(schema["items"])

    def fits(value: Any) -> bool:
        if type(value) is list:
            for item in value:
                if not check(item):
                    return False
        return True

    return fits


def _length(types: tuple[type, ...], fewest: int, most: float) -> Fits:
    return lambda value: type(value) not in types or fewest <= len(value) <= most


def _pattern(_: _Document, schema: Schema) -> Fits:
    found = re.compile(schema["pattern"]).search
    return lambda value: type(value) is not str or found(value) is not None


def _any_of(document: _Document, schema: Schema) -> Fits:
    checks = [document.check(each) for each in schema["anyOf"]]
    return lambda value: any(check(value) for check in checks)


def _not(document: _Document, schema: Schema) -> Fits:
    check = document.check(schema["not"])
    return lambda value: not check(value)


def _if(document: _Document, schema: Schema) -> Fits:
    condition = document.check(schema["if"])
    then = document.check(schema.get("then", True))
    otherwise = document.check(schema.get("else", True))
    return lambda value: then(value) if condition(value) else otherwise(value)


def _nothing_more(*_: object) -> None:
    """`then` and `else` are compiled with their `if`, and mean nothing without one."""


_NUMBERS = (int, float)

# In the order in which they are asked: what is cheap and often wrong comes first.
_KEYWORDS: dict[str, Callable[[_Document, Schema], Fits | None]] = {
    "type": _type,
    "const": lambda _, schema: _constants([schema["const"]]),
    "enum": lambda _, schema: _constants(schema["enum"]),
    "required": _required,
    "minLength": lambda _, schema: _length((str,), schema["minLength"], float("inf")),
    "maxLength": lambda _, schema: _length((str,), 0, schema["maxLength"]),
    "minItems": lambda _, schema: _length((list,), schema["minItems"], float("inf")),
    "maxItems": lambda _, schema: _length((list,), 0, schema["maxItems"]),
    "minimum": lambda _, schema: lambda value: type(value) not in _NUMBERS or value >= schema["minimum"],
    "exclusiveMinimum": lambda _, schema: (
        lambda value: type(value) not in _NUMBERS or value > schema["exclusiveMinimum"]
    ),
    "maximum": lambda _, schema: lambda value: type(value) not in _NUMBERS or value <= schema["maximum"],
    "pattern": _pattern,
    "properties": _properties,
    "additionalProperties": _additional,
    "items": _items,
    "$ref": _Document.reference,
    "anyOf": _any_of,
    "allOf": lambda document, schema: _all([document.check(each) for each in schema["allOf"]]),
    "not": _not,
    "if": _if,
    "then": _nothing_more,
    "else": _nothing_more,
}
