"""Which files of tests are as they were, but for names that the story gave to its code?"""

from __future__ import annotations

from collections.abc import Callable

from ralphy.engine.lane_use.take_over import Candidate
from ralphy.engine.workspace.changes import shown
from ralphy.engine.workspace.workspace import Workspace
from ralphy.git.objects import Entry
from ralphy.testguard.kept.new_names import NewNames
from ralphy.testguard.substance import is_manifest, is_test


def following(w: Workspace, candidate: Candidate) -> Callable[[str], bool]:
    """Whether a file of tests, by its path, only follows new names."""
    rows = {path: (was, now) for path, was, now in w.objects.changes(candidate.green, candidate.tree)}
    names = NewNames.of((shown(path), _text(w, was), _text(w, now))
                        for path, (was, now) in rows.items() if not (is_test(path) or is_manifest(path)))  # fmt: skip

    def follows(path: str) -> bool:
        was, now = rows.get(path, (None, None))
        old, new = _text(w, was), _text(w, now)
        return old is not None and new is not None and names.explain(old, new)

    return follows


def _text(w: Workspace, entry: Entry | None) -> str | None:
    return (w.objects.read(entry.oid) or b"").decode("utf-8", "replace") if entry else None
