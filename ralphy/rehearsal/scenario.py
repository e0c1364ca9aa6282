"""The scenario file: found, read, and checked by its schema."""

from __future__ import annotations

import json
import os
import re
from argparse import Namespace
from pathlib import Path
from types import NoneType
from typing import Any

import yaml

from ralphy.errors import InvalidInput
from ralphy.rehearsal.context import Context
from ralphy.rehearsal.counts import number_of_run
from ralphy.rehearsal.turns import Turn, check_outbox, choose_turn
from ralphy.resources import schema

NAMES = (".ralphy/rehearsal.yaml", ".ralphy/rehearsal.yml", ".ralphy/rehearsal.json")
TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,), "array": (list,), "string": (str,), "boolean": (bool,), "null": (NoneType,),
    "integer": (int,), "number": (int, float),
}  # fmt: skip


def load_turn(context: Context, flags: Namespace) -> Turn:
    """What this run plays; InvalidInput when the scenario or the call does not allow it."""
    scenario = load_scenario(context.cwd)
    turn = choose_turn(scenario, context._replace(number=number_of_run(context, flags.new_session)))
    check_outbox(turn, context)
    return turn


def load_scenario(cwd: Path) -> dict[str, Any]:
    """The scenario, checked; empty when there is none, which plays the defaults.

    InvalidInput when the file is missing, unreadable or says something unknown.
    """
    path = _find(cwd)
    if path is None:
        return {}
    try:
        text = path.read_text(encoding="utf-8")
        scenario = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text) or {}
    except (OSError, ValueError, yaml.YAMLError) as problem:
        raise InvalidInput(f"cannot be read: {problem}", where=str(path)) from problem
    check_scenario(scenario, str(path))
    return dict(scenario)


def _find(cwd: Path) -> Path | None:
    """RALPHY_REHEARSAL, else the repository's own scenario, else None."""
    if named := os.environ.get("RALPHY_REHEARSAL"):
        return cwd / named
    return next((path for name in NAMES if (path := cwd / name).is_file()), None)


def check_scenario(scenario: Any, where: str) -> None:
    """InvalidInput, with the place in the scenario, for what does not fit the schema.

    jsonschema is loaded only to explain: it takes longer to load than all the rest of a run.
    """
    if fits(scenario, schema("rehearsal")):
        return
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(schema("rehearsal")).iter_errors(scenario))
    if error is not None:
        raise InvalidInput(error.message, where=f"{where}: {error.json_path.removeprefix('$.')}")


def fits(value: Any, node: dict[str, Any]) -> bool:
    """Does the value fit this part of the schema? Knows only the keywords of JSON Schema that the schema uses."""
    if "$ref" in node:
        return fits(value, schema("rehearsal")["$defs"][node["$ref"].removeprefix("#/$defs/")])
    if "anyOf" in node:
        return any(fits(value, form) for form in node["anyOf"])
    if "enum" in node:
        return value in node["enum"]
    if not _is_of(value, node["type"]):
        return False
    if isinstance(value, dict):
        known, others = node.get("properties", {}), node.get("additionalProperties", {})
        parts = [(item, known.get(key, others)) for key, item in value.items()]
        return all(part is not False and (not part or fits(item, part)) for item, part in parts)
    if isinstance(value, list):
        items = node.get("items")
        return len(value) >= node.get("minItems", 0) and (not items or all(fits(item, items) for item in value))
    if isinstance(value, str):
        return re.search(node.get("pattern", ""), value) is not None
    return value is None or node.get("minimum", value) <= value <= node.get("maximum", value)


def _is_of(value: Any, types: str | list[str]) -> bool:
    names = [types] if isinstance(types, str) else types
    is_of_bool = isinstance(value, bool) and "boolean" not in names
    return not is_of_bool and any(isinstance(value, TYPES[name]) for name in names)
