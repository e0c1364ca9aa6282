"""gc and lanes: delete what is no longer needed, and pack what stays."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import closing
from itertools import chain

import click

from ralphy.cli.options import Invocation, with_options
from ralphy.config.values import MODERATE
from ralphy.engine import housekeeping
from ralphy.engine.workspace.checkout import Checkout
from ralphy.errors import Conflict, ExitCode, InvalidInput, NotFound
from ralphy.git.run_lock import Lock
from ralphy.lanes.lanes_folder import CACHES, lanes_folder
from ralphy.lanes.pool import LaneFacts, Pool
from ralphy.text.counted import counted
from ralphy.text.durations import span

_MB = 1 << 20


@click.command("gc")
@click.option("--dry-run", "-n", is_flag=True, help="Show what would be deleted; change nothing.")
@with_options
def gc(call: Invocation, dry_run: bool) -> int:
    """Keeps the newest attempts of each story (limits.keep_attempts), and all from the last two weeks; none of a merged
    feature. Deletes lanes larger than lanes.max_gb, lanes of removed worktrees, and all lanes once every feature is
    merged or rejected. Does not touch branches, reflogs and objects younger than two weeks. Needs all checkouts of the
    repository to be idle.
    """
    repository = call.repository()
    config = call.settings(runs_checks=False).config
    with closing(Checkout.of(repository)) as checkout, closing(housekeeping.pool_of(checkout, config)) as pool:
        stale = housekeeping.look(checkout, config, pool, time.time())
        files = {kind: [*map(str, paths)] for kind, paths in stale.files.items()}
        refs = [ref for ref, _ in stale.refs]
        own = (pool.caches if name == CACHES else pool.folder / name for name, _ in stale.lanes)
        lanes = [*map(str, own), *map(str, stale.worktrees)]
        value = {"dry_run": dry_run, "refs": refs, "refs_kept": stale.kept_refs, "files": files, "lanes": lanes}
        if dry_run:
            would = [*refs, *(f"lane {folder}" for folder in lanes), *chain(*files.values())]
            lines = [*(f"would delete: {name}" for name in would), f"would delete {len(would)} items"]
            return call.output.answer("gc", lines, **value)
        with Lock(repository.checkout_dir / "lock", "gc"):
            if other := housekeeping.at_work(repository):
                what = f"Ralphy is already running in another checkout: pid {other.get('pid')}"
                raise Conflict(what, hint="wait for it")
            swept = housekeeping.prune(repository, pool, stale)
    return call.output.answer("gc", housekeeping.sentence(swept), ExitCode.ENVIRONMENT if swept.why_not_packed else 0,
                              **value, freed_bytes=swept.freed_bytes, loose_objects=swept.loose_objects,
                              packed=not swept.why_not_packed)  # fmt: skip


@click.command("lanes")
@click.option("--rm", "removed", multiple=True, metavar="NAME", help="Delete this lane; repeatable.")
@click.option("--all", "is_all", is_flag=True, help="Delete all unused lanes.")
@with_options
def lanes(call: Invocation, removed: tuple[str, ...], is_all: bool) -> int:
    """Lists those of this checkout, with size and current user. A lane is a working tree that Ralphy keeps outside the
    checkout. Deleting one loses nothing: the next run fills a new one. Lanes in use stay.
    """
    if removed and is_all:
        raise InvalidInput("use one of --rm and --all", hint="--all deletes every unused lane")
    repository = call.repository()
    folder = lanes_folder(repository, call.settings(runs_checks=False).config.lanes, os.environ)
    with closing(Pool(repository, folder, None, MODERATE)) as pool:
        all_lanes = pool.listed()
        names = [lane.name for lane in all_lanes if not lane.pid] if is_all else _lanes_to_delete(all_lanes, removed)
        freed = pool.let_go(names)
        left = pool.listed() if names else all_lanes
    rows = [{"name": lane.name, "feature": lane.feature, "story": lane.story, "since": lane.since, "bytes": lane.bytes,
             "kept": lane.kept, "pid": lane.pid or None} for lane in left]  # fmt: skip
    gone = {lane.name for lane in all_lanes} - {lane.name for lane in left}
    lines = _listing(left, gone, freed, time.time(), is_asked=bool(removed or is_all))
    return call.output.answer("lanes", lines, folder=str(pool.folder), lanes=rows, freed_bytes=freed)


def _lanes_to_delete(all_lanes: Sequence[LaneFacts], wanted: Sequence[str]) -> list[str]:
    """The lanes to delete. NotFound for an unknown name, Conflict for a lane in use."""
    known = {lane.name: lane for lane in all_lanes}
    for name in wanted:
        if name not in known:
            raise NotFound(f"there is no lane {name}", hint="ralphy lanes")
        if known[name].pid:
            raise Conflict(f"lane {name} is in use: pid {known[name].pid}", hint="wait for that run, or stop it")
    return list(wanted)


def _listing(left: Sequence[LaneFacts], gone: set[str], freed: int, now: float, *, is_asked: bool) -> list[str]:
    lines = [f"deleted {counted(len(gone), 'lane')}: {freed / _MB:,.0f} MB freed"] if is_asked else []
    width = max((len(lane.name) for lane in left), default=0)
    lines += [f"{lane.name:<{width}}  {_row(lane, now)}" for lane in left]
    return lines or ["there are no lanes"]


def _row(lane: LaneFacts, now: float) -> str:
    """What a lane is used for, how large it is, why it is kept, and who uses it now."""
    work = f"{lane.feature}/{lane.story}".rstrip("/")
    laid_out = f"laid out {span(now - lane.since)} ago" + (f" for {work}" if work else "")
    use = "shared by all lanes" if lane.name == CACHES else laid_out
    parts = [use, f"{lane.bytes / _MB:,.0f} MB", *([f"kept: {lane.kept}"] if lane.kept else [])]
    return ", ".join([*parts, f"in use by pid {lane.pid}" if lane.pid else "free"])
