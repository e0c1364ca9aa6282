"""What every setting takes: its type, its bounds and its words, checked the same wherever a value comes from.

Names, types and defaults are those of `ralphy.config.values`; schemas/config.schema.json has the bounds, and in
`$comment` the words for what a setting takes. A test compares the two.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from math import isnan
from typing import Any

from jsonschema import Draft202012Validator

from ralphy.agents.presets import PRESETS
from ralphy.config.values import Check, Config
from ralphy.errors import InvalidInput
from ralphy.resources import schema
from ralphy.text.durations import seconds_of
from ralphy.text.nearest import nearest

CHECK_KINDS = {"name": "str", "run": "str", "timeout_s": "float"}
_COMMANDS = ("setup", "stack.test_command", "checks[].run")  # what `shlex.split` must be able to take apart
# What the settings of a kind take whose node in the schema says nothing of it.
_EXPECTED = {
    "str": "text on one line",
    "bool": "true or false",
    "int": "a whole number, 1 or more",
    "float": "a number of seconds above 0, or a duration such as 30m or 4h (at most 30 days)",
    "float | None": "an amount in USD above 0, or null for no limit",
    "tuple[str, ...]": "a list of names",
}
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_NOT_TEXT = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
_NOTHING = ("", "none", "null")
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


class UnfitError(Exception):
    """A value that its setting does not take; the text says what it takes."""


@dataclass(frozen=True, slots=True)
class Field:
    """One setting; `kind` is its annotation in `ralphy.config.values`, `dotted` its name in messages."""

    dotted: str
    kind: str
    default: object

    @property
    def variable(self) -> str:
        return "RALPHY_" + self.dotted.replace(".", "_").upper()

    @property
    def node(self) -> Mapping[str, Any]:
        """What the schema says of it."""
        return nodes()[self.dotted]

    @property
    def is_duration(self) -> bool:
        """A number of seconds, which may be said as `30m` too."""
        return self.kind.startswith("float") and "pattern" in self.node

    @property
    def expected(self) -> str:
        """What it takes, in words."""
        *others, last = [f'"{choice}"' for choice in self.node.get("enum", ("",))]
        said = self.node.get("$comment") or (f"{', '.join(others)} or {last}" if others else _EXPECTED[self.kind])
        return str(said)


@cache
def nodes() -> Mapping[str, Mapping[str, Any]]:
    """Dotted name -> what the schema says of that setting; of a check's parts, too."""
    found: dict[str, Mapping[str, Any]] = {}
    for name, node in schema("config")["properties"].items():
        inner = node.get("properties")
        found |= {f"{name}.{key}": one for key, one in inner.items()} if inner else {name: node}
    parts = found["checks"]["items"]["properties"]
    found["agent.preset"] = {**found["agent.preset"], "enum": list(PRESETS)}
    return found | {f"checks[].{key}": one for key, one in parts.items()}


@cache
def _validator(dotted: str) -> Draft202012Validator:
    return Draft202012Validator(nodes()[dotted])


def all_fields() -> Mapping[str, Field]:
    """Every setting by its dotted name, in the order of the configuration."""
    found: dict[str, Field] = {}
    defaults = Config()
    for outer in fields(Config):
        value = getattr(defaults, outer.name)
        if not is_dataclass(value):
            found[outer.name] = Field(outer.name, str(outer.type), value)
            continue
        for inner in fields(value):
            dotted = f"{outer.name}.{inner.name}"
            found[dotted] = Field(dotted, str(inner.type), getattr(value, inner.name))
    return found


def named(dotted: str) -> Field:
    """The setting of that name. Raises InvalidInput, with the closest name, where there is none."""
    known = all_fields()
    if dotted in known:
        return known[dotted]
    inside = [name for name in known if name.startswith(f"{dotted}.")]
    near = next((name for name in known if name.endswith(f".{dotted}")), "") or nearest(dotted, known)
    hint = f'did you mean "{near}"?' if near else "ralphy config show"
    if inside:
        raise InvalidInput(f"{dotted} is a section, not a setting", hint=f"in it: {', '.join(inside)}")
    raise InvalidInput(f"{dotted!r} is not a setting", hint=hint)


def accept(field: Field, value: object) -> object:
    """`value` as the field holds it (lists become tuples, `30m` and whole seconds floats); raises UnfitError."""
    plain = _without_line_ends(value)
    if field.is_duration and isinstance(plain, str) and _validator(field.dotted).is_valid(plain):
        plain = seconds_of(plain)
    if isinstance(plain, float) and isnan(plain):  # no bound of the schema excludes it
        raise UnfitError(field.expected)
    error = next(_validator(field.dotted).iter_errors(plain), None)
    if error is not None:
        most = f", at most {error.validator_value}" if error.validator == "maxItems" else ""
        is_unquoted = "pattern" in field.node and not field.is_duration and isinstance(value, (bool, int, float))
        raise UnfitError(field.expected + most + ("; put it in quotes" if is_unquoted else ""))
    if field.dotted in _COMMANDS and plain and not any(_split_words(field, str(plain))):
        raise UnfitError(field.expected)
    if field.kind.startswith("tuple"):
        return (plain,) if isinstance(plain, str) else tuple(plain)
    if isinstance(plain, (int, float)) and not isinstance(plain, bool):
        return int(plain) if field.kind == "int" else float(plain)
    return plain


def _without_line_ends(value: Any) -> Any:
    """A text, or the texts of a list, without the end of the line that a block in YAML has."""
    if isinstance(value, (list, tuple)):
        return [_without_line_ends(one) for one in value]
    return value.rstrip("\n") if isinstance(value, str) else value


def parse_words(field: Field, text: str) -> object:
    """`text` of an environment variable as a value for `accept`: numbers, true/false, lists by comma."""
    if field.kind.startswith("tuple[str"):
        if field.dotted in ("agent.command", "notify.command"):
            return _split_words(field, text)
        return [part.strip() for part in text.split(",") if part.strip()]
    if field.kind == "bool":
        return _BOOLEANS.get(text.strip().lower(), text)
    if field.kind in ("str", "str | None"):
        return None if field.kind != "str" and text.lower() in _NOTHING else text
    return _parse_number(field, text.strip())


def _split_words(field: Field, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UnfitError(f"{field.expected}: {str(error).lower()}") from None


def _parse_number(field: Field, text: str) -> object:
    if field.kind.endswith("| None") and text.lower() in _NOTHING:
        return None
    if len(text) > 40:
        return text
    try:
        return int(text) if field.kind == "int" else float(text)
    except ValueError:
        return text


def flow(value: object) -> str:
    """A value in YAML's flow style, on one line."""
    if isinstance(value, Check):
        return flow(asdict(value))
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (tuple, list)):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _NOT_TEXT:
        return value
    return json.dumps(value, ensure_ascii=False)
