"""The line numbers of values in a JSON text, for messages: YAML reads JSON, and its nodes know their lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

# A surrogate pair as JSON escapes it, or any other escape.
_ESCAPE = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\.")
# Characters of JSON that YAML refuses or takes for the end of a line.
_NOT_FOR_YAML = re.compile("[\t\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
# Without a resolver: every scalar is a text. In C, if PyYAML has it.
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

ValuePath = tuple[str | int, ...]  # keys and indexes


def lines_of(text: str, paths: Sequence[ValuePath]) -> list[int]:
    """The line, from 1, of the value at each path, or of the nearest value around it that is there."""
    root = _root(text)
    return [_line(_nearest(root, path)) for path in paths]


def line_of_second(text: str, name: str) -> int:
    """The line at which an object has a key for the second time."""
    for node in _nodes(_root(text)):
        keys = [key for key, _ in node.value if key.value == name] if isinstance(node, yaml.MappingNode) else []
        if len(keys) > 1:
            return _line(keys[1])
    return 1


def line_of_number(text: str, literal: str) -> int:
    """The line of a number or a word that is not part of a text."""
    plain = (node for node in _nodes(_root(text)) if isinstance(node, yaml.ScalarNode) and not node.style)
    return next((_line(node) for node in plain if node.value == literal), 1)


def _root(text: str) -> yaml.Node | None:
    """The YAML node of a JSON text; None if YAML cannot read it."""
    pairs_read = _ESCAPE.sub(lambda escape: json.loads(f'"{escape[0]}"') if len(escape[0]) > 6 else escape[0], text)
    try:
        root: yaml.Node | None = yaml.compose(_NOT_FOR_YAML.sub(" ", pairs_read), Loader=_LOADER)
    except (yaml.YAMLError, RecursionError):
        return None
    return root


def _nodes(root: yaml.Node | None) -> Iterator[yaml.Node]:
    """A node and all nodes in it, in the order of the text."""
    if root is not None:
        yield root
    if isinstance(root, yaml.MappingNode):
        for key, value in root.value:
            yield from _nodes(key)
            yield from _nodes(value)
    elif isinstance(root, yaml.SequenceNode):
        for item in root.value:
            yield from _nodes(item)


def _nearest(node: yaml.Node | None, path: ValuePath) -> yaml.Node | None:
    for step in path:
        inner = None
        if isinstance(node, yaml.MappingNode):
            inner = next((value for key, value in node.value if key.value == step), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            inner = node.value[step]
        if inner is None:
            break
        node = inner
    return node


def _line(node: yaml.Node | None) -> int:
    return int(node.start_mark.line) + 1 if node else 1
