"""What this thread works on: code that works on a story in a lane says so once, and each event carries it.

Each thread has a subject of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Subject:
    """A story (None: the feature as a whole), the lane of its agent, and how often checks ran, by purpose, and how many
    of these runs were `narrowed` to files of tests; `late` are sentences on those that did not end in time."""

    story: str | None = None
    lane: str | None = None
    check_runs: Counter[str] = field(default_factory=Counter)
    narrowed: Counter[str] = field(default_factory=Counter)
    late: list[str] = field(default_factory=list)

    @property
    def runs(self) -> dict[str, Any]:
        """As a story's evidence has it: how many runs there were of checks as they stand, how many of files of tests
        alone, and what they were asked."""
        narrowed = self.narrowed.total()
        whole = self.check_runs.total() - narrowed
        return {"whole": whole, "narrowed": narrowed, "asked": dict(self.check_runs)}


_SUBJECT: ContextVar[Subject | None] = ContextVar("subject", default=None)


def subject() -> Subject:
    """What is worked on; a subject without a story or a lane if nobody has said."""
    return _SUBJECT.get() or Subject()


@contextmanager
def working_on(about: Subject) -> Iterator[None]:
    """Every event that this thread emits meanwhile is about this subject."""
    token = _SUBJECT.set(about)
    try:
        yield
    finally:
        _SUBJECT.reset(token)
