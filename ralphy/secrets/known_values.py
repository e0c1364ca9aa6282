"""The secrets of the environment, known by the names of their variables: their values are removed from every text.

A value is found as it is, as JSON and addresses escape it, and as part of base64.
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
# Values of such variables that are not secrets: words, paths, small numbers.
_PLAIN = re.compile(r"(?i)([a-z]{1,14}|[~./][\w./~-]*|\d{1,11}|[01]+)")
_LEAST = 8
# The name of a field, as programs write it: it stays, even if somebody's password is the same word.
_FIELD = re.compile(r"(?=.{1,32}\Z)[A-Za-z]+(?:_[A-Za-z]+)*")
_SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_WORD = re.compile(rb"[A-Za-z0-9]+")
_LEAST_WORD = 3
# A letter or digit that needs no escape.
_ESCAPED = tuple(re.compile(sign + b"(?:3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa])") for sign in (rb"\\u00", b"%"))
# For base64 that begins 0, 1 or 2 bytes before the value: how many characters also depend on those bytes.
_SHARED = (0, 2, 3)


def is_secret_name(name: str) -> bool:
    """Does the name of a variable say that it holds a secret?"""
    return _NAME.search(name) is not None


def values_of(environment: Mapping[str, str]) -> Values:
    """(name, value) of the variables that hold a secret, the longest value first."""
    secrets = [
        (name, value.encode("utf-8", "surrogateescape"))
        for name, value in environment.items()
        if is_secret_name(name) and len(value) >= _LEAST and not _PLAIN.fullmatch(value)
    ]
    return sorted(secrets, key=lambda row: -len(row[1]))


def spellings_in(data: bytes, values: Values) -> Iterator[tuple[str, bytes, str]]:
    """(name, spelling, its kind: "", percent or base64) of every spelling of the values in some bytes.

    The pattern of all spellings takes 16 ms a megabyte. So it is tried only where the value's longest word occurs, or
    where letters and digits are escaped, which only happens to hide something.
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
    """The part of a value that every spelling without escaped letters and digits has; b"" if it is too short."""
    word = max(_WORD.findall(value), key=len, default=b"")
    return word if len(word) >= _LEAST_WORD else b""


@lru_cache(maxsize=256)
def _pattern(value: bytes) -> re.Pattern[bytes]:
    """Matches the value with each of its characters in any spelling. Compiling that is slow, so it is cached.

    A backslash at the end is left out: in JSON it belongs to what follows.
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
    """The value inside base64, for each of the three offsets in a group; without characters shared with neighbours."""
    spellings = []
    for before, shared in enumerate(_SHARED):
        whole = (before + len(value)) * 8 // 6
        spelled = b64encode(b"\0" * before + value)[shared:whole]
        spellings += [spelled, spelled.translate(bytes.maketrans(b"+/", b"-_"))]
    return tuple(dict.fromkeys(spellings))


def without_values(data: bytes, values: Values) -> bytes:
    """The bytes with every spelling of the values replaced by `[redacted NAME]`."""
    for name, spelled, called in list(spellings_in(data, values)):
        data = data.replace(spelled, f"[redacted {name}{called and ', '}{called}]".encode("utf-8", "replace"))
    return data


def clear_json(line: bytes, clear: Clear) -> bytes:
    """A JSON text whose strings, numbers and field names went through `clear`; still JSON.

    Names of fields stay if they are plain words. Text that is not JSON, or nested too deep, is cleared as a whole.
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
