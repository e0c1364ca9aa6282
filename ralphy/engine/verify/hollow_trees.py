"""Trees whose code is hollow: with nothing new but names, or with no function that does anything.

Decision record 021 says what is run on them. A function that returned something `says` a value that equals nothing;
without that, it returns none. Tests stay as they are, and so does what runs them.
"""

from __future__ import annotations

from dataclasses import dataclass

from ralphy.engine.verify.case import MOST_REWRITTEN, Case, source_of
from ralphy.engine.workspace.changes import files_of
from ralphy.git.objects import Entry
from ralphy.testguard.hollow import hollow, names_only
from ralphy.testguard.red_first import goes_along
from ralphy.text.plain_text import as_utf8


@dataclass(frozen=True, slots=True)
class NewNames:
    """The tree of before (`base`), the same with the names alone that a candidate's code adds (`tree`), and its new
    functions. `hides_old` says that something which was there before may do nothing there, either: it was changed or
    moved."""

    base: str
    tree: str
    functions: tuple[str, ...] = ()
    hides_old: bool = False


def with_new_names(c: Case, base: str, *, says: bool) -> NewNames:
    """A tree of before with the names that a candidate's code adds."""
    files: dict[str, tuple[Entry, bytes]] = {}
    functions, hides_old = list[str](), False
    for change in c.changes:
        if _is_apart(c, change.path) or not (change.now and change.new):
            continue
        if stubs := names_only(change.name, change.old, change.new, says=says):
            files[change.path] = (change.now, stubs.text)
            functions += stubs.functions
            hides_old |= stubs.hides_old
    return NewNames(base, c.tree_with(base, files), tuple(functions), hides_old)


def emptied(c: Case, tree: str, *, says: bool) -> str:
    """A tree in which no function does anything."""
    files: dict[str, tuple[Entry, bytes]] = {}
    for path, entry in files_of(c.w, tree):
        data = source_of(c.w, entry) if len(files) < MOST_REWRITTEN and not _is_apart(c, path) else None
        text = hollow(as_utf8(path), data, says=says) if data else None
        if text is not None:
            files[path] = (entry, text)
    return c.tree_with(tree, files)


def _is_apart(c: Case, path: str) -> bool:
    """Is a file a test, or what runs tests?"""
    return goes_along(path) or c.places.has(as_utf8(path))
