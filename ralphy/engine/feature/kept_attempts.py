"""Attempts that are kept: a commit of Ralphy's own under a ref, numbered on, never overwritten."""

from __future__ import annotations

from ralphy.engine.workspace.workspace import Workspace


def kept_commit(w: Workspace, tree: str, parent: str, message: str) -> str:
    """A commit of Ralphy's own for a tree that is kept under a ref; it is on the disk when this returns."""
    w.objects.persist(tree)
    who = f"Ralphy <ralphy@localhost> {int(w.clock())} +0000"
    text = f"tree {tree}\nparent {parent}\nauthor {who}\ncommitter {who}\n\n{message}\n"
    commit = w.objects.write("commit", text.encode("utf-8", "replace"))
    w.objects.sync()
    return commit


def kept_numbers(w: Workspace, story: str) -> list[int]:
    """The numbers under which attempts at a story are kept."""
    rows = w.repository.text("for-each-ref", "--format=%(refname)", f"refs/ralphy/{w.feature.name}/{story}").split()
    return [int(row.rsplit("-", 1)[1]) for row in rows if "/attempt-" in row and row.rsplit("-", 1)[1].isdigit()]


def next_number(w: Workspace, story: str, attempt: int) -> int:
    """The attempt count resets after a redo, and a limit costs none: kept ones are numbered on, never overwritten."""
    return max([attempt - 1, *kept_numbers(w, story)]) + 1
