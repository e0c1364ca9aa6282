"""Every setting that guards a person is one that others can only tighten."""

from __future__ import annotations

from dataclasses import fields

import pytest

from ralphy.config.tightening import is_looser
from ralphy.config.values import Verify


@pytest.mark.parametrize("finding", [field.name for field in fields(Verify) if field.type == "str"])
def test_a_finding_that_rejects_is_not_loosened_to_a_flag(finding: str) -> None:
    assert is_looser(f"verify.{finding}", "flag", "reject")
    assert not is_looser(f"verify.{finding}", "reject", "flag")


def test_what_came_from_elsewhere_brings_no_more_into_lanes_and_moves_them_nowhere() -> None:
    assert is_looser("lanes.bring", ("auto", "notes/**"), ("auto",))
    assert not is_looser("lanes.bring", (), ("auto",))
    assert is_looser("lanes.keep", ("target",), ())
    assert is_looser("lanes.dir", "/tmp/mine", "")
    assert not is_looser("lanes.dir", "", "/home/me/lanes")
