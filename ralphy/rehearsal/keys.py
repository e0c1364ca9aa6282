"""Is a scenario as schemas/rehearsal.schema.json says? A quick yes; on the rare no, what is wrong and where."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from ralphy.errors import InvalidInput
from ralphy.resources import schema
from ralphy.text.schema_compiler import compile_check

if TYPE_CHECKING:
    from jsonschema import ValidationError

_EXPECTED = {
    "boolean": "true or false",
    "string": "a text",
    "number": "a number, 0 or more",
    "integer": "a whole number, 0 or more",
    "object": "a mapping",
}


def check_scenario(value: Any, where: str) -> None:
    """Raises InvalidInput, with the place in the scenario, for what does not fit its schema."""
    if not compile_check(schema("rehearsal"))(value):
        raise _refusal(value, where)


def _refusal(value: Any, where: str) -> InvalidInput:
    from jsonschema import Draft202012Validator

    error = next(iter(Draft202012Validator(schema("rehearsal")).iter_errors(value)))
    while deeper := next(filter(_is_deeper, error.context or ()), None):
        error = deeper
    place = where + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.absolute_path)
    node: Any = error.schema
    if error.validator == "additionalProperties":
        known, there = node["properties"], list(map(str, error.instance))
        key = next(key for key in there if key not in known)
        return InvalidInput(f'unknown key "{key}"', where=place, hint=_nearest(key, known))
    choices = f"one of {', '.join(node['enum'])}" if "enum" in node else ""
    expected = node.get("$comment") or choices or _EXPECTED[node["type"]]
    return InvalidInput(f"must be {expected}, not {error.instance!r:.60}", where=place)


def _is_deeper(error: ValidationError) -> bool:
    """Is this about a part of the value, and not about which of several forms it has?"""
    return bool(error.relative_path) or error.validator == "additionalProperties"


def _nearest(key: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key, list(known), n=1)
    return f'did you mean "{near[0]}"?' if near else f"known: {', '.join(known)}"
