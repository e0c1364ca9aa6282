"""The environment's own secrets, known by the names of their variables: their values never leave."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from ralphy.secrets.spellings import Values, written

Clear = Callable[[bytes], bytes]
_NAMED = (
    "TOKEN(?!IZ)",  # TOKENIZERS_PARALLELISM is none
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "(?:^|_|SSH)PASS$",
    "_PWD$",
    "API_?KEY",
    "ACCESS_?KEY",
    "PRIVATE_?KEY",
    "(?:^|_)KEYS?$",
    "CREDENTIAL",
    "_PAT$",
    "^ANTHROPIC_CUSTOM_HEADERS$",  # how a gateway's token reaches Claude Code
)
_NAME = re.compile("|".join(_NAMED), re.I)
# What stands in such variables, too, and is not a secret: words, paths, small numbers.
_PLAIN = re.compile(r"(?i)([a-z]{1,14}|[~./][\w./~-]*|\d{1,11}|[01]+)")
_LEAST = 8
# The name of a field, as programs give them: it stays, even where somebody's password is just that word.
_FIELD = re.compile(r"[A-Za-z]+(?:_[A-Za-z]+)*")
_LONGEST_FIELD = 32


def is_secret_name(name: str) -> bool:
    """Is a variable named as those are that hold a secret?"""
    return _NAME.search(name) is not None


def values_of(environment: Mapping[str, str]) -> Values:
    """(name, value) of the variables that hold something to be kept, the longest value first."""
    found = [
        (name, value.encode("utf-8", "surrogateescape"))
        for name, value in environment.items()
        if is_secret_name(name) and len(value) >= _LEAST and not _PLAIN.fullmatch(value)
    ]
    return sorted(found, key=lambda row: -len(row[1]))


def without_values(data: bytes, values: Values) -> bytes:
    """The same bytes without the environment's values, also as JSON, addresses and base64 spell them."""
    for name, spelled, called in list(written(data, values)):
        data = data.replace(spelled, f"[redacted {name}{called and ', '}{called}]".encode("utf-8", "replace"))
    return data


def clear_json(line: bytes, clear: Clear) -> bytes:
    """A JSON text, rid of what `clear` takes out of bytes, and JSON still: its strings are, and its names and numbers.

    Names of fields stay if they are plain words; others stay apart, also when they become the same. What is no
    JSON, or is nested too deep, is cleared as it stands.
    """
    cleared = clear(line)
    if cleared == line:
        return line
    try:
        return orjson.dumps(_cleared(orjson.loads(line), clear))
    except (orjson.JSONDecodeError, orjson.JSONEncodeError, RecursionError):
        return cleared


def _cleared(value: Any, clear: Clear) -> Any:
    if isinstance(value, str):
        return _text(value, clear)
    if isinstance(value, list):
        return [_cleared(inner, clear) for inner in value]
    if isinstance(value, dict):
        return _object(value, clear)
    shown = repr(value)  # a number: a token of digits alone
    return value if _text(shown, clear) == shown else _text(shown, clear)


def _object(fields: Mapping[str, Any], clear: Clear) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in fields.items():
        is_field = len(name) <= _LONGEST_FIELD and _FIELD.fullmatch(name)
        shown = plain = name if is_field else _text(name, clear)
        number = 1
        while shown in found:
            shown, number = f"{plain} ({number + 1})", number + 1
        found[shown] = _cleared(value, clear)
    return found


def _text(text: str, clear: Clear) -> str:
    return clear(text.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")
