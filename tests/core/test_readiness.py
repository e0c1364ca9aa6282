"""PRD.md before an agent is paid: only a missing title or objective stops; all else is a remark with its line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphy.documents.readiness import faults, remarks

READY = """\
# Sign in

## Objective

People sign in with their e-mail address.

- A visitor can create an account.
- After five wrong passwords in a row the account is locked.

## Non-goals

- Signing in with another site's account.
"""


def said(text: str) -> list[tuple[int, str]]:
    return [(remark.line, remark.said) for remark in remarks(text)]


def test_a_prd_that_is_ready_has_no_remark() -> None:
    assert said(READY) == []
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


REMARKS = [
    ("- It is fast.\n", "no test can show \"fast\": give a number or an example"),
    ("- It is fast: 200 ms.\n", ""),
    ("- Errors are handled (TBD).\n", "TBD is still open"),
    ("- A visitor can not create an account.\n", "says the opposite of line 7"),
    ("- A visitor can't create an account\n", "says the opposite of line 7"),
    ("- After 3 wrong passwords in a row, the account is locked.\n", "differs from line 8 in a number alone"),
    ("- Signing in with another site's account.\n", "says the opposite of line 12"),
    ("```\n- It is fast.\n```\n", ""),
]  # fmt: skip


@pytest.mark.parametrize(("more", "found"), REMARKS)
def test_what_is_vague_open_or_contradictory_is_said_with_its_line(more: str, found: str) -> None:
    assert said(f"{READY}\n## More\n\n{more}") == ([(16, found)] if found else [])


def test_an_objective_of_one_sentence_is_enough_and_the_rest_is_remarks() -> None:
    found = said("# Add CSV export\n\n## Objective\n\nThe report page gets a button.\n")
    assert [text.partition(":")[0] for _, text in found] == [
        "nothing on scope or non-goals", "no list of what must hold",
    ]  # fmt: skip


def test_a_large_prd_is_better_cut() -> None:
    many = "".join(f"- The {chr(97 + n // 26)}{chr(97 + n % 26)} page shows its name.\n" for n in range(60))
    assert said(READY.replace("## Non-goals", f"{many}\n## Non-goals")) == [
        (1, "is large (63 items, 460 words): several features are done more surely")
    ]


@settings(deadline=None, max_examples=50)
@given(st.text(alphabet=st.sampled_from("#-*`= \n\tab1.<!>~"), max_size=80))
def test_any_text_is_read(text: str) -> None:
    assert all(1 <= remark.line <= max(1, text.count("\n") + 1) for remark in remarks(text))
