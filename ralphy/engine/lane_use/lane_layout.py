"""The lanes of a workspace: opened once for a repository, laid out and furnished for agents and for checks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ralphy.engine.feature.documents import all_of_the_folder
from ralphy.engine.feature.lane_tree import begun_at, tip_of
from ralphy.engine.lane_use.lane_setup import forget_set_up, is_set_up, made_by_setup, set_up
from ralphy.engine.workspace.changes import shown
from ralphy.errors import EnvironmentProblem
from ralphy.files import temporary
from ralphy.files.atomic import read_regular, replace_file
from ralphy.files.tree_walk import remove
from ralphy.git.objects import Entry
from ralphy.lanes.bring import Brought, apart_from, bring, coming, kept_paths, left_behind, unbound, wanted
from ralphy.lanes.ignored import dependency_folder
from ralphy.lanes.lanes_folder import lanes_folder
from ralphy.lanes.pool import Pool
from ralphy.lanes.tree_copy import TreeCopy
from ralphy.text.tone import WAITING

if TYPE_CHECKING:
    from ralphy.engine.workspace.workspace import Workspace
    from ralphy.lanes.lane import Lane

_MOST_LANES = 80  # more than agents at the same time


def lanes_of(w: Workspace) -> Pool:
    """Where agents and checks work, opened once. EnvironmentProblem where the walls that are asked for cannot stand."""
    if w.checkout.lanes is None:
        w.checkout.lanes = _opened(w)
    return w.checkout.lanes


def clean_lane(w: Workspace) -> Lane:
    """The lane that checks run in, and that no agent enters."""
    return lanes_of(w).clean()


def _opened(w: Workspace) -> Pool:
    from ralphy.engine.lane_use.lane_walls import bubblewrap_for

    program, folder = bubblewrap_for(w), lanes_folder(w.repository, w.config.lanes, w.env)
    features = w.config.project.features_dir
    return Pool(w.repository, folder, program, w.config.safety.level, control=(features,), objects=w.objects)


def agent_lane(w: Workspace) -> Lane:
    """The lane of the workspace's next agent: the first in which nobody works, and that holds no work of another
    feature's dead run."""
    in_use = {run.get("lane") for run in w.history.open_runs}
    for slot in range(1, _MOST_LANES + 1):
        if str(slot) in in_use:
            continue
        lane = lanes_of(w).agent(slot)
        if lane.kept_for() in ("", w.feature.name):
            return lane
    raise EnvironmentProblem(f"all {_MOST_LANES} lanes hold work that was cut off", hint="ralphy loop; ralphy lanes")


def is_set_up_for(w: Workspace, tree: str) -> bool:
    """Can checks run on a tree without a run of `setup`, which the next story would then need again?"""
    return is_set_up(w, clean_lane(w), tree)


def lay_out_clean(w: Workspace, tree: str, commit: str = "") -> None:
    """Lay a tree out in the lane of the checks, ready for them."""
    lay_out_lane(w, clean_lane(w), tree, commit or tip_of(w))


def lay_out_lane(w: Workspace, lane: Lane, tree: str, commit: str) -> None:
    """Lay a tree out in a lane, with what is brought along, and set up; `commit` is what HEAD says there.

    A person may remove the lane meanwhile: then it is done again, once.
    """
    try:
        _lay_out(w, lane, tree, commit)
    except (FileNotFoundError, EnvironmentProblem):
        if not lane.was_removed:
            raise
        _lay_out(w, lane, tree, commit)


def _lay_out(w: Workspace, lane: Lane, tree: str, commit: str) -> None:
    brought = _brought(w, tree)
    lane.keep = _kept(w, lane, tree, brought)
    lane.lay_out(tree, commit, w.feature_branch)
    _tell_of_submodules(w, lane)
    _furnish(w, lane, brought)
    set_up(w, lane, tree)
    replace_file(lane.home / "laid-out", tree.encode(), durable=False)


def lay_over(w: Workspace, lane: Lane, files: Mapping[str, bytes]) -> None:
    """Write files that Git must not know into a lane. OSError if a link, or something else in there, is in the way."""
    if not files:
        return
    above = temporary.make("over", w.repository.token, w.repository.state_dir)  # agents do not see it there
    try:
        for path, data in files.items():
            replace_file(above / path, data, durable=False)
        copy = TreeCopy(above, lane.tree, lane.at)
        for path in files:
            copy.bring(path)
    finally:
        remove(above)
    if copy.left_out:
        raise OSError("; ".join(f"{path}: {why}" for path, why in copy.left_out))


def laid_out_in(lane: Lane) -> str:
    """The tree that was last laid out in a lane; "" if it was made again since."""
    return (read_regular(lane.home / "laid-out") or b"").decode()


def with_documents(w: Workspace, tree: str) -> str:
    """A tree with the feature's documents: before there is a branch, those of the folder; else it has them."""
    if begun_at(w):
        return tree
    oids = w.objects.write_blobs(dict(all_of_the_folder(w)))
    return w.objects.graft(tree, {w.feature.in_repository(name): Entry("100644", oid) for name, oid in oids.items()})


def bound_dependencies(w: Workspace, lane: Lane) -> list[tuple[Path, Path]]:
    """(source, place inside) of dependencies that a sandboxed lane shows read-only to checks: the checkout's, or, where
    `setup` installs them, the lane's own."""
    if lane is not clean_lane(w) or lane.at == lane.tree:
        return []
    source = lane.tree if w.config.setup else w.repository.root
    folders = [one for one in coming(w.checkout.brought or ()) if one not in unbound([one]) and one.is_folder]
    tree = laid_out_in(lane)
    made = [path for path in made_by_setup(w, lane, tree) if dependency_folder(lane.tree, f"{path}/") == f"{path}/"]
    names = dict.fromkeys([*(one.path for one in folders), *made])
    return [(source / name, lane.at / name) for name in names if _is_folder(source / name)]


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _kept(w: Workspace, lane: Lane, tree: str, brought: list[Brought]) -> tuple[str, ...]:
    """What stays in a lane when another tree is laid out there."""
    kept = kept_paths(brought, w.config.lanes, is_clean=lane is clean_lane(w))
    return tuple(dict.fromkeys((*kept, *made_by_setup(w, lane, tree))))


def _tell_of_submodules(w: Workspace, lane: Lane) -> None:
    """Say once which submodules are empty folders in lanes, before checks turn red for it."""
    for path in lane.empty[:5]:
        sentence = (f"{shown(path)} is an empty folder in lanes: the commit of the submodule is not in your checkout; "
                    f"git submodule update --init {shown(path)}")  # fmt: skip
        if sentence not in w.checkout.said:
            w.checkout.said.add(sentence)
            w.say(sentence, WAITING)


def _brought(w: Workspace, tree: str) -> list[Brought]:
    """What comes along from the checkout; asked once, and what stays behind is said."""
    if w.checkout.brought is None:
        w.checkout.brought = tuple(wanted(w.repository, w.config))
        for sentence in left_behind(w.checkout.brought):
            w.say(sentence)
    return apart_from(w.checkout.brought, lambda path: w.objects.at(tree, path) is not None)


def _furnish(w: Workspace, lane: Lane, brought: list[Brought]) -> None:
    """Copy what comes along; in a sandbox, checks see dependencies where they are, without another installation."""
    is_bound = lane is clean_lane(w) and lane.at != lane.tree and not w.config.setup
    chosen = unbound(brought) if is_bound else brought
    if not coming(chosen):
        return
    done = bring(chosen, w.repository.root, lane.tree, at=lane.at, keeps_changes=bool(w.config.setup))
    for path, why in done.left_out:
        sentence = f"{path} is not brought into lanes: {why}"
        if sentence not in w.checkout.said:
            w.checkout.said.add(sentence)
            w.say(sentence)
    if done.files:
        forget_set_up(lane)
