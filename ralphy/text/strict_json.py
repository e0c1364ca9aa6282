"""Strict JSON: bytes to plain Python values and back.

Whatever `parse` accepts, `dump` can write, and reading that gives the same again. What `json` accepts silently
(duplicate keys, NaN, numbers that overflow, halves of surrogate pairs) is refused, with its line.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import orjson

from ralphy.errors import InvalidInput
from ralphy.text.line_numbers import line_of_number, line_of_second
from ralphy.text.plain_text import escaped

MAX_BYTES = 32 * 1024 * 1024
MAX_DEPTH = 100

# Escapes, one by one: a whole surrogate pair, half of one, or any other.
_ESCAPE = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\(?P<half>u[dD][89a-fA-F]..)|\\.")
_SYNTAX_HINTS = (
    ("<<<<<<<", "resolve the merge conflict in it"),
    ("```", "write only the JSON, without a Markdown fence"),
    ("'", 'JSON needs double quotes: "'),
    ("//", "JSON has no comments: remove it"),
    ("/*", "JSON has no comments: remove it"),
    ("#", "JSON has no comments: remove it"),
    ("True", "write true"),
    ("False", "write false"),
    ("None", "write null"),
)

# What Python's reader of JSON says -> the words before what stands there.
_SYNTAX_WORDS = {
    "Expecting value": "expected a value, found",
    "Expecting property name enclosed in double quotes": "expected a name in double quotes, found",
    "Expecting ':' delimiter": "expected a colon, found",
    "Expecting ',' delimiter": "expected a comma or a closing bracket, found",
    "Unterminated string starting at": "a text without a closing quote:",
    "Invalid control character at": "a text with a line break or a tab, before",
    "Extra data": "expected the end of the file, found",
}


class _RefusedError(Exception):
    """JSON that other readers may read differently: what is wrong, a hint, and how to find its line in the text."""

    def __init__(self, what: str, hint: str, line: Callable[[str], int]) -> None:
        super().__init__(what)
        self.what, self.hint, self.line = what, hint, line


def parse(data: bytes, where: str, max_bytes: int = MAX_BYTES) -> Any:
    """The value that the bytes say: dicts in the order of the file, lists, texts, numbers, booleans, None.

    Raises InvalidInput, with `where` as "file:line" if there is a line, for anything that is not strict
    JSON in UTF-8 (a byte order mark is accepted), larger than `max_bytes`, nested deeper than MAX_DEPTH,
    or has an integer of more than 64 bits.
    """
    text = decode(data, where, max_bytes)
    if not text or text.isspace():
        raise InvalidInput("is empty", where=where)
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_int=_integer, parse_float=_decimal,
                           parse_constant=_constant)  # fmt: skip
        is_too_deep = _is_deeper(value, MAX_DEPTH)
    except RecursionError:
        is_too_deep = True
    except json.JSONDecodeError as error:
        raise _syntax_error(error, where) from None
    except _RefusedError as error:
        raise InvalidInput(error.what, where=f"{where}:{error.line(text)}", hint=error.hint) from None
    if is_too_deep:
        raise InvalidInput(f"is nested deeper than {MAX_DEPTH} levels", where=where)
    if half := next((escape for escape in _ESCAPE.finditer(text) if escape["half"]), None):
        number = text.count("\n", 0, half.start()) + 1
        raise InvalidInput("has half of a surrogate pair", where=f"{where}:{number}", hint="remove the \\ud… escape")
    return value


def decode(data: bytes, where: str, max_bytes: int = MAX_BYTES) -> str:
    """The text of a file, without its byte order mark; raises InvalidInput for what is too large or not UTF-8."""
    if len(data) > max_bytes:
        raise too_large(where, max_bytes)
    encoding = json.detect_encoding(data)
    if not encoding.startswith("utf-8"):
        raise InvalidInput(f"is {encoding[:6].upper()} but must be UTF-8", where=where, hint="save it as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput("is not UTF-8", where=f"{where}:{number}", hint="save it as UTF-8") from None


def too_large(where: str, max_bytes: int) -> InvalidInput:
    unit, name = (1024**2, "MB") if max_bytes >= 1024**2 else (1024, "KB")
    return InvalidInput(f"is larger than {max_bytes // unit} {name}", where=where)


def dump(value: Any) -> bytes:
    """Canonical JSON: two spaces, keys in their order, one newline at the end.

    Raises TypeError for what `parse` could not have given, such as keys that are not text.
    """
    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def preview(value: Any, limit: int = 60) -> str:
    """A value as a message shows it: short, on one line, and harmless to a terminal."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    # Cut first: a text of megabytes is not worth escaping.
    text = json.dumps(value[: limit + 1] if isinstance(value, str) else value, ensure_ascii=False)
    text = escaped(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise _RefusedError(f"has the key {preview(twice)} twice in one object", "remove one of the two",
                            lambda text: line_of_second(text, twice))  # fmt: skip
    return made


def _integer(literal: str) -> int:
    # Twenty characters hold any 64-bit integer; a longer literal is not worth converting.
    number = int(literal) if len(literal) <= 20 else 1 << 64
    if not -(1 << 63) <= number < 1 << 64:
        raise _number(literal, f"has an integer of more than 64 bits, {_cut(literal)}", "write it as text, in quotes")
    return number


def _decimal(literal: str) -> float:
    number = float(literal)
    if not math.isfinite(number):
        raise _number(literal, f"has a number that is too large, {_cut(literal)}", "write a number below 1e308")
    return number


def _constant(literal: str) -> None:
    raise _number(literal, f"holds {literal}, which is not JSON", "write a number or null")


def _number(literal: str, what: str, hint: str) -> _RefusedError:
    return _RefusedError(what, hint, lambda text: line_of_number(text, literal))


def _cut(literal: str) -> str:
    return literal if len(literal) <= 30 else f"{literal[:20]}… ({len(literal)} characters)"


def _is_deeper(value: Any, limit: int) -> bool:
    children = value.values() if type(value) is dict else value if type(value) is list else ()
    return not limit or any(_is_deeper(child, limit - 1) for child in children if type(child) in (dict, list))


def _syntax_error(error: json.JSONDecodeError, where: str) -> InvalidInput:
    rest = error.doc[error.pos : error.pos + 8]
    before = error.doc[max(0, error.pos - 200) : error.pos].rstrip()
    hint = next((hint for start, hint in _SYNTAX_HINTS if rest.startswith(start)), "")
    if not hint and before.endswith(",") and rest[:1] in ("]", "}"):
        hint = "remove the comma before it"
    token, line = f"{escaped(rest.split()[0])} (column {error.colno})" if rest.strip() else "", error.lineno
    if not token:  # the line is the last one with something on it
        token, line = "the end of the file", error.doc.count("\n", 0, len(error.doc.rstrip())) + 1
    message = _SYNTAX_WORDS.get(error.msg) or f"{error.msg[:1].lower()}{error.msg[1:]}, near"
    return InvalidInput(f"is not JSON: {message} {token}", where=f"{where}:{line}", hint=hint)
