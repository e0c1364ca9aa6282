"""Before each look: the branch where a person has moved it, and the checkout's documents as the branch has them."""

from __future__ import annotations

from ralphy.engine.feature.checkout_sync import catch_up
from ralphy.engine.feature.land import tip_taken_up
from ralphy.engine.feature.lane_tree import begun_at
from ralphy.engine.feature.live_documents import lay_out
from ralphy.engine.view.observe import branch_of
from ralphy.engine.workspace.workspace import Workspace


def keep_up(w: Workspace) -> None:
    """Go on from where a person has put the branch, and lay out the documents; nothing before there is a branch."""
    w.branch = branch_of(w)
    tip_taken_up(w)
    tip = begun_at(w)
    if not tip or w.left_runs:
        return
    catch_up(w)
    laid = lay_out(w, tip)
    if laid.missing:
        names = ", ".join(laid.missing[:5])
        w.say(f"{names}: removed from {w.feature.path}; restored from {w.feature_branch}")
