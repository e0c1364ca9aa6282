"""The morning menu: what becomes of a finished branch if one story is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ralphy.text.first_few import first_few

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Dish:
    """A story that was taken out alone. `conflicts` are stories (or files) in the way; `red` are tests and checks that
    fail without it, `needed_by` the stories that these belong to. `is_missed` says whether its own tests fail without
    its code; None: nobody could ask."""

    story: str
    conflicts: tuple[str, ...] = ()
    red: tuple[str, ...] = ()
    needed_by: tuple[str, ...] = ()
    is_missed: bool | None = None

    @property
    def said(self) -> str:
        if self.conflicts:
            return f"conflicts with {first_few(self.conflicts, _MOST_NAMED)}"
        if self.red:
            return f"needed by {first_few(self.needed_by or self.red, _MOST_NAMED)}"
        return "can be dropped alone" + ("; its own tests pass without its code" if self.is_missed is False else "")


def dish(story: str, red: Sequence[str], owners: Mapping[str, str], *, is_missed: bool | None = None) -> Dish:
    """What a run of the checks without a story says; `owners` has the story of each test that proves one."""
    others = dict.fromkeys(owners[test] for test in red if owners.get(test, story) != story)
    return Dish(story, (), tuple(red), tuple(others), is_missed)
