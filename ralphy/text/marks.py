"""The nodes of a YAML or JSON text, each of which knows its line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

# Without a resolver: every scalar is a text, and what it means is its reader's business. In C, if PyYAML has it.
_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def documents(text: str) -> list[yaml.Node]:
    """The root of each document; raises yaml.YAMLError, or RecursionError for what is nested too deep."""
    return list(yaml.compose_all(text, Loader=_LOADER))


def nodes(root: yaml.Node | None) -> Iterator[yaml.Node]:
    """A node and all that are in it, in the order of the text."""
    if root is not None:
        yield root
    if isinstance(root, yaml.MappingNode):
        for key, value in root.value:
            yield from nodes(key)
            yield from nodes(value)
    elif isinstance(root, yaml.SequenceNode):
        for item in root.value:
            yield from nodes(item)


def line(node: yaml.Node) -> int:
    """The line, from 1, on which a node begins."""
    return int(node.start_mark.line) + 1
