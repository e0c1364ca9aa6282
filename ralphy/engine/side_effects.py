"""Side effects: tracked files that the checks write whatever the code is, such as a lock file, a report, a database.

They are known from the baseline and put back after the checks each time: what is committed is what was checked. A file
that the checks change for a story's code alone is no side effect, it speaks against the attempt.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ralphy.engine.changes import changed_paths, entries_of, is_control, shown
from ralphy.engine.control import set_aside
from ralphy.engine.restore import check_out, remove_file, write_files
from ralphy.engine.workspace import Workspace
from ralphy.git.objects import Entry


def undo_first(w: Workspace, tree: str, before: Collection[str]) -> tuple[str, ...]:
    """After the baseline: put back what the checks wrote into the files of that tree; gives their paths.

    `before` had changed already. What was written is set aside: it may be a person's.
    """
    changed = [path for path in changed_paths(w) if path not in before and _file_at(w, tree, path)]
    written = [path for path in changed if not is_control(w, path) and not w.is_other_feature(path)]
    for path in written:
        moved = set_aside(w, w.repository.root / path, shown(path).replace("/", "__"))
        kept = f"; what was there is kept as {moved.name} in set-aside" if moved else ""
        w.say(f"the checks changed {shown(path)}: it is put back, now and after every check{kept}")
    check_out(w, tree, written)
    return tuple(written)


def undo(w: Workspace, written: Sequence[str], green: str, tree: str) -> None:
    """Put those paths back as `tree` has them; Ralphy's index holds `green`."""
    if not written:
        return
    now = entries_of(w, green, written)
    wanted = {path: _file_at(w, tree, path) for path in written}
    differing = [path for path in written if now.get(path) != wanted[path]]
    for path in differing:
        if wanted[path] is None:
            remove_file(w, path)
    as_green = [path for path in differing if wanted[path] == _file_at(w, green, path)]
    check_out(w, green, as_green)
    write_files(w, tree, [path for path in differing if wanted[path] and path not in as_green])


def _file_at(w: Workspace, tree: str, path: str) -> Entry | None:
    entry = w.objects.at(tree, path)
    return entry if entry and entry.mode.startswith(("100", "120")) else None
