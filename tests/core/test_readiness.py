"""PRD.md before an agent is paid: a missing title or objective stops."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphy.documents.readiness import faults


def test_a_prd_with_a_title_and_an_objective_is_ready() -> None:
    assert faults("# Sign in\n\n## Objective\n\nPeople sign in.\n") == []
    assert faults("# Zähler\n\n## Objectif\n\n- compter\n\n## Périmètre\n\nrien\n") == []
    assert faults("# Sign in\n\nPeople sign in.\n\n## Requirements\n\n- with a password\n") == []
    assert faults("Sign in\n=======\n\n## Goals\n\nPeople sign in.\n") == []
    assert faults("# Sign in\n\n## 1. Product Overview\n\n### For whom\n\nPeople sign in.\n") == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", ["1: no title", "1: no objective"]),
        ("Sign in.\n", ["1: no title", "1: no objective"]),
        ("## Objective\n\nSign in.\n", ["1: no title"]),
        ("#\n\n## Goal\n\nSign in.\n", ["1: no title"]),
        ("# Sign in\n", ["1: no objective"]),
        ("# The objective\n\n- People sign in\n", ["1: no objective"]),
        ("# Sign in\n\n## Non-goals\n\n- Sign up\n", ["3: no objective"]),
        ("# Sign in\n\n## Objective\n\n## Scope\n\n- Sign in\n", ["3: no objective"]),
        ("# Sign in\n\n## Objective\n\n<!-- later -->\n", ["3: no objective"]),
        ("```\n# Sign in\n```\n", ["1: no title", "1: no objective"]),
    ],
)
def test_without_a_title_or_an_objective_no_agent_is_paid(text: str, found: list[str]) -> None:
    assert [fault.partition(":")[0] + ":" + fault.partition(":")[2].split(":")[0] for fault in faults(text)] == found


@settings(max_examples=50)
@given(st.text(alphabet=st.sampled_from("#-*`= \n\tab1.<!>~"), max_size=80))
def test_any_text_is_read(text: str) -> None:
    assert all(1 <= int(fault.partition(":")[0]) <= max(1, text.count("\n") + 1) for fault in faults(text))
