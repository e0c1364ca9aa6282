"""schemas/events.schema.json, made from the classes of `ralphy.pipeline.events`; `make docs` writes it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from ralphy.pipeline.events import EVENTS, SCHEMA, Event

_TYPES = {str: "string", float: "number", int: "integer", bool: "boolean", NoneType: "null"}
_ABOUT = "A line of `ralphy loop --json`, and of start and watch: something that happened, or what comes next."


def event_schema() -> dict[str, Any]:
    """The JSON Schema of a line: one of the events."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": "https://ralphy.dev/schemas/events.schema.json",
        "title": "Event",
        "description": _ABOUT,
        "oneOf": [_branch(event) for event in EVENTS],
    }


def _branch(event: type[Event]) -> dict[str, Any]:
    hints = get_type_hints(event, include_extras=True)
    fields = {
        "schema": {"description": "always this", "type": "string", "enum": [SCHEMA]},
        "kind": {"description": "what kind of event it is", "type": "string", "enum": [event.kind()]},
        **{name: _field(hint) for name, hint in hints.items()},
    }
    about = " ".join((event.__doc__ or "").split())
    return {"title": event.kind(), "description": about, "type": "object", "properties": fields,
            "required": list(fields), "additionalProperties": False}  # fmt: skip


def _field(hint: Any) -> dict[str, Any]:
    assert get_origin(hint) is Annotated, f"{hint} says nothing for people"
    kind, meaning = get_args(hint)
    return {"description": meaning, **_type(kind)}


def _type(kind: Any) -> dict[str, Any]:
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Literal:
        return {"type": "string", "enum": list(inner)}
    if origin is tuple:
        return {"type": "array", "items": _type(inner[0])}
    if origin is Mapping:
        return {"type": "object", **({} if inner[1] is Any else {"additionalProperties": _type(inner[1])})}
    if inner:  # … | None
        return {"type": [_TYPES[one] for one in inner]}
    return {"type": _TYPES[kind]}


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(event_schema(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
