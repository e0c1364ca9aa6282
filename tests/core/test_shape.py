"""The published schemas of prd.json and of drafts: valid, and each field explained with examples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from ralphy.resources import schema

PRD = schema("prd")
REGISTRY: Registry[Any] = Registry().with_resource(PRD["$id"], Resource.from_contents(PRD))


@pytest.mark.parametrize("name", ["prd", "stories"])
def test_the_published_schemas_are_valid_and_say_everything_with_examples(name: str) -> None:
    Draft202012Validator.check_schema(schema(name))
    assert schema(name)["$id"] == f"https://ralphy.dev/schemas/{name}.schema.json"
    for path, each in fields(schema(name)):
        assert each.get("$ref") or each.get("description"), path
        assert each.get("$ref") or each.get("examples"), path
        frame = {key: schema(name)[key] for key in ("$schema", "$id", "$defs") if key in schema(name)}
        validator = Draft202012Validator({**frame, **each}, registry=REGISTRY)
        for good in each.get("examples", ()):
            assert not [error.message for error in validator.iter_errors(good)], path


def fields(part: dict[str, Any], path: str = "") -> Any:
    for keyword in ("properties", "$defs"):
        for name, each in part.get(keyword, {}).items():
            yield f"{path}/{name}", each
            yield from fields(each, f"{path}/{name}")


@pytest.mark.parametrize("name", ["prd", "stories"])
def test_a_demand_that_its_keyword_does_not_explain_is_put_into_words(name: str) -> None:
    for node in refusing(schema(name)):
        assert not {"pattern", "not", "const", "anyOf"} & node.keys() or "$comment" in node, node


def refusing(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The parts of a schema whose errors are told: those of `anyOf`, `not` and `if` never are."""
    yield node
    for keyword in ("properties", "$defs", "dependentSchemas"):
        for each in node.get(keyword, {}).values():
            yield from refusing(each)
    for keyword in ("items", "then", "else", "additionalProperties"):
        if keyword in node:
            yield from refusing(node[keyword])
