"""One setting changed in the text of a config.yaml: everything else stays, comments and order included.

The text is changed at the place that YAML's own parser names, and read again: where more than that one setting would
change, or a comment would be lost, nothing is written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from ralphy.config.fields import Field, UnfitError, accept, all_fields, parse_words
from ralphy.config.file import read_values
from ralphy.config.values import Check
from ralphy.errors import Conflict, InvalidInput

_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_NOT_TEXT = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null"])
_INDENT = "  "


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


def typed(field: Field, text: str) -> object:
    """What a person typed as a value of the field: words as in an environment variable, or YAML in brackets.

    Raises InvalidInput with what the setting takes.
    """
    if field.dotted == "checks" or (text.lstrip().startswith(("[", "{")) and field.kind.startswith("tuple")):
        section, _, key = field.dotted.rpartition(".")
        document = f"{section}: {{{key}: {text}}}" if section else f"{key}: {text}"
        return read_values(document.encode(), "VALUE", {field.dotted: field}).values[field.dotted][0]
    try:
        return accept(field, parse_words(field, text))
    except UnfitError as error:
        from ralphy.config.strict_yaml import short

        raise InvalidInput(f"{field.dotted} is {short(text)}, must be {error}") from None


def with_setting(data: bytes, where: str, field: Field, value: object) -> bytes:
    """The file with that setting. Raises InvalidInput for a file that is wrong already, Conflict where it cannot be."""
    before = _values(data, where)
    wanted = {**before, field.dotted: value}
    text = data.decode("utf-8-sig")
    mark = data[: len(data) - len(text.encode())]
    for candidate in _candidates(text, field, flow(value)):
        after = mark + candidate.encode()
        try:
            if _values(after, where) == wanted:
                return after
        except InvalidInput:
            continue
    line = f"{field.dotted.replace('.', ': {', 1)}: {flow(value)}{'}' if '.' in field.dotted else ''}"
    raise Conflict(f"cannot change {field.dotted} and keep the rest", where=where, hint=f"write it by hand: {line}")


def _values(data: bytes, where: str) -> Mapping[str, object]:
    return {name: value for name, (value, _) in read_values(data, where, all_fields()).values.items()}


def _candidates(text: str, field: Field, value: str) -> Iterator[str]:
    """The text with the setting at the first place where it may stand, the best one first."""
    import yaml

    root: Any = yaml.compose(text, Loader=yaml.SafeLoader)
    section, _, key = field.dotted.rpartition(".")
    if root is None or not isinstance(root, yaml.MappingNode):
        yield from _new_block(text, section, key, value)
        return
    if not section:
        yield from _in_mapping(text, root, key, value) or _new_block(text, section, key, value)
        return
    name, found = _item(root, section)
    if found is None:
        yield from _in_flow(text, root, section, f"{{{key}: {value}}}") or _new_block(text, section, key, value)
    elif isinstance(found, yaml.MappingNode):
        yield from _in_mapping(text, found, key, value) or [_added(text, found, key, value)]
    elif found.start_mark.index == found.end_mark.index and not root.flow_style:
        yield _below(text, name.end_mark.index, f"{_INDENT}{key}: {value}")
    else:
        yield _replaced(text, found, f"{{{key}: {value}}}")


def _in_mapping(text: str, mapping: Any, key: str, value: str) -> list[str]:
    """The text with another value for a key that is there, or with one more in braces; else nothing."""
    _, old = _item(mapping, key)
    if old is None:
        return _in_flow(text, mapping, key, value)
    is_long = "\n" in text[old.start_mark.index : _end(old)]
    if is_long and "#" in text[old.start_mark.index : _end(old)]:
        return []  # a comment would be lost
    return [_replaced(text, old, value)]


def _in_flow(text: str, mapping: Any, key: str, value: str) -> list[str]:
    if not mapping.flow_style:
        return []
    at = _end(mapping.value[-1][1]) if mapping.value else mapping.start_mark.index + 1
    return [f"{text[:at]}{', ' if mapping.value else ''}{key}: {value}{text[at:]}"]


def _added(text: str, mapping: Any, key: str, value: str) -> str:
    """A line more below the last one of a mapping, as far to the right."""
    indent = " " * mapping.value[0][0].start_mark.column
    return _below(text, _end(mapping.value[-1][1]), f"{indent}{key}: {value}")


def _new_block(text: str, section: str, key: str, value: str) -> Iterator[str]:
    """Lines of their own: below the comment that shows the defaults, else at the end."""
    lines = [f"{section}:", f"{_INDENT}{key}: {value}"] if section else [f"{key}: {value}"]
    block = _line_end(text).join(lines)
    if shown := re.search(rf"^# ?{re.escape(section or key)}:", text, re.M):
        yield _below(text, shown.end(), block)
    yield _below(text, len(text), block)


def _item(mapping: Any, key: str) -> tuple[Any, Any]:
    return next((item for item in mapping.value if item[0].value == key), (None, None))


def _end(node: Any) -> int:
    """Where a value ends; a block ends with its last value, not with the comments behind it."""
    if not isinstance(node.value, str) and not node.flow_style:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    return int(node.end_mark.index)


def _replaced(text: str, old: Any, value: str) -> str:
    start, end = old.start_mark.index, _end(old)
    if start == end:
        return f"{text[:start]} {value}{text[end:]}"
    body = text[start:end]
    left = text[:start]
    if not isinstance(old.value, str) and not old.flow_style:  # a block begins on a line below its key
        left = f"{left.rstrip()} "
    return f"{left}{value}{body[len(body.rstrip()) :]}{text[end:]}"


def _below(text: str, index: int, line: str) -> str:
    """The text with a line below the one that `index` ends on."""
    end = text.find("\n", max(0, index - 1))
    if end < 0:
        start = "" if not text else _line_end(text)
        return f"{text}{start}{line}{_line_end(text)}"
    return f"{text[: end + 1]}{line}{_line_end(text)}{text[end + 1 :]}"


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
