"""The candidate tree: exactly what will be tested and, if the checks pass, committed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ralphy.testguard.substance import FileChange

if TYPE_CHECKING:
    from ralphy.engine.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Candidate:
    """`tree` is the whole tree with the control files of `green`; `code` its id without the feature folder.

    `files` are the changed code files, as git names them. `tampered` names control files that had been changed,
    `refused` why it may not be committed at all; `stands` names
    refs that moved during the run, perhaps by the agent.
    """

    tree: str
    code: str
    green: str
    files: tuple[str, ...]
    tampered: tuple[str, ...] = ()
    refused: str = ""
    stands: tuple[str, ...] = ()


def file_changes(w: Workspace, green: str, tree: str) -> Iterator[FileChange]:
    """The changed files with their bytes, one at a time."""
    for path, old, new in w.objects.changes(green, tree):
        before = w.objects.read(old.oid) if old and old.mode != "160000" else None
        after = w.objects.read(new.oid) if new and new.mode != "160000" else None
        if old and new and old.oid == new.oid:
            before, after = None, None  # only the mode changed: that is a change of code
        yield FileChange(path, before, after, new.mode if new else "")
