"""Quarantine: tests that fail now and then, or without any story's doing, in a file that people read and edit.

Ralphy adds lines to it and changes none. A row makes nothing green: it says until when a test may be excused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from ralphy.config.strict_yaml import parse
from ralphy.errors import InvalidInput

QUARANTINE = ".ralphy/quarantine.yaml"
_HEAD = """\
# Tests that fail now and then, or that fail without any story's doing. Ralphy adds rows and changes none.
# Such a test is excused only if it passes in another run of the same code, or fails without the story, too.
# After its date it is not excused any more. Remove a row once the test is mended, or give it another date.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A test, the days (YYYY-MM-DD) since and until which it is in quarantine, and what was seen of it."""

    test: str
    since: str
    until: str
    seen: str


def rows_of(data: bytes) -> dict[str, Row]:
    """The rows by test. Raises InvalidInput, with file and line, for what is not a row."""
    document = parse(data, QUARANTINE)
    rows = {} if document.root is None else document.root
    if not isinstance(rows, dict):
        raise InvalidInput(
            "must be a mapping of tests", where=QUARANTINE, hint='"tests/a.py::test": {until: 2026-12-31}'
        )
    return {test: _row(test, row) for test, row in rows.items()}


def _row(test: str, row: object) -> Row:
    fields = {key: str(value) for key, value in row.items()} if isinstance(row, dict) else {}
    try:
        until = date.fromisoformat(fields.get("until", "")).isoformat()
    except ValueError:
        raise InvalidInput(f"{test}: until must be a day", where=QUARANTINE, hint="until: 2026-12-31") from None
    return Row(test, fields.get("since", ""), until, fields.get("seen", ""))


def with_rows(data: bytes, seen: Mapping[str, str], today: date, days: int) -> bytes:
    """The file with a row more for each test that it does not have; `seen` says what was seen of each."""
    known = rows_of(data)
    until = today + timedelta(days=days)
    lines = [
        f"{json.dumps(test)}: {{since: {today}, until: {until}, seen: {json.dumps(said)}}}\n"
        for test, said in seen.items() if test not in known
    ]  # fmt: skip
    end = b"\n" if data and not data.endswith(b"\n") else b""
    return (data or _HEAD.encode()) + end + "".join(lines).encode() if lines else data
