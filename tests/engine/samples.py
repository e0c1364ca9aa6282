"""Long tables, of which `make test` has a sample of the rows, and `make soak` the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest


def sampled(rows: Iterable[str], *kept: str) -> list[Any]:
    """The rows for parametrize, a test each."""
    return [row if row in kept else pytest.param(row, marks=pytest.mark.soak) for row in rows]


def parted(table: Mapping[str, Any], *kept: str) -> pytest.MarkDecorator:
    """The table in two parts, for a test that goes through all rows of one: as its argument `rows`."""
    some = {name: table[name] for name in kept}
    others = {name: row for name, row in table.items() if name not in kept}
    parts = [pytest.param(some, id="a sample"), pytest.param(others, id="the others", marks=pytest.mark.soak)]
    return pytest.mark.parametrize("rows", parts)
