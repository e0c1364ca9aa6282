"""Before each look: the branch where a person has moved it, and the checkout's documents as the branch has them."""

from __future__ import annotations

from ralphy.engine.feature.checkout_sync import Moved, catch_up, moved_by_person, note_tip
from ralphy.engine.feature.land import Landing, land
from ralphy.engine.feature.lane_tree import begun_at
from ralphy.engine.feature.live_documents import lay_out
from ralphy.engine.view.observe import branch_of
from ralphy.engine.workspace.workspace import Workspace


def keep_up(w: Workspace) -> None:
    """Go on from where a person has put the branch, and lay out the documents; nothing before there is a branch."""
    w.branch = branch_of(w)
    moved = moved_by_person(w)
    if moved:
        note_tip(w, moved.tip)
        if moved.undone:
            _bring_back(w, moved)
    tip = begun_at(w)
    if not tip or w.history.open_runs:
        return
    catch_up(w)
    laid = lay_out(w, tip)
    if laid.missing:
        names = ", ".join(laid.missing[:5])
        w.say(f"{names}: removed from {w.feature.path}, and laid out again from {w.feature_branch}")


def _bring_back(w: Workspace, moved: Moved) -> None:
    """A person committed from a checkout that was behind: what that undid of Ralphy's work is landed again."""
    tree = w.objects.graft(w.objects.tree_of(moved.tip), moved.undone)
    names = ", ".join(list(moved.undone)[:5])
    trailers = [("Ralphy-Event", f"brought back {w.feature.name}")]
    body = f"The commit {moved.tip[:10]} was made in a checkout that was behind, and undid: {names}"
    subject = f"chore({w.feature.name}): bring back what a stale checkout undid"
    land(w, Landing(subject, trailers, tree, moved.tip, moved.tip, {}, body=body))
    w.say(f"{body}; it is back")
