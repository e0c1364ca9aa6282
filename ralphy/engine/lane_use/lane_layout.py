"""Lay a tree out in a lane, with what is brought along, and set up."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING

from ralphy.engine.feature.branch_tip import tip_of, work_tip
from ralphy.engine.feature.documents import all_of_the_folder
from ralphy.engine.lane_use.lane_setup import forget_set_up, made_by_setup, set_up
from ralphy.engine.lane_use.open_lanes import clean_lane, say_once
from ralphy.errors import EnvironmentProblem
from ralphy.files.tree_walk import remove
from ralphy.git.objects import Entry
from ralphy.lanes.bring import Brought, bring, select
from ralphy.lanes.ignored import dependency_folder
from ralphy.sandbox.mount_points import make_mount_point
from ralphy.text.plain_text import as_utf8
from ralphy.text.tone import WAITING

if TYPE_CHECKING:
    from ralphy.engine.workspace.workspace import Workspace
    from ralphy.lanes.lane import Lane


def lay_out_clean(w: Workspace, tree: str, commit: str = "") -> None:
    """Lay a tree out in the lane of the checks, ready for them."""
    lay_out_lane(w, clean_lane(w), tree, commit or tip_of(w))


def lay_out_lane(w: Workspace, lane: Lane, tree: str, commit: str) -> None:
    """Lay a tree out in a lane, with what is brought along, and set up; `commit` is what HEAD says there.

    A person may remove the lane meanwhile: then all of it is done again, once.
    """
    try:
        _lay_out(w, lane, tree, commit)
    except (OSError, EnvironmentProblem):
        if not lane.was_removed:
            raise
        _lay_out(w, lane, tree, commit)


def _lay_out(w: Workspace, lane: Lane, tree: str, commit: str) -> None:
    brought = _brought(w, tree)
    lane.keep = _paths_to_keep(w, lane, tree, brought)
    lane.lay_out(tree, commit, w.feature_branch)
    _report_empty_submodules(w, lane)
    _copy_brought(w, lane, brought)
    set_up(w, lane, tree)
    lane.dependencies = _dependencies(w, lane, tree, brought)


def lay_over(lane: Lane, files: Mapping[str, bytes]) -> None:
    """Write files that Git must not know into a lane where a tree was just laid out. EnvironmentProblem if a link, or
    something else that is no folder, is in the way."""
    for path, data in files.items():
        make_mount_point(lane.tree, PurePath(path).parent)
        remove(lane.tree / path, lane.tree)
        with open(lane.tree / path, "xb") as file:  # noqa: PTH123 - nothing is there, and a link would not be followed
            file.write(data)


def with_documents(w: Workspace, tree: str) -> str:
    """A tree with the feature's documents: before there is a branch, those of the folder; else it has them."""
    if work_tip(w):
        return tree
    oids = w.objects.write_blobs(all_of_the_folder(w))
    return w.objects.graft(tree, {w.feature.in_repository(name): Entry("100644", oid) for name, oid in oids.items()})


def _paths_to_keep(w: Workspace, lane: Lane, tree: str, brought: list[Brought]) -> tuple[str, ...]:
    """What stays in a lane when another tree is laid out there; in the clean lane also build caches."""
    caches = [path.rstrip("/") for path in w.config.lanes.keep] if lane.is_clean else []
    return tuple(dict.fromkeys((*(one.path for one in brought), *caches, *made_by_setup(w, lane, tree))))


def _report_empty_submodules(w: Workspace, lane: Lane) -> None:
    """Name submodules that are empty folders in lanes once, before checks fail because of it."""
    for path in lane.empty[:5]:
        say_once(w, f"{as_utf8(path)} is an empty folder in lanes: "
                 "the commit of the submodule is not in your checkout; "
                 f"git submodule update --init {as_utf8(path)}", WAITING)  # fmt: skip


def _brought(w: Workspace, tree: str) -> list[Brought]:
    """What comes along from the checkout, without what the tree holds itself: another branch may track what this one
    ignores. Git is asked once, and each path that does not come along is named."""
    if w.checkout.brought is None:
        lanes, features = w.config.lanes, w.config.project.features_dir
        brought, sentences = select(w.repository, features, lanes.bring, lanes.max_gb << 30)
        w.checkout.brought = tuple(brought)
        for sentence in sentences:
            w.say(as_utf8(sentence))
    return [one for one in w.checkout.brought if w.objects.at(tree, one.path) is None]


def _dependencies(w: Workspace, lane: Lane, tree: str, brought: list[Brought]) -> tuple[str, ...]:
    """The folders of dependencies, brought or made by `setup`, that the sandbox shows read-only to checks."""
    if not lane.is_clean or not lane.is_mounted:
        return ()
    made = [path for path in made_by_setup(w, lane, tree) if dependency_folder(lane.tree, f"{path}/") == f"{path}/"]
    return tuple(dict.fromkeys([*(one.path for one in brought if one.is_dependency), *made]))


def _copy_brought(w: Workspace, lane: Lane, brought: list[Brought]) -> None:
    """Copy what comes along. Checks in a sandbox see the checkout's dependencies instead, unless `setup` installs."""
    is_bound = lane.is_clean and lane.is_mounted and not w.config.setup
    chosen = [one for one in brought if not (is_bound and one.is_dependency)]
    if not chosen:
        return
    copied, failed = bring(chosen, w.repository.root, lane.tree, w.repository.env,
                            keeps_changes=bool(w.config.setup), is_bound=lane.is_mounted)  # fmt: skip
    for path, why in failed:
        say_once(w, f"{as_utf8(path)} is not brought into lanes as a whole: {why}")
    if copied:
        forget_set_up(lane)
