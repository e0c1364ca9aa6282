"""Strict YAML with positions: plain data from one document, and the line that every value stands on.

No tag constructs an object, no alias multiplies, and scalars follow YAML 1.2: `07:00`, `no` and
`1_000` are text, not numbers or booleans.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from ralphy.errors import InvalidInput
from ralphy.text.line_numbers import ValuePath
from ralphy.text.strict_json import decode, preview

MAX_BYTES = 256 * 1024
MAX_DEPTH = 20


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # in C, if PyYAML has it
    """Knows the words of YAML 1.2 for null, booleans and numbers; every other scalar is text."""

    yaml_implicit_resolvers: Mapping[str, Any] = {}


_WORDS = {
    "null": (r"~|null|Null|NULL|", ("~", "n", "N", "")),
    "bool": (r"true|True|TRUE|false|False|FALSE", tuple("tTfF")),
    "int": (r"[-+]?(?:0|[1-9][0-9]{0,15})", tuple("-+0123456789")),
    "float": (r"[-+]?(?:[0-9]{0,16}\.[0-9]{1,16}|[0-9]{1,16})(?:[eE][-+]?[0-9]{1,3})?", tuple("-+.0123456789")),
}
for _kind, (_pattern, _first) in _WORDS.items():
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(f"^(?:{_pattern})$"), _first)
_PLAIN_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in (*_WORDS, "str", "seq", "map")}


@dataclass(frozen=True, slots=True)
class Document:
    """`lines` counts from 1 and is keyed by the path of a value, such as ("checks", 0, "run")."""

    root: object
    lines: Mapping[ValuePath, int]


def parse(data: bytes, where: str) -> Document:
    """Dicts, lists, texts, numbers, booleans and None; an empty document is None.

    Raises InvalidInput, with `where` as "path:line", for what is not YAML or not plain.
    """
    text = decode(data, where, MAX_BYTES)
    try:
        roots = list(yaml.compose_all(text, Loader=_Loader))
    except RecursionError:
        raise InvalidInput(f"is nested deeper than {MAX_DEPTH} levels", where=where) from None
    except yaml.YAMLError as error:
        raise _parse_error(error, text, where) from None
    if not roots:
        return Document(None, {})
    reading = _Reading(where)
    if len(roots) > 1:
        raise reading.refusal(roots[1], "has a second document", 'remove the line "---" between them')
    return Document(reading.value(roots[0], ()), reading.lines)


class _Reading:
    """One pass over the nodes of one document."""

    def __init__(self, where: str) -> None:
        self.lines: dict[ValuePath, int] = {}
        self._where = where
        self._seen: set[int] = set()  # an alias is the very node that it names
        self._constructor = _Loader("")

    def value(self, node: yaml.Node, path: ValuePath) -> object:
        self.lines.setdefault(path, node.start_mark.line + 1)
        if len(path) > MAX_DEPTH:
            raise self.refusal(node, f"is nested deeper than {MAX_DEPTH} levels")
        if id(node) in self._seen:
            raise self.refusal(node, "uses an anchor and an alias (& and *)", "write the value out")
        if node.tag not in _PLAIN_TAGS:
            raise self.refusal(node, "uses a tag (!)", "write the plain value")
        self._seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(item, (*path, n)) for n, item in enumerate(node.value)]
        return self._constructor.construct_object(node)

    def _mapping(self, node: yaml.MappingNode, path: ValuePath) -> dict[str, object]:
        mapping: dict[str, object] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self.refusal(key, "has a list or a mapping as a key", "keys are plain words")
            name = str(key.value)
            if name in mapping:
                first = self.lines[(*path, name)]
                raise self.refusal(key, f"has the key {preview(name, 40)} twice (first on line {first})")
            self.lines[(*path, name)] = key.start_mark.line + 1
            mapping[name] = self.value(value, (*path, name))
        return mapping

    def refusal(self, node: yaml.Node, what: str, hint: str = "") -> InvalidInput:
        return InvalidInput(what, where=f"{self._where}:{node.start_mark.line + 1}", hint=hint)


def _parse_error(error: yaml.YAMLError, text: str, where: str) -> InvalidInput:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be parsed"
    index = mark.line if mark else text.count("\n", 0, getattr(error, "position", 0) or 0)
    lines = text.split("\n")
    hint = "check the indentation, the colons, the quotes and the brackets; a text with [ ] { } or , needs quotes"
    if index < len(lines) and "\t" in lines[index]:
        hint = "YAML indentation needs spaces: replace the tab"
    return InvalidInput(f"is not YAML: {problem}", where=f"{where}:{index + 1}", hint=hint)
