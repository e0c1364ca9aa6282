"""Strict JSON: bytes to plain Python values and back, and the line that a value stands on.

Whatever `parse` accepts, `dump` can write, and reading that gives the same again. What other readers
settle silently (keys given twice, NaN, numbers that overflow, halves of surrogate pairs) is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ralphy.errors import InvalidInput

MAX_BYTES = 32 * 1024 * 1024
MAX_DEPTH = 100

_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+"|[{}\[\],:]|[^\s{}\[\],:"]+', re.DOTALL)
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_ESCAPED_HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")
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


class _RefusalError(ValueError):
    """Raised inside json's hooks; `at` finds the offset in the text, which the hooks are not told."""

    def __init__(self, what: str, hint: str, at: Callable[[str], int]) -> None:
        super().__init__(what)
        self.what = what
        self.hint = hint
        self.at = at


def parse(data: bytes, where: str, max_bytes: int = MAX_BYTES) -> Any:
    """The value that the bytes say: dicts in the order of the file, lists, texts, numbers, booleans, None.

    Raises InvalidInput, with `where` as "file:line" if there is a line, for anything that is not strict
    JSON in UTF-8 (a byte order mark is accepted), larger than `max_bytes`, nested deeper than MAX_DEPTH,
    or has an integer of more than 64 bits.
    """
    text = decode(data, where, max_bytes)
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_int=_integer, parse_float=_decimal, parse_constant=_constant
        )
        if _is_deeper(value, MAX_DEPTH):
            raise _too_deep(where)
        if _ESCAPED_HALF_PAIR.search(text) and _first_half_pair(text) >= 0:
            raise _RefusalError("has half of a surrogate pair", "remove the \\ud… escape", _first_half_pair)
    except RecursionError:
        raise _too_deep(where) from None
    except json.JSONDecodeError as error:
        raise _syntax_error(error, where) from None
    except _RefusalError as error:
        try:
            line = _line(text, error.at(text))
        except (StopIteration, IndexError, ValueError):  # it goes on with what is no JSON: then it has no place
            line = 1
        raise InvalidInput(error.what, where=f"{where}:{line}", hint=error.hint) from None
    return value


def decode(data: bytes, where: str, max_bytes: int = MAX_BYTES) -> str:
    """The text of a JSON file, without its byte order mark; raises InvalidInput as `parse` does."""
    if len(data) > max_bytes:
        raise too_large(where, max_bytes)
    encoding = json.detect_encoding(data)
    if not encoding.startswith("utf-8"):
        raise InvalidInput(f"is {encoding[:6].upper()}, must be UTF-8", where=where, hint="save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InvalidInput("is not UTF-8", where=f"{where}:{line}", hint="save it as UTF-8") from None
    if not text or text.isspace():
        raise InvalidInput("is empty", where=where)
    return text


def dump(value: Any) -> bytes:
    """Canonical JSON: two spaces, keys in their order, one newline at the end.

    Raises TypeError for what `parse` could not have given, such as keys that are not text.
    """
    import orjson  # 10 ms more than json, and only a writer needs it

    return orjson.dumps(value, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def locate_all(text: str, paths: Sequence[Sequence[str | int]]) -> list[int]:
    """The line, from 1, of the value at each path, or of the nearest value around it that is there.

    One pass for all of them; `text` must be what `parse` accepts.
    """
    wanted = {tuple(path[:length]) for path in paths for length in range(len(path) + 1)}
    deepest = max(map(len, paths), default=0)
    found: dict[tuple[str | int | None, ...], int] = {}
    for kind, stack, offset in _tokens(text):
        if kind != "key" and len(stack) <= deepest and tuple(stack) in wanted:
            found.setdefault(tuple(stack), offset)
            if len(found) == len(wanted):
                break
    return [_line(text, _nearest(found, tuple(path))) for path in paths]


def shown(value: Any, limit: int = 60) -> str:
    """A value as a message shows it: short, on one line, and harmless to a terminal."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "an array"
    # Cut first: a text of megabytes is not worth escaping.
    text = json.dumps(value[: limit + 1] if isinstance(value, str) else value, ensure_ascii=False)
    text = escaped(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def escaped(text: str) -> str:
    """The text with everything that does not print (controls, bidirectional marks) as \\uXXXX."""
    return "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        keys = [key for key, _ in pairs]
        key = next(key for at, key in enumerate(keys) if key in keys[:at])
        what = f"has the key {shown(key)} twice in one object"
        raise _RefusalError(what, "remove one of the two", lambda text: _second_key(text, key))
    return made


def _integer(literal: str) -> int:
    # Twenty characters hold any 64-bit integer; a longer literal is not worth converting.
    number = int(literal) if len(literal) <= 20 else 1 << 64
    if -(1 << 63) <= number < 1 << 64:
        return number
    what = f"has an integer of more than 64 bits, {_cut(literal)}"
    raise _RefusalError(what, "write it as text, in quotes", lambda text: _first(text, literal))


def _decimal(literal: str) -> float:
    number = float(literal)
    if number - number == 0:  # neither infinite nor NaN
        return number
    what = f"has a number that is too large, {_cut(literal)}"
    raise _RefusalError(what, "write a number below 1e308", lambda text: _first(text, literal))


def _constant(literal: str) -> Any:
    what = f"holds {literal}, which is not JSON"
    raise _RefusalError(what, "write a number or null", lambda text: _first(text, literal))


def _cut(literal: str) -> str:
    return literal if len(literal) <= 30 else f"{literal[:20]}… ({len(literal)} characters)"


def too_large(where: str, max_bytes: int) -> InvalidInput:
    return InvalidInput(f"is larger than {max_bytes // 1024**2} MB", where=where)


def _too_deep(where: str) -> InvalidInput:
    return InvalidInput(f"is nested deeper than {MAX_DEPTH} levels", where=where)


def _is_deeper(value: Any, limit: int) -> bool:
    children = value.values() if type(value) is dict else value if type(value) is list else ()
    return not limit or any(_is_deeper(child, limit - 1) for child in children if type(child) in (dict, list))


def _first_half_pair(text: str) -> int:
    """Where the first text with half a pair begins; -1 if all pairs are whole."""
    for _, _, offset in _tokens(text):
        word = _TOKEN.match(text, offset)
        if word and _ESCAPED_HALF_PAIR.search(word[0]) and _HALF_PAIR.search(json.loads(word[0])):
            return offset
    return -1


def _syntax_error(error: json.JSONDecodeError, where: str) -> InvalidInput:
    rest = error.doc[error.pos : error.pos + 8]
    before = error.doc[max(0, error.pos - 200) : error.pos].rstrip()
    hint = next((hint for start, hint in _SYNTAX_HINTS if rest.startswith(start)), "")
    if not hint and before.endswith(",") and rest[:1] in ("]", "}"):
        hint = "remove the comma before it"
    near = f"near {escaped(rest.split()[0])}" if rest.strip() else "at the end"
    said = error.msg[:1].lower() + error.msg[1:].removesuffix(" at").removesuffix(" starting")
    what = f"is not JSON: {said}, {near} (column {error.colno})"
    return InvalidInput(what, where=f"{where}:{error.lineno}", hint=hint)


def _tokens(text: str) -> Iterator[tuple[str, list[str | int | None], int]]:
    """Keys and values in order: the word ("key" for a key), the path it belongs to, its offset.

    The path is one list that changes between yields. Valid up to the first thing that is not JSON.
    """
    stack: list[str | int | None] = []
    for match in _TOKEN.finditer(text):
        word = match[0]
        if word == ",":
            stack[-1] = stack[-1] + 1 if isinstance(stack[-1], int) else None
        elif word == "]" or word == "}":
            stack.pop()
        elif word == ":":
            continue
        elif stack and stack[-1] is None:
            stack[-1] = json.loads(word)
            yield "key", stack, match.start()
        else:
            yield word, stack, match.start()
            if word == "[" or word == "{":
                stack.append(0 if word == "[" else None)


def _first(text: str, literal: str) -> int:
    return next(offset for word, _, offset in _tokens(text) if word == literal)


def _second_key(text: str, key: str) -> int:
    """Where `key` stands for the second time in one object."""
    had: dict[int, bool] = {}  # depth -> whether the object open there has the key already
    for word, stack, offset in _tokens(text):
        if word == "{":
            had[len(stack) + 1] = False
        elif word == "key" and stack[-1] == key:
            if had[len(stack)]:
                return offset
            had[len(stack)] = True
    raise ValueError(f"{key} is there once")


def _nearest(found: dict[tuple[str | int | None, ...], int], path: tuple[str | int, ...]) -> int:
    return next(found[path[:n]] for n in range(len(path), -1, -1) if path[:n] in found)


def _line(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
