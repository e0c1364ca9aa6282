"""What an agent's tool calls account for."""

from __future__ import annotations

from typing import Any

import pytest

from ralphy.agents.touched import Touched


def call(**given: Any) -> dict[str, Any]:
    return {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "1", "input": given}]}}


@pytest.mark.parametrize(
    ("given", "changed", "unexplained"),
    [
        ({"file_path": "/home/me/app/src/a.py"}, ["src/a.py", "src/b.py"], ("src/b.py",)),
        ({"file_path": "src/a.py"}, ["src/a.py", "a.py"], ("a.py",)),
        ({"notebook_path": "n.ipynb"}, ["n.ipynb"], ()),
        ({"command": "sed -i s/a/b/ a.py"}, ["src/a.py", "src/b.py"], ("src/b.py",)),
        ({"command": "ruff format src"}, ["src/a.py", "tests/a.py"], ("tests/a.py",)),
        ({"command": "ruff format src"}, ["src/shop/deep/a.py", "README.md"], ("README.md",)),
        ({"file_path": 7, "command": None}, ["src/a.py"], ()),
        ({}, ["src/a.py"], ()),
    ],
)
def test_what_no_call_names_is_left_over(
    given: dict[str, Any], changed: list[str], unexplained: tuple[str, ...]
) -> None:
    touched = Touched()
    touched.saw(call(**given))
    assert touched.unexplained(changed) == unexplained


@pytest.mark.parametrize(
    "event", [{}, {"message": None}, {"message": {"content": "text"}}, {"message": {"content": [7]}}]
)
def test_any_event_is_taken_without_an_error(event: dict[str, Any]) -> None:
    touched = Touched()
    touched.saw(event)
    assert touched.unexplained(["a.py"]) == ()
