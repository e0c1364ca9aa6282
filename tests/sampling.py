"""Which rows of a table every run of the tests tries, and which are left to `make soak`."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import pytest
from _pytest.mark import ParameterSet


def sampled(rows: Iterable[object], *kept: object) -> list[ParameterSet]:
    """The rows as parameters; all but those that are kept are for nights and releases."""
    found = [row if isinstance(row, ParameterSet) else parameters(row) for row in rows]
    missing = [row for row in kept if parameters(row).values not in [param.values for param in found]]
    assert not missing, f"there is no row {missing}"
    values = [parameters(row).values for row in kept]
    return [param if param.values in values else _for_soak(param) for param in found]


def parameters(row: object) -> ParameterSet:
    return pytest.param(*row) if isinstance(row, tuple) else pytest.param(row)


def _for_soak(param: ParameterSet) -> ParameterSet:
    marks: Collection[object] = [*param.marks, pytest.mark.soak]
    return pytest.param(*param.values, marks=marks, id=param.id)  # type: ignore[arg-type]
