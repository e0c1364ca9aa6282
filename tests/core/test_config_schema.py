"""schemas/config.schema.json says what `ralphy.config.values` and the settings' rules say, both ways."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from ralphy.agents.presets import PRESETS
from ralphy.config.fields import accept, all_fields, check_fields
from ralphy.config.values import Check

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "schemas" / "config.schema.json").read_text(encoding="utf-8")
)
KINDS = {"string": "str", "boolean": "bool", "integer": "int", "number": "float", "array": "tuple[str, ...]"}


def leaves() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every setting of the schema: dotted name and node."""
    for name, node in SCHEMA["properties"].items():
        if "properties" in node:
            yield from ((f"{name}.{key}", inner) for key, inner in node["properties"].items())
        else:
            yield name, node


def objects(node: Any) -> Iterator[dict[str, Any]]:
    if isinstance(node, dict):
        if "properties" in node:
            yield node
        for value in node.values():
            yield from objects(value)


def as_json(value: object) -> object:
    return json.loads(json.dumps(value))


LEAVES = dict(leaves())
CHECK_NODES: dict[str, dict[str, Any]] = SCHEMA["properties"]["checks"]["items"]["properties"]


def test_the_schema_is_valid_and_names_the_settings_of_the_dataclasses_and_no_other() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"] == "https://ralphy.dev/schemas/config.schema.json"
    assert list(LEAVES) == list(all_fields())
    assert list(CHECK_NODES) == [one.name for one in fields(Check)] == list(check_fields())
    assert [node for node in objects(SCHEMA) if node.get("additionalProperties") is not False] == []
    assert LEAVES["agent.preset"]["enum"] == list(PRESETS)


BOUNDS = {"string": {"pattern"}, "integer": {"minimum", "maximum"}, "number": {"exclusiveMinimum", "maximum"},
          "array": {"maxItems", "items"}}  # fmt: skip


def test_a_setting_is_that_of_its_dataclass_with_words_bounds_and_an_example() -> None:
    """A text has a pattern, a number a bound at each end, a list a greatest length."""
    for name, node in LEAVES.items():
        field = all_fields()[name]
        assert (name, node["default"]) == (name, as_json(field.default))
        assert name == "checks" or kind_of(node) == field.kind, name
        assert node["description"].endswith(".") and field.expected, name
        for example in node["examples"]:
            assert Draft202012Validator(node).is_valid(example), name
            accept(field, example)
        for one in (node, *node.get("anyOf", ())):
            assert BOUNDS.get(type_of(one), set()) <= one.keys(), name
        if name.startswith("models."):
            assert "replaced with the default, with a warning" in node["description"], name


def test_the_parts_of_a_check_are_those_of_its_dataclass_and_every_section_has_a_description() -> None:
    for one in fields(Check):
        assert (one.default is MISSING) == (one.name in SCHEMA["properties"]["checks"]["items"]["required"])
    assert CHECK_NODES["timeout_s"]["default"] == Check("a", "b").timeout_s
    assert {key: kind_of(CHECK_NODES[key]) for key in check_fields()} == {
        key: field.kind for key, field in check_fields().items()
    }
    assert all(node["description"] for node in (*SCHEMA["properties"].values(), *CHECK_NODES.values()))


def test_a_model_has_one_of_the_known_names_or_a_full_one() -> None:
    models = PRESETS["claude"].models
    for name in ("sonnet", "opus", "haiku", "claude-opus-4-5-20251101", "claude-sonnet-4.5[1m]"):
        assert models.fullmatch(name)
    for name in ("", "gpt", "sonnet ", "sonnet\n", "--model", "claude-", "claude-A", "opus; rm -rf ."):
        assert not models.fullmatch(name)


def type_of(node: dict[str, Any]) -> str:
    """The JSON type of a node, null aside; "" if it names none."""
    types = node.get("type", "")
    return types if isinstance(types, str) else next(name for name in types if name != "null")


def kind_of(node: dict[str, Any]) -> str:
    """The annotation that a setting with this node has."""
    if "enum" in node:
        return "str"
    kind = "tuple[str, ...]" if "anyOf" in node else KINDS[type_of(node)]
    return f"{kind} | None" if "null" in node.get("type", ()) else kind
