"""Closing: what a merged feature leaves is let go, and lanes that nobody needs or that are too large.

A merged feature's kept attempts go, and its line in `.git/info/exclude`, once the branch that is checked out tracks its
folder. Lanes stay for the next feature; when all are merged or rejected, or their worktree was removed, they go, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ralphy.engine.feature.excluded_folder import is_excluded, unexclude
from ralphy.engine.feature.features import Found, features_of, prd_at
from ralphy.errors import EnvironmentProblem
from ralphy.git import commands as git
from ralphy.lanes.lanes_folder import lanes_folder
from ralphy.lanes.pool import LaneFacts, Pool
from ralphy.pipeline.life import Life

if TYPE_CHECKING:
    from ralphy.config.values import Config
    from ralphy.documents.feature_folder import Feature
    from ralphy.engine.workspace.checkout import Checkout
    from ralphy.engine.workspace.workspace import Workspace

_GONE = (Life.MERGED, Life.REJECTED)


@dataclass(frozen=True, slots=True)
class Leftovers:
    """What may go: refs of kept attempts with their ids, features that need no line in `info/exclude`, and lanes, each
    with the reason if a person should hear it."""

    refs: tuple[tuple[str, str], ...] = ()
    excluded: tuple[Feature, ...] = ()
    lanes: tuple[tuple[str, str], ...] = ()


def pool_of(checkout: Checkout, config: Config) -> Pool:
    """The lanes of a checkout: those that this process has opened, else as they lie there."""
    repository = checkout.repository
    folder = lanes_folder(repository, config.lanes, repository.env)
    return checkout.lanes or Pool(repository, folder, None, config.safety.level, objects=checkout.objects)


def leftovers(checkout: Checkout, config: Config, pool: Pool) -> Leftovers:
    """What would go now; nothing is changed."""
    features = features_of(checkout, config)
    merged = [found.feature for found in features if found.life is Life.MERGED]
    head = git.head_of(checkout.repository)[1]
    excluded = (one for one in merged if is_excluded(checkout.repository, one) and prd_at(checkout, head, one.path))
    return Leftovers(tuple(_refs(checkout, merged)), tuple(excluded), tuple(_lanes(pool.listed(), features, config)))


def _refs(checkout: Checkout, merged: Sequence[Feature]) -> list[tuple[str, str]]:
    """The kept attempts of features; what people had, below `found`, stays."""
    if not merged:
        return []
    places = [f"refs/ralphy/{feature.name}/" for feature in merged]
    rows = checkout.repository.text("for-each-ref", "--format=%(refname) %(objectname)", *places).splitlines()
    refs = [(ref, oid) for ref, _, oid in (row.rpartition(" ") for row in rows)]
    return [(ref, oid) for ref, oid in refs if ref.count("/") == 4 and ref.split("/")[3] != "found"]


def _lanes(lanes: Sequence[LaneFacts], features: Sequence[Found], config: Config) -> list[tuple[str, str]]:
    lives = {found.feature.name: found.life for found in features}
    is_needed = any(life not in _GONE for life in lives.values())
    most, found = config.lanes.max_gb, list[tuple[str, str]]()
    for lane in lanes:
        if lane.kept and lives.get(lane.feature) not in _GONE:
            continue
        if lane.bytes > most << 30:
            held = f"lane {lane.name} held {lane.bytes / (1 << 30):.1f} GB, more than lanes.max_gb ({most})"
            found.append((lane.name, f"{held}: it was removed, and is made again when needed"))
        elif lane.is_left_over or not is_needed:
            found.append((lane.name, ""))
    return found


def let_go(checkout: Checkout, pool: Pool, left: Leftovers) -> int:
    """Let it go; gives the bytes of lanes that are free then. Lanes that another process uses stay."""
    if left.refs:
        rows = "".join(f"delete {ref} {oid}\n" for ref, oid in left.refs)
        checkout.repository.run("update-ref", "--stdin", stdin=rows.encode())
    for feature in left.excluded:
        unexclude(checkout.repository, feature)
    return pool.let_go([name for name, _ in left.lanes])


def close_finished(w: Workspace) -> None:
    """At the end of a loop: what is finished is let go, and what a person should know is said."""
    try:
        pool = pool_of(w.checkout, w.config)
        left = leftovers(w.checkout, w.config, pool)
        let_go(w.checkout, pool, left)
    except EnvironmentProblem as error:
        w.say(f"could not delete what finished features left: {error}")
        return
    for sentence in (why for _, why in left.lanes if why):
        w.say(sentence)


def without_lanes(w: Workspace) -> None:
    """Let go of the lanes in which a feature was worked on: it starts over."""
    pool = pool_of(w.checkout, w.config)
    pool.let_go([lane.name for lane in pool.listed() if lane.feature == w.feature.name])
