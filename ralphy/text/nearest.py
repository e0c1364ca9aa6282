"""The known name that a mistyped one probably means."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, names: Iterable[str]) -> str:
    """The closest of the names: one that differs only in case, begins with the word, has the same letters in another
    order, or has a similar spelling; "" if there is none. A name with another number (`US-009`) is not similar."""
    known = list(names)
    same = [name for name in known if name.lower() == word.lower()]
    begun = [name for name in known if word and name.startswith(word)]
    swapped = [name for name in known if sorted(name) == sorted(word)]
    alike = [name for name in known if _numbers(name) in ([], _numbers(word)) or not _numbers(word)]
    return next(iter(same or begun or swapped or get_close_matches(word, alike, 1)), "")


def _numbers(word: str) -> list[int]:
    return [int(digits) for digits in re.findall(r"[0-9]+", word)]
