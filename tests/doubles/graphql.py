"""Just enough GraphQL to answer `gh`: an executor over dictionaries, for what graphql-core parses.

The world is a tree of dictionaries whose values are plain, or callables that take the arguments.
A field that the world does not have is null, so a newer `gh` that asks for more still gets an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import graphql
from graphql.utilities import value_from_ast_untyped


class RefusedError(Exception):
    """An answer with `errors` in place of data, as the real API gives it."""

    def __init__(self, message: str, kind: str = "UNPROCESSABLE", path: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.path = path


@dataclass(frozen=True, slots=True)
class Document:
    """One operation and the fragments that it may spread."""

    operation: graphql.OperationDefinitionNode
    fragments: Mapping[str, graphql.FragmentDefinitionNode]

    @property
    def kind(self) -> str:
        """`query` or `mutation`."""
        return self.operation.operation.value


def parse(source: str) -> Document:
    """The document's only operation; raises ValueError when it is not GraphQL."""
    try:
        parts = graphql.parse(source).definitions
    except graphql.GraphQLError as error:
        raise ValueError(str(error)) from error
    operation = next(part for part in parts if isinstance(part, graphql.OperationDefinitionNode))
    fragments = (part for part in parts if isinstance(part, graphql.FragmentDefinitionNode))
    return Document(operation, {part.name.value: part for part in fragments})


def execute(world: Any, document: Document, variables: Mapping[str, Any]) -> Any:
    """The `data` of an answer."""
    defaults = {
        one.variable.name.value: value_from_ast_untyped(one.default_value)
        for one in document.operation.variable_definitions or ()
        if one.default_value
    }
    return _select(world, document.operation.selection_set, document, {**defaults, **variables})


def _select(value: Any, chosen: graphql.SelectionSetNode, document: Document, given: Mapping[str, Any]) -> Any:
    if value is None:
        return None
    if isinstance(value, Sequence):
        return [_select(item, chosen, document, given) for item in value]
    answer: dict[str, Any] = {}
    for node in chosen.selections:
        if isinstance(node, graphql.FieldNode):
            answer[(node.alias or node.name).value] = _resolve(value, node, document, given)
            continue
        part = document.fragments[node.name.value] if isinstance(node, graphql.FragmentSpreadNode) else node
        assert isinstance(part, graphql.InlineFragmentNode | graphql.FragmentDefinitionNode)
        kind = part.type_condition.name.value if part.type_condition else None
        if kind in (None, value.get("__typename"), *value.get("__also", ())):
            answer.update(_select(value, part.selection_set, document, given))
    return answer


def _resolve(value: Mapping[str, Any], node: graphql.FieldNode, document: Document, given: Mapping[str, Any]) -> Any:
    found = value.get(node.name.value)
    if callable(found):
        arguments = {one.name.value: value_from_ast_untyped(one.value, dict(given)) for one in node.arguments or ()}
        found = found({name: None if value is graphql.Undefined else value for name, value in arguments.items()})
    return _select(found, node.selection_set, document, given) if node.selection_set else found
