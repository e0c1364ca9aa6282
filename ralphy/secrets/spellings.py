"""How a value may be written: as it is, as JSON and addresses escape it, as base64 has it. To take it out all the same.

A pattern knows every such way, and is slow. So it is tried only where the longest word in the value stands, or where
letters and digits are escaped, which nobody does who has nothing to hide: all other texts pass in no time.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

Values = Sequence[tuple[str, bytes]]
_SHORT = {'"': '"', "\\": "\\", "/": "/", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t"}
_WORD = re.compile(rb"[A-Za-z0-9]+")
_LEAST_WORD = 3
# A letter or digit that needs no escape.
_ESCAPED = tuple(re.compile(sign + b"(?:3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa])") for sign in (rb"\\u00", b"%"))
# Of base64 that begins in the middle of a group of three: how many characters are not the value's alone.
_SHARED = (0, 2, 3)


@dataclass(frozen=True, slots=True)
class _Known:
    """What is worked out once for a value; `word` is b"" if it holds none that is worth looking for."""

    word: bytes
    base64: tuple[bytes, ...]


def written(data: bytes, values: Values) -> Iterator[tuple[str, bytes, str]]:
    """(name, spelling, what that is called: "", percent or base64) of all that stands of some values in some bytes."""
    has_escapes = bool(values) and any(escaped.search(data) for escaped in _ESCAPED)
    for name, value in values:
        known = _known(value)
        if has_escapes or known.word in data:
            for spelled in sorted(set(_pattern(value).findall(data)), key=len, reverse=True):
                yield name, spelled, "percent" if spelled.count(b"%") > value.count(b"%") else ""
        for spelled in known.base64:
            if spelled in data:
                yield name, spelled, "base64"


@lru_cache(maxsize=256)
def _known(value: bytes) -> _Known:
    word = max(_WORD.findall(value), key=len, default=b"")
    return _Known(word if len(word) >= _LEAST_WORD else b"", tuple(dict.fromkeys(_base64(value))))


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


def _base64(value: bytes) -> Iterator[bytes]:
    """As a part of base64, wherever in a group it begins; what it shares with its neighbours is left out."""
    for before, shared in enumerate(_SHARED):
        whole = (before + len(value)) * 8 // 6
        spelled = b64encode(b"\0" * before + value)[shared:whole]
        yield spelled
        yield spelled.translate(bytes.maketrans(b"+/", b"-_"))
