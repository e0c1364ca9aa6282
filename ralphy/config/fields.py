"""What every setting takes: its type and its bounds, checked the same wherever a value comes from.

Names, types and defaults are those of `ralphy.config.values`; schemas/config.schema.json has the bounds, and in
`$comment` the words for what a setting takes. A test compares the two.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, is_dataclass
from functools import cache
from math import isnan
from typing import Any

from jsonschema import Draft202012Validator, ValidationError

from ralphy.agents.presets import PRESETS
from ralphy.config.values import Check, Config
from ralphy.errors import InvalidInput
from ralphy.resources import schema
from ralphy.text.durations import seconds_of
from ralphy.text.line_numbers import ValuePath
from ralphy.text.nearest import nearest
from ralphy.text.plain_text import escaped
from ralphy.text.strict_json import preview

_COMMANDS = ("setup", "stack.test_command")  # `shlex.split` must be able to split them
# What a setting of this kind takes, in words, if its node in the schema has none.
_EXPECTED = {
    "str": "text on one line",
    "bool": "true or false",
    "int": "a whole number, 1 or more",
    "float": "a number of seconds above 0, or a duration such as 30m or 4h (at most 30 days)",
    "float | None": "an amount in USD above 0, or null for no limit",
    "tuple[str, ...]": "a list of names",
}
_DURATION = re.compile(r"(?:[0-9]+(?:\.[0-9]+)?[dhms])+")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_NOT_TEXT = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
_NOTHING = ("", "none", "null")
_BOOLEANS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
# What the settings of other tools and versions are called here.
_ELSEWHERE = {"retry": "limits.max_attempts", "tests": "checks", "model": "models.implementation"}


class UnfitError(Exception):
    """A value that its setting does not take: `what` is wrong, `inner` where in the value."""

    def __init__(self, what: str, hint: str = "", inner: ValuePath = ()) -> None:
        super().__init__(what)
        self.what, self.hint, self.inner = what, hint, inner

    def at(self, where: str) -> InvalidInput:
        return InvalidInput(self.what, where=where, hint=self.hint)


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
        """Its node in the schema."""
        return nodes()[self.dotted]

    @property
    def is_duration(self) -> bool:
        """Is it a number of seconds, which may be written as `30m`?"""
        return self.kind.startswith("float") and "pattern" in self.node

    @property
    def expected(self) -> str:
        """What it takes, in words."""
        *others, last = [f'"{choice}"' for choice in self.node.get("enum", ("",))]
        words = self.node.get("$comment") or (f"{', '.join(others)} or {last}" if others else _EXPECTED[self.kind])
        return str(words)


@cache
def nodes() -> Mapping[str, Mapping[str, Any]]:
    """Dotted name -> the schema's node, for every setting and every part of a check."""
    by_name: dict[str, Mapping[str, Any]] = {}
    for name, node in schema("config")["properties"].items():
        inner = node.get("properties")
        by_name |= {f"{name}.{key}": one for key, one in inner.items()} if inner else {name: node}
    parts = by_name["checks"]["items"]["properties"]
    by_name["agent.preset"] = {**by_name["agent.preset"], "enum": list(PRESETS)}
    return by_name | {f"checks[].{key}": one for key, one in parts.items()}


@cache
def _validator(dotted: str) -> Draft202012Validator:
    return Draft202012Validator(nodes()[dotted])


@cache
def all_fields() -> Mapping[str, Field]:
    """Every setting by its dotted name, in the order of the configuration."""
    by_name: dict[str, Field] = {}
    defaults = Config()
    for outer in fields(Config):
        value = getattr(defaults, outer.name)
        if not is_dataclass(value):
            by_name[outer.name] = Field(outer.name, str(outer.type), value)
            continue
        for inner in fields(value):
            dotted = f"{outer.name}.{inner.name}"
            by_name[dotted] = Field(dotted, str(inner.type), getattr(value, inner.name))
    return by_name


@cache
def check_fields() -> Mapping[str, Field]:
    """The parts of a check by their names."""
    return {one.name: Field(f"checks[].{one.name}", str(one.type), None) for one in fields(Check)}


def named(dotted: str) -> Field:
    """The setting of that name. Raises InvalidInput, with the closest name, where there is none."""
    known = all_fields()
    if dotted in known:
        return known[dotted]
    if any(name.startswith(f"{dotted}.") for name in known):
        raise InvalidInput(f"{dotted} is a section, not a setting", hint=f"its settings: ralphy config show {dotted}")
    raise InvalidInput(f"{dotted!r} is not a setting", hint=_did_you_mean(dotted, known) or "ralphy config show")


def unknown(dotted: str, siblings: Iterable[str], inner: ValuePath = ()) -> UnfitError:
    """The error for an unknown name, with the closest one of its `siblings`."""
    section, dot, key = dotted.rpartition(".")
    hint = _did_you_mean(key, siblings, section + dot) or f"known here: {', '.join(siblings)}"
    return UnfitError(f"{short(dotted)} is not a setting", hint, inner)


def _did_you_mean(key: str, siblings: Iterable[str], section: str = "") -> str:
    is_in_a_list = "[" in section  # no setting of another section can stand there
    in_a_section = next((name for name in all_fields() if name.endswith(f".{key}")), "")
    elsewhere = "" if is_in_a_list else _ELSEWHERE.get(key, in_a_section)
    sibling = nearest(key, siblings)
    near = elsewhere or (sibling and section + sibling)
    return f"did you mean {near}?" if near else ""


def accept(field: Field, value: object) -> Any:
    """`value` as the field holds it (lists become tuples, `30m` and whole seconds floats); raises UnfitError."""
    for misfit in misfits(field, value):
        raise misfit
    plain = _as_checked(field, value)
    if field.dotted == "checks":
        return None if plain is None else tuple(Check(**one) for one in plain)
    if field.kind.startswith("tuple"):
        return (plain,) if isinstance(plain, str) else tuple(plain)
    if isinstance(plain, (int, float)) and not isinstance(plain, bool):
        return int(plain) if field.kind == "int" else float(plain)
    return plain


def misfits(field: Field, value: object) -> Iterator[UnfitError]:
    """Everything that is wrong with a value: what the schema refuses, once per place, else what it cannot say."""
    plain = _as_checked(field, value)
    refused: dict[ValuePath, UnfitError] = {}
    for error in _validator(field.dotted).iter_errors(plain):
        for misfit in _refusals(field, value, error):
            refused.setdefault(misfit.inner, misfit)
    yield from refused.values()
    if refused:
        return
    if isinstance(plain, float) and isnan(plain):  # no bound of the schema excludes it
        yield UnfitError(f"{field.dotted} is nan but must be {field.expected}")
    elif field.dotted == "checks":
        yield from _misfits_of_checks(plain or [])
    elif field.dotted in _COMMANDS and plain:
        yield from _misfits_of_command(field, str(plain))


def _as_checked(field: Field, value: Any) -> Any:
    """A value as the schema knows it: lists, seconds, and texts without the line end of a YAML block."""
    if isinstance(value, (list, tuple)):
        return [_as_checked(field, one) for one in value]
    if isinstance(value, dict):
        parts = check_fields()
        return {key: _as_checked(parts.get(key, field), one) for key, one in value.items()}
    if not isinstance(value, str):
        return value
    plain = value.rstrip("\n")
    return seconds_of(plain) if field.is_duration and _DURATION.fullmatch(plain) else plain


def _misfits_of_checks(checks: list[dict[str, Any]]) -> Iterator[UnfitError]:
    names = [one["name"] for one in checks]
    for number, one in enumerate(checks):
        if one["name"] in names[:number]:
            yield UnfitError(f'two checks have the name "{one["name"]}"', inner=(number,))
        yield from _misfits_of_command(check_fields()["run"], one["run"], f"checks[{number}].run", (number, "run"))


def _misfits_of_command(field: Field, text: str, name: str = "", inner: ValuePath = ()) -> Iterator[UnfitError]:
    """A command must have a word, and no open quote."""
    why = ""
    try:
        if not text or any(shlex.split(text)):
            return
    except ValueError as error:
        why = f": {str(error).lower()}"
    yield UnfitError(f"{name or field.dotted} is {short(text)} but must be {field.expected}{why}", inner=inner)


def _refusals(field: Field, value: Any, error: ValidationError) -> Iterator[UnfitError]:
    """The schema's refusal in words. For a list they say what the whole list takes, except for the parts of checks."""
    inner: ValuePath = tuple(error.absolute_path) if field.dotted == "checks" else ()
    name = field.dotted
    for step in inner:
        value, name = value[step], f"{name}[{step}]" if isinstance(step, int) else f"{name}.{step}"
    if error.validator == "required":
        yield UnfitError(f"{name} has no {next(key for key in ('name', 'run') if key not in value)}", inner=inner)
    elif error.validator == "additionalProperties":
        for key in (key for key in value if key not in check_fields()):
            yield unknown(f"{name}.{key}", check_fields(), (*inner, key))
    elif len(inner) == 1:
        yield UnfitError(f"{name} is {short(value)} but must be {{name, run, timeout_s}}", inner=inner)
    else:
        field = check_fields()[str(inner[1])] if inner else field
        most = f", at most {error.validator_value}" if error.validator == "maxItems" else ""
        is_unquoted = "pattern" in field.node and not field.is_duration and isinstance(value, (bool, int, float))
        quotes = "; put it in quotes" if is_unquoted else ""
        yield UnfitError(f"{name} is {short(value)} but must be {field.expected}{most}{quotes}", inner=inner)


def short(value: object) -> str:
    """A value as an error shows it."""
    if isinstance(value, dict):
        return "a mapping"
    if not isinstance(value, (list, tuple)):
        return preview(value, 40)
    text = escaped(flow(value))
    return text if len(text) <= 40 else f"{text[:39]}…"


def parse_words(field: Field, text: str) -> object:
    """The text of an environment variable as a value for `accept`: numbers, true or false, lists with commas."""
    if field.kind.startswith("tuple[str"):
        if field.dotted in ("agent.command", "notify.command"):
            for misfit in _misfits_of_command(field, text):
                raise misfit
            return shlex.split(text)
        return [part.strip() for part in text.split(",") if part.strip()]
    if field.kind == "bool":
        return _BOOLEANS.get(text.strip().lower(), text)
    if field.kind.endswith("| None") and text.strip().lower() in _NOTHING:
        return None
    if field.kind.startswith("str"):
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
