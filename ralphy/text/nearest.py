"""The name that somebody probably meant when they typed another one."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, names: Iterable[str]) -> str:
    """The closest of the names: one that differs in its case alone, begins so, has its letters in another order, or is
    spelt alike; "" for none. `US-009` is no misspelt `US-003`: names with other numbers are spelt otherwise."""
    known = list(names)
    same = [name for name in known if name.lower() == word.lower()]
    begun = [name for name in known if word and name.startswith(word)]
    swapped = [name for name in known if sorted(name) == sorted(word)]
    alike = [name for name in known if _numbers(name) in ([], _numbers(word)) or not _numbers(word)]
    return next(iter(same or begun or swapped or get_close_matches(word, alike, 1)), "")


def _numbers(word: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"[0-9]+", word)]
