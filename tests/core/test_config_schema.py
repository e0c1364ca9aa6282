"""schemas/config.schema.json says what `ralphy.config.values` and the settings' rules say, both ways."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

import pytest
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


def test_the_schema_is_valid_draft_2020_12() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$id"] == "https://ralphy.dev/schemas/config.schema.json"


def test_schema_and_dataclasses_name_the_same_settings_in_the_same_order() -> None:
    assert list(LEAVES) == list(all_fields())
    assert list(CHECK_NODES) == [one.name for one in fields(Check)] == list(check_fields())


def test_unknown_keys_are_refused_at_every_level() -> None:
    assert [node for node in objects(SCHEMA) if node.get("additionalProperties") is not False] == []


@pytest.mark.parametrize("name", LEAVES)
def test_a_setting_has_the_default_of_its_dataclass(name: str) -> None:
    assert LEAVES[name]["default"] == as_json(all_fields()[name].default)


def test_editors_are_offered_the_presets_that_there_are() -> None:
    assert LEAVES["agent.preset"]["enum"] == list(PRESETS)


def test_a_checks_default_timeout_is_that_of_its_dataclass() -> None:
    for one in fields(Check):
        assert (one.default is MISSING) == (one.name in SCHEMA["properties"]["checks"]["items"]["required"])
    assert CHECK_NODES["timeout_s"]["default"] == Check("a", "b").timeout_s


@pytest.mark.parametrize("name", LEAVES)
def test_a_setting_has_a_description_and_an_example_that_is_accepted(name: str) -> None:
    node, field = LEAVES[name], all_fields()[name]
    assert node["description"].endswith(".")
    for example in node["examples"]:
        assert Draft202012Validator(node).is_valid(example)
        accept(field, example)


def test_every_section_and_every_part_of_a_check_has_a_description() -> None:
    assert all(node["description"] for node in (*SCHEMA["properties"].values(), *CHECK_NODES.values()))


@pytest.mark.parametrize("name", [name for name in LEAVES if name != "checks"])
def test_a_setting_has_the_type_of_its_dataclass(name: str) -> None:
    assert kind_of(LEAVES[name]) == all_fields()[name].kind


@pytest.mark.parametrize("key", check_fields())
def test_a_part_of_a_check_has_the_type_of_its_dataclass(key: str) -> None:
    assert kind_of(CHECK_NODES[key]) == check_fields()[key].kind


@pytest.mark.parametrize("name", LEAVES)
def test_what_a_setting_takes_has_bounds_and_words(name: str) -> None:
    """A text has a pattern, a number a bound at each end, a list a greatest length."""
    assert all_fields()[name].expected
    for node in (LEAVES[name], *LEAVES[name].get("anyOf", ())):
        bounds = {"string": {"pattern"}, "integer": {"minimum", "maximum"}, "number": {"exclusiveMinimum", "maximum"},
                  "array": {"maxItems", "items"}}  # fmt: skip
        assert bounds.get(type_of(node), set()) <= node.keys()


def test_the_description_of_models_says_what_happens_to_a_wrong_name() -> None:
    for name in LEAVES:
        if name.startswith("models."):
            assert "replaced with the default, with a warning" in LEAVES[name]["description"]


@pytest.mark.parametrize("name", ["sonnet", "opus", "haiku", "claude-opus-4-5-20251101", "claude-sonnet-4.5[1m]"])
def test_a_model_has_one_of_the_known_names_or_a_full_one(name: str) -> None:
    assert PRESETS["claude"].models.fullmatch(name)


@pytest.mark.parametrize("name", ["", "gpt", "sonnet ", "sonnet\n", "--model", "claude-", "claude-A", "opus; rm -rf ."])
def test_what_could_be_anything_else_is_no_model(name: str) -> None:
    assert not PRESETS["claude"].models.fullmatch(name)


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
