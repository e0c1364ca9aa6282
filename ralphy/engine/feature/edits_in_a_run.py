"""Edits of the live documents that were made while an agent ran without a sandbox: set aside, for nobody can tell whose
they are.

In a sandbox an agent cannot reach the checkout's documents, and what changes there is a person's.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ralphy.engine.feature.branch_tip import work_tip
from ralphy.engine.feature.live_documents import edited, is_known_version, lay_out, removed_here
from ralphy.engine.workspace.set_aside import relative_path, set_aside
from ralphy.engine.workspace.workspace import Workspace
from ralphy.files.atomic import replace_if
from ralphy.files.read import read_regular
from ralphy.text.tone import WAITING


def note_edits(w: Workspace, more: Collection[str] = ()) -> dict[str, str]:
    """The documents that hold a person's edit now, and `more`, each with the id of the blob that keeps it; "" for what
    is not a plain file."""
    edits = edited(w, work_tip(w))
    contents = {name: read_regular(w.feature.file(name)) for name in (*edits.files, *edits.broken, *more)}
    oids = w.objects.write_blobs({name: data for name, data in contents.items() if data is not None})
    return {name: oids.get(name, "") for name in contents}


def set_edits_aside(w: Workspace, before: Mapping[str, str]) -> tuple[str, ...]:
    """Move what was edited since `note_edits` to `.ralphy/set-aside`, put back what was there, and say so.

    Gives the names of the documents.
    """
    now = note_edits(w, before)
    changed = (name for name in sorted(now) if now[name] != before.get(name))
    # Ralphy writes documents before it notes the end of a run, and may have died between the two
    names = tuple(name for name in changed if name in before or not is_known_version(w, name, now[name]))
    for name in names:
        path = w.feature.file(name)
        moved = set_aside(w, path, name)
        oid = before.get(name) or removed_here(w).get(name, "")
        data = w.objects.read(oid) if oid else None
        if data is not None:
            replace_if(path, data, lambda content: content is None)
        place = relative_path(w, path)
        advice = f"; it is kept: if it was you, cp {relative_path(w, moved)} {place}" if moved else " and is put back"
        what = "changed" if moved else "removed"
        w.say(f"{place} was {what} while an agent ran without a sandbox, so it does not count{advice}", WAITING)
    if names:
        lay_out(w, work_tip(w))
    return names
