"""At the start: files that a crash or a lost disk has torn are repaired before anything reads them."""

from __future__ import annotations

from ralphy.engine.feature.lane_tree import tip_of
from ralphy.engine.workspace.set_aside import drop_leftovers
from ralphy.engine.workspace.workspace import Workspace, repository_token
from ralphy.files import temporary
from ralphy.files.atomic import read_regular, replace_file


def repair_torn_files(w: Workspace) -> None:
    """Remove leftovers of writing, and restore torn ends; a line is said for each."""
    drop_leftovers(w)
    temporary.sweep(repository_token(w.repository))
    torn = w.journal.drop_torn_line()
    if torn:
        w.say(f"warning: the journal's last line was torn: {torn} bytes of it are ignored")
    _restore_log(w)


def _restore_log(w: Workspace) -> None:
    """progress.txt that ends in the middle of a line is put back from the last commit, which has all of it."""
    path = w.feature.file("progress.txt")
    there = read_regular(path)
    if there is None or there.endswith(b"\n"):
        return
    head = tip_of(w)
    whole = w.objects.read(f"{head}:{w.feature.in_repository('progress.txt')}") if head else None
    if whole is not None and len(there) < len(whole) and whole.startswith(there.rstrip(b"\0")):
        replace_file(path, whole)
        w.say(f"warning: progress.txt was torn: its last {len(whole) - len(there)} bytes are restored")
