"""The environment's own secrets, known by the names of their variables: their values never leave.

A value is taken out however it is written: as it is, as JSON and addresses escape it, as base64 has it.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import orjson

Values = Sequence[tuple[str, bytes]]
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
_FIELD = re.compile(r"(?=.{1,32}\Z)[A-Za-z]+(?:_[A-Za-z]+)*")
_SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_WORD = re.compile(rb"[A-Za-z0-9]+")
_LEAST_WORD = 3
# A letter or digit that needs no escape.
_ESCAPED = tuple(re.compile(sign + b"(?:3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa])") for sign in (rb"\\u00", b"%"))
# Of base64 that begins in the middle of a group of three: how many characters are not the value's alone.
_SHARED = (0, 2, 3)


def is_secret_name(name: str) -> bool:
    """Is a variable named as those are that hold a secret?"""
    return _NAME.search(name) is not None


def values_of(environment: Mapping[str, str]) -> Values:
    """(name, value) of the variables that hold something to be kept, the longest value first."""
    secrets = [
        (name, value.encode("utf-8", "surrogateescape"))
        for name, value in environment.items()
        if is_secret_name(name) and len(value) >= _LEAST and not _PLAIN.fullmatch(value)
    ]
    return sorted(secrets, key=lambda row: -len(row[1]))


def written(data: bytes, values: Values) -> Iterator[tuple[str, bytes, str]]:
    """(name, spelling, what that is called: "", percent or base64) of all that stands of some values in some bytes.

    The pattern that knows every spelling takes 16 ms for a megabyte. So it is tried only where the value's longest word
    stands, or where letters and digits are escaped, which nobody does who has nothing to hide.
    """
    has_escapes = bool(values) and any(escaped.search(data) for escaped in _ESCAPED)
    for name, value in values:
        if has_escapes or _longest_word(value) in data:
            for spelled in sorted(set(_pattern(value).findall(data)), key=len, reverse=True):
                yield name, spelled, "percent" if spelled.count(b"%") > value.count(b"%") else ""
        for spelled in _base64(value):
            if spelled in data:
                yield name, spelled, "base64"


def _longest_word(value: bytes) -> bytes:
    """What stands in every spelling that escapes no letter and no digit; b"" where that is too short to look for."""
    word = max(_WORD.findall(value), key=len, default=b"")
    return word if len(word) >= _LEAST_WORD else b""


@lru_cache(maxsize=256)
def _pattern(value: bytes) -> re.Pattern[bytes]:
    """The value with each of its characters written in any way; for a long one that takes a while to make.

    A last backslash is left: as JSON it belongs to what comes behind.
    """
    return re.compile(b"".join(map(_in_any_way, value.removesuffix(b"\\").decode("utf-8", "surrogateescape"))))


def _in_any_way(character: str) -> bytes:
    raw = character.encode("utf-8", "surrogateescape")
    units = character.encode("utf-16-be", "surrogatepass").hex()
    ways = ["".join(rf"\\{{1,8}}u(?i:{units[at : at + 4]})" for at in range(0, len(units), 4)).encode(),
            b"(?i:" + b"".join(b"%%%02x" % byte for byte in raw) + b")",
            re.escape(raw)]  # fmt: skip
    if character in _SHORT:
        ways.insert(0, rb"\\{1,8}" + re.escape(_SHORT[character].encode()))
    if character == " ":
        ways.append(rb"\+")
    return b"(?:" + b"|".join(ways) + b")"


@lru_cache(maxsize=256)
def _base64(value: bytes) -> tuple[bytes, ...]:
    """As a part of base64, wherever in a group it begins; what it shares with its neighbours is left out."""
    spellings = []
    for before, shared in enumerate(_SHARED):
        whole = (before + len(value)) * 8 // 6
        spelled = b64encode(b"\0" * before + value)[shared:whole]
        spellings += [spelled, spelled.translate(bytes.maketrans(b"+/", b"-_"))]
    return tuple(dict.fromkeys(spellings))


def without_values(data: bytes, values: Values) -> bytes:
    """The same bytes without the environment's values, also as JSON, addresses and base64 spell them."""
    for name, spelled, called in list(written(data, values)):
        data = data.replace(spelled, f"[redacted {name}{called and ', '}{called}]".encode("utf-8", "replace"))
    return data


def clear_json(line: bytes, clear: Clear) -> bytes:
    """A JSON text, rid of what `clear` takes out of bytes, and JSON still: its strings are, and its names and numbers.

    Names of fields stay if they are plain words. What is no JSON, or is nested too deep, is cleared as it stands.
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
        return {name if _FIELD.fullmatch(name) else _text(name, clear): _cleared(inner, clear)
                for name, inner in value.items()}  # fmt: skip
    digits = repr(value)  # a number: a token of digits alone
    return value if _text(digits, clear) == digits else _text(digits, clear)


def _text(text: str, clear: Clear) -> str:
    return clear(text.encode("utf-8", "surrogateescape")).decode("utf-8", "replace")
