"""One setting changed in the text of a config.yaml, by the round trip of ruamel.yaml: comments and order stay."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.tokens import CommentToken

from ralphy.config.fields import Field, flow
from ralphy.config.file import read_values
from ralphy.errors import Conflict


def with_setting(data: bytes, where: str, field: Field, value: object) -> bytes:
    """The file with that setting; Conflict if more than that would change, InvalidInput if it is wrong already."""
    wanted = {**read_values(data, where).plain(), field.dotted: value}
    text = data.decode("utf-8-sig")
    after = _changed(text.replace("\r\n", "\n"), field.dotted, flow(value))
    after = after.replace("\n", "\r\n") if "\r\n" in text else after
    if read_values(after.encode(), where).plain() != wanted or _comments(text) - _comments(after):
        raise Conflict(f"cannot change {field.dotted} and keep the rest", where=where,
                       hint=f"set it to {flow(value)} by hand")  # fmt: skip
    return after.encode()


def _comments(text: str) -> Counter[str]:
    return Counter(comment.strip() for comment in re.findall(r"(?:^|\s)#.*", text))


def _changed(text: str, dotted: str, value: str) -> str:
    yaml, out = YAML(), io.StringIO()
    yaml.preserve_quotes, yaml.width = True, 10_000
    inner = re.search(r"^\w+:.*\n(?: *#.*\n)*( +)\w", text, re.M)
    dash = re.search(r"^( *)- ", text, re.M)
    offset = len(dash[1]) if dash else 2
    yaml.indent(mapping=len(inner[1]) if inner else 2, sequence=offset + 2, offset=offset)
    root = yaml.load(text)
    if root is None:  # nothing but comments, which ruamel.yaml does not keep
        root = CommentedMap()
        out.write(text and f"{text.rstrip()}\n")
    section, _, key = dotted.rpartition(".")
    if section and root.get(section) is None:
        root[section] = CommentedMap()
    holder = root[section] if section else root
    if key in holder:
        _replace(holder, key, yaml.load(value))
    else:  # at the front of its section: behind the last setting stand the comments of what comes next
        holder.insert(0 if section else len(holder), key, yaml.load(value))
    yaml.dump(root, out)
    return out.getvalue()


def _replace(holder: CommentedMap, key: str, value: object) -> None:
    """Set the value. The comments in and below the old one are parts of it: they move behind the new one."""
    before, above, *behind = [*holder.ca.items.get(key, ()), None, None, None, None][:4]
    comments = list(_tokens([behind, holder[key]]))
    holder[key] = value
    if comments:
        text = "".join(one.value for one in comments)
        holder.ca.items[key] = [before, above, CommentToken(text, comments[0].start_mark, None), None]


def _tokens(part: Any) -> Iterator[CommentToken]:
    """The comments of a value; those of a flow collection are its holder's."""
    if isinstance(part, CommentToken):
        yield part
    elif isinstance(part, CommentedMap):
        yield from _tokens([*part.ca.items.values(), *part.values(), part.ca.end])
    elif isinstance(part, CommentedSeq):
        yield from _tokens([*part.ca.items.values(), *part, part.ca.end])
    elif isinstance(part, list):
        for one in part:
            yield from _tokens(one)
