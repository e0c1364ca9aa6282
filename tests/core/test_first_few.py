"""Lists for people stay short, and say how much they leave out."""

from __future__ import annotations

import pytest

from ralphy.text.first_few import first_few


@pytest.mark.parametrize("names, said", [("", ""), ("ab", "a; b"), ("abc", "a; b; c"), ("abcde", "a; b; c and 2 more")])
def test_the_first_names_stand_there_and_the_rest_is_a_number(names: str, said: str) -> None:
    assert first_few(list(names), 3, "; ") == said
