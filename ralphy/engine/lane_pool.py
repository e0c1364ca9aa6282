"""The lanes of a workspace: opened once for a repository, laid out for agents and for checks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ralphy.git.objects import Entry
from ralphy.lanes.pool import Pool

if TYPE_CHECKING:
    from ralphy.engine.workspace import Workspace
    from ralphy.lanes.lane import Lane


def lay_out_clean(w: Workspace, tree: str, commit: str = "") -> None:
    """Lay a tree out in the lane of the checks, ready for them: set up, with what was brought."""
    from ralphy.engine.lane_tree import tip_of

    lay_out_lane(w, w.clean, tree, commit or tip_of(w))


def lay_out_lane(w: Workspace, lane: Lane, tree: str, commit: str) -> None:
    """Lay a tree out in a lane; `commit` is what HEAD says there. Its objects are on the disk before Git reads them."""
    from ralphy.engine.checks import set_up

    w.objects.persist(tree)
    w.objects.sync()
    lane.lay_out(tree, commit, w.feature_branch)
    set_up(w, lane)


def with_documents(w: Workspace, tree: str) -> str:
    """A tree with the feature's documents: before there is a branch, those of the folder; else it has them."""
    from ralphy.engine.documents import all_of_the_folder
    from ralphy.engine.lane_tree import begun_at

    if begun_at(w):
        return tree
    with w.objects.together():
        found = {w.feature.in_repository(name): Entry("100644", w.objects.write("blob", data))
                 for name, data in all_of_the_folder(w)}  # fmt: skip
    return w.objects.graft(tree, found)


def make_lanes(w: Workspace) -> None:
    """Have the lanes ready before they are needed: laid out as the work will find them."""
    from ralphy.engine.lane_tree import tip_of

    tip = tip_of(w)
    if tip:
        for lane in (w.lanes.agent(), w.lanes.clean()):
            lane.lay_out(w.objects.tree_of(tip), tip, w.feature_branch)


def open_pool(w: Workspace) -> Pool:
    """The lanes of the workspace's repository. EnvironmentProblem where the walls that are asked for cannot stand."""
    from ralphy.engine.lane_walls import bubblewrap_for

    program = bubblewrap_for(w)
    folder = Path(w.env.get("XDG_CACHE_HOME") or Path(w.env.get("HOME", "/")) / ".cache") / "ralphy" / "lanes"
    return Pool(w.repository, folder, program, w.config.safety.level, control=(w.config.project.features_dir,))
