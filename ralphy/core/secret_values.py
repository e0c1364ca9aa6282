"""The environment's own secrets, known by the names of their variables: their values never leave."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

Values = Sequence[tuple[str, bytes]]
_NAME = re.compile(r"TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIAL|(^|_)KEY$", re.I)
# What stands in such variables, too, and is no secret: words, paths, small numbers.
_PLAIN = re.compile(r"(?i)([a-z]{1,14}|[~./][\w./~-]*|\d{1,11}|[01]+)")
_LEAST = 8


def values_of(environment: Mapping[str, str]) -> Values:
    """(name, value) of the variables that hold something to be kept, the longest value first."""
    found = [
        (name, value.encode("utf-8", "surrogateescape"))
        for name, value in environment.items()
        if _NAME.search(name) and len(value) >= _LEAST and not _PLAIN.fullmatch(value)
    ]
    return sorted(found, key=lambda row: -len(row[1]))


def without_values(data: bytes, values: Values) -> bytes:
    """The same bytes without the environment's values."""
    for name, value in values:
        if value in data:
            data = data.replace(value, f"[redacted {name}]".encode())
    return data
