"""Strict JSON: bytes to plain Python values and back, and the line that a value stands on.

Whatever `parse` accepts, `dump` can write, and reading that gives the same again. What `json` settles silently (keys
given twice, NaN, numbers that overflow, halves of surrogate pairs) is refused.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import orjson
import yaml

from ralphy.errors import InvalidInput
from ralphy.text.marks import documents, line, nodes

MAX_BYTES = 32 * 1024 * 1024
MAX_DEPTH = 100

# Escapes, one by one: a whole surrogate pair, half of one, or any other.
_ESCAPE = re.compile(r"\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\(?P<half>u[dD][89a-fA-F]..)|\\.")
# What JSON may hold as it is, and YAML refuses or takes for the end of a line.
_NOT_FOR_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
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


def parse(data: bytes, where: str, max_bytes: int = MAX_BYTES) -> Any:
    """The value that the bytes say: dicts in the order of the file, lists, texts, numbers, booleans, None.

    Raises InvalidInput, with `where` as "file:line" if there is a line, for anything that is not strict
    JSON in UTF-8 (a byte order mark is accepted), larger than `max_bytes`, nested deeper than MAX_DEPTH,
    or has an integer of more than 64 bits.
    """
    text = decode(data, where, max_bytes)
    if not text or text.isspace():
        raise InvalidInput("is empty", where=where)
    hooks = _Hooks()
    try:
        value = json.loads(
            text, object_pairs_hook=hooks.object, parse_int=hooks.integer, parse_float=hooks.decimal,
            parse_constant=hooks.constant,
        )  # fmt: skip
        is_too_deep = _is_deeper(value, MAX_DEPTH)
    except RecursionError:
        is_too_deep = True
    except json.JSONDecodeError as error:
        raise _syntax_error(error, where) from None
    if is_too_deep:
        raise InvalidInput(f"is nested deeper than {MAX_DEPTH} levels", where=where)
    if half := next((found for found in _ESCAPE.finditer(text) if found["half"]), None):
        number = text.count("\n", 0, half.start()) + 1
        raise InvalidInput("has half of a surrogate pair", where=f"{where}:{number}", hint="remove the \\ud… escape")
    if hooks.refused:
        what, hint, place = hooks.refused
        raise InvalidInput(what, where=f"{where}:{place(_root(text))}", hint=hint)
    return value


def decode(data: bytes, where: str, max_bytes: int = MAX_BYTES) -> str:
    """The text of a file, without its byte order mark; raises InvalidInput for what is too large or not UTF-8."""
    if len(data) > max_bytes:
        raise too_large(where, max_bytes)
    encoding = json.detect_encoding(data)
    if not encoding.startswith("utf-8"):
        raise InvalidInput(f"is {encoding[:6].upper()}, must be UTF-8", where=where, hint="save it as UTF-8")
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


def locate_all(text: str, paths: Sequence[Sequence[str | int]]) -> list[int]:
    """The line, from 1, of the value at each path, or of the nearest value around it that is there.

    `text` must be what `parse` accepts.
    """
    root = _root(text)
    return [_locate(root, path) for path in paths]


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


class _Hooks:
    """What `json` calls for objects and numbers. The first to refuse is noted: once all is read it can be placed."""

    refused: tuple[str, str, Callable[[yaml.Node | None], int]] | None = None

    def object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            key = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
            self._refuse(f"has the key {shown(key)} twice in one object", "remove one of the two",
                         lambda root: _line_of_second(root, key))  # fmt: skip
        return made

    def integer(self, literal: str) -> int:
        # Twenty characters hold any 64-bit integer; a longer literal is not worth converting.
        number = int(literal) if len(literal) <= 20 else 1 << 64
        if not -(1 << 63) <= number < 1 << 64:
            self._refuse_number(literal, f"has an integer of more than 64 bits, {_cut(literal)}",
                                "write it as text, in quotes")  # fmt: skip
        return number

    def decimal(self, literal: str) -> float:
        number = float(literal)
        if not math.isfinite(number):
            self._refuse_number(
                literal, f"has a number that is too large, {_cut(literal)}", "write a number below 1e308"
            )
        return number

    def constant(self, literal: str) -> None:
        self._refuse_number(literal, f"holds {literal}, which is not JSON", "write a number or null")

    def _refuse_number(self, literal: str, what: str, hint: str) -> None:
        self._refuse(what, hint, lambda root: _line_of_number(root, literal))

    def _refuse(self, what: str, hint: str, place: Callable[[yaml.Node | None], int]) -> None:
        self.refused = self.refused or (what, hint, place)


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
    near = f"near {escaped(rest.split()[0])}" if rest.strip() else "at the end"
    said = error.msg[:1].lower() + error.msg[1:].removesuffix(" at").removesuffix(" starting")
    what = f"is not JSON: {said}, {near} (column {error.colno})"
    return InvalidInput(what, where=f"{where}:{error.lineno}", hint=hint)


def _root(text: str) -> yaml.Node | None:
    """What YAML reads in a JSON text that was parsed before; None for the rare one that is no YAML."""
    pairs_read = _ESCAPE.sub(lambda found: json.loads(f'"{found[0]}"') if len(found[0]) > 6 else found[0], text)
    try:
        return documents(_NOT_FOR_YAML.sub("?", pairs_read).replace("\t", " "))[0]
    except yaml.YAMLError:
        return None


def _locate(node: yaml.Node | None, path: Sequence[str | int]) -> int:
    for step in path:
        inner = _child(node, step)
        if inner is None:
            break
        node = inner
    return line(node) if node else 1


def _child(node: yaml.Node | None, step: str | int) -> yaml.Node | None:
    if isinstance(node, yaml.MappingNode):
        return next((value for key, value in node.value if key.value == step), None)
    items = node.value if isinstance(node, yaml.SequenceNode) else []
    return items[step] if isinstance(step, int) and step < len(items) else None


def _line_of_second(root: yaml.Node | None, name: str) -> int:
    """Where a key stands for the second time in one object."""
    for node in nodes(root):
        keys = [key for key, _ in node.value if key.value == name] if isinstance(node, yaml.MappingNode) else []
        if len(keys) > 1:
            return line(keys[1])
    return 1


def _line_of_number(root: yaml.Node | None, literal: str) -> int:
    plain = (node for node in nodes(root) if isinstance(node, yaml.ScalarNode) and not node.style)
    return next((line(node) for node in plain if node.value == literal), 1)
