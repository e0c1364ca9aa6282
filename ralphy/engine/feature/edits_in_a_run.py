"""Edits of the live documents that were made while an agent ran without a sandbox: set aside, for nobody can tell whose
they are.

In a sandbox an agent cannot reach the checkout's documents, and what changes there is a person's.
"""

from __future__ import annotations

from collections.abc import Mapping

from ralphy.engine.feature.branch_tip import work_tip
from ralphy.engine.feature.live_documents import documents_at, edited, is_known_version, lay_out, replace_if
from ralphy.engine.workspace.set_aside import relative_path, set_aside
from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.read import read_regular
from ralphy.git import commands as git
from ralphy.text.tone import WAITING

_NO_FILE = ""  # the id of what is not a plain file


def note_edits(w: Workspace) -> dict[str, str]:
    """The documents that hold a person's edit now, each with the id of the blob that keeps it."""
    contents = {name: _bytes(w, name) for name in _edited_names(w)}
    oids = w.objects.write_blobs({name: data for name, data in contents.items() if data is not None})
    return {name: oids.get(name, _NO_FILE) for name in contents}


def set_edits_aside(w: Workspace, before: Mapping[str, str]) -> tuple[str, ...]:
    """Move what was edited since `note_edits` to `.ralphy/set-aside`, put back what was there, and say so.

    Gives the names of the documents.
    """
    names = tuple(name for name in sorted({*_edited_names(w), *before}) if _is_new(w, name, before.get(name)))
    for name in names:
        path = w.feature.file(name)
        moved = set_aside(w, path, name)
        oid = before.get(name) or _of_the_commit_that_is_checked_out(w).get(name, "")
        data = w.objects.read(oid) if oid else None
        if data is not None:
            replace_if(path, data, lambda content: content is None)
        place = relative_path(w, path)
        advice = f"; it is kept: if it was you, cp {relative_path(w, moved)} {place}" if moved else " and is put back"
        what = "changed" if moved else "removed"
        w.say(f"{place} was {what} while an agent ran without a sandbox, so it does not count{advice}", WAITING)
    if names and (tip := work_tip(w)):
        lay_out(w, tip)
    return names


def _edited_names(w: Workspace) -> list[str]:
    edits = edited(w, work_tip(w))
    return [*edits.files, *edits.broken]


def _is_new(w: Workspace, name: str, before: str | None) -> bool:
    """Was a document changed by somebody else than Ralphy, which writes documents before it notes the end of a run?"""
    now = _id(w, name)
    is_ours = before is None and bool(now) and is_known_version(w, w.feature.in_repository(name), now)
    return now != before and not is_ours


def _bytes(w: Workspace, name: str) -> bytes | None:
    return read_regular(w.feature.file(name))


def _id(w: Workspace, name: str) -> str:
    data = _bytes(w, name)
    return _NO_FILE if data is None else w.objects.blob_id(data)


def _of_the_commit_that_is_checked_out(w: Workspace) -> dict[str, str]:
    return documents_at(w, git.head_of(w.repository))
