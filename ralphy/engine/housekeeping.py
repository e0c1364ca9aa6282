"""Housekeeping: delete what is not needed any more, and pack the rest. Plumbing never triggers git's own gc.

A merged feature's kept attempts go, and its line in `.git/info/exclude`, once the branch that is checked out tracks its
folder. Lanes stay for the next feature; when all are merged or rejected, they go, too. Nothing that somebody may still
want is touched: no branch, no reflog, no object that is younger than two weeks or reachable, no line of the journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralphy.config.values import Config
from ralphy.documents.feature_folder import Feature
from ralphy.engine.feature.features import FeatureLocation, features_of, prd_at
from ralphy.engine.feature.ignored_files import is_excluded, unexclude
from ralphy.engine.runs.running import old_runs
from ralphy.engine.workspace.checkout import Checkout
from ralphy.engine.workspace.workspace import Workspace
from ralphy.errors import EnvironmentProblem
from ralphy.files.tree_walk import children, remove, size_of, walk
from ralphy.git import commands as git
from ralphy.git.commands import Repository
from ralphy.git.run_lock import holder
from ralphy.lanes.lanes_folder import lanes_folder, of_removed_worktrees
from ralphy.lanes.pool import LaneFacts, Pool
from ralphy.pipeline.life import Life

_GONE = (Life.MERGED, Life.REJECTED)
_DAY_S = 86400.0
_YOUNG_S = 14 * _DAY_S
_OLD_OUTBOX_S = _DAY_S
_OLD_SET_ASIDE_S = 90 * _DAY_S
_EXPIRE = "2.weeks.ago"
# As many as git itself would bear with, more or less: then the end of a loop packs.
_MOST_LOOSE_OBJECTS = 4000
_MOST_LOOSE_REFS = 300
_FIELDS = "%(refname)%09%(objectname)%09%(committerdate:unix)"


@dataclass(frozen=True, slots=True)
class Stale:
    """What may go: refs with their ids, those of `merged` features and others that are `spent`; folders or files by
    their kind; features that need no line in `info/exclude`; lanes, each with the reason if a person should hear it,
    and the folders of those of removed worktrees."""

    merged: tuple[tuple[str, str], ...] = ()
    spent: tuple[tuple[str, str], ...] = ()
    kept_refs: int = 0
    files: dict[str, tuple[Path, ...]] = field(default_factory=dict)
    excluded: tuple[Feature, ...] = ()
    lanes: tuple[tuple[str, str], ...] = ()
    worktrees: tuple[Path, ...] = ()

    @property
    def refs(self) -> tuple[tuple[str, str], ...]:
        return (*self.merged, *self.spent)


@dataclass(frozen=True, slots=True)
class Swept:
    """What went, and the bytes that were freed; `why_not_packed` is "" if git packed."""

    refs: int
    files: dict[str, int]
    freed_bytes: int
    loose_objects: int
    why_not_packed: str = ""


def pool_of(checkout: Checkout, config: Config) -> Pool:
    """The lanes of a checkout: those that this process has opened, else as they lie there."""
    repository = checkout.repository
    folder = lanes_folder(repository, config.lanes, repository.env)
    return checkout.lanes or Pool(repository, folder, None, config.safety.level, objects=checkout.objects)


def look(checkout: Checkout, config: Config, pool: Pool, now: float) -> Stale:
    """What would be deleted now; changes nothing."""
    repository, features = checkout.repository, features_of(checkout, config)
    merged = [location.feature for location in features if location.life is Life.MERGED]
    output = repository.text("for-each-ref", f"--format={_FIELDS}", "refs/ralphy")
    rows = [row.split("\t") for row in output.split("\n")]
    refs = [(row[0], row[1], float(row[2] or 0)) for row in rows if len(row) == 3 and row[0].count("/") == 4]
    names = {feature.name for feature in merged}
    done = [(ref, oid) for ref, oid, _ in refs if ref.split("/")[2] in names]
    spent = tuple(_spent([row for row in refs if row[:2] not in done], config.limits.keep_attempts, now))
    head = git.head_of(repository)
    excluded = (one for one in merged if is_excluded(repository, one) and prd_at(checkout, head, one.path))
    root, folders = repository.root, [location.feature.private for location in features]
    files = {
        "runs": tuple(path for folder in folders for path in old_runs(root, folder / "runs")),
        "outboxes": tuple(path for folder in folders for path in _older(root, folder / "outbox", now - _OLD_OUTBOX_S)),
        "set_aside": tuple(
            path for folder in folders for path in _older(root, folder / "set-aside", now - _OLD_SET_ASIDE_S)
        ),
    }
    kept_refs = sum(len(row) == 3 for row in rows) - len(done) - len(spent)
    lanes = tuple(_lanes(pool.listed(), features, config))
    worktrees = tuple(of_removed_worktrees(repository, pool.folder.parent))
    return Stale(tuple(done), spent, kept_refs, files, tuple(excluded), lanes, worktrees)


def _lanes(lanes: Sequence[LaneFacts], features: Sequence[FeatureLocation], config: Config) -> list[tuple[str, str]]:
    lives = {location.feature.name: location.life for location in features}
    is_needed = any(life not in _GONE for life in lives.values())
    most, stale_lanes = config.lanes.max_gb, list[tuple[str, str]]()
    for lane in lanes:
        if lane.kept and lives.get(lane.feature) not in _GONE:
            continue
        if lane.bytes > most << 30:
            held = f"lane {lane.name} held {lane.bytes / (1 << 30):.1f} GB, more than lanes.max_gb ({most})"
            stale_lanes.append((lane.name, f"{held}: it was removed, and is made again when needed"))
        elif not is_needed:
            stale_lanes.append((lane.name, ""))
    return stale_lanes


def _let_go(repository: Repository, pool: Pool, stale: Stale) -> int:
    """Delete it; gives the bytes of files and lanes that were freed. Lanes that another process uses stay.

    A ref is deleted only if it has not moved since the look.
    """
    rows = "".join(f"delete {ref} {oid}\n" for ref, oid in stale.refs)
    if rows:
        repository.run("update-ref", "--stdin", stdin=rows.encode())
    for feature in stale.excluded:
        unexclude(repository, feature)
    files = [path for paths in stale.files.values() for path in paths]
    freed = sum(map(size_of, (*files, *stale.worktrees)))
    for path in files:
        remove(path, below=repository.root)
    for folder in stale.worktrees:
        remove(folder)
    return freed + pool.let_go([name for name, _ in stale.lanes])


def prune(repository: Repository, pool: Pool, stale: Stale) -> Swept:
    """Delete it, then pack. What git cannot pack stays as it is, and is reported."""
    before = _bytes_of_objects(repository)
    freed = _let_go(repository, pool, stale)
    why = _pack(repository, ("repack", "-A", "-d", "-l", "-q", f"--unpack-unreachable={_EXPIRE}"),
                  ("prune", f"--expire={_EXPIRE}"))  # fmt: skip
    freed += max(0, before - _bytes_of_objects(repository))
    counts = {
        **{kind: len(paths) for kind, paths in stale.files.items()},
        "lanes": len(stale.lanes) + len(stale.worktrees),
    }
    return Swept(len(stale.refs), counts, freed, loose_objects(repository), why)


def tidy(w: Workspace) -> None:
    """The light form, for the end of a loop: what is finished goes; where much lies loose, old attempts go as well and
    git packs. A person hears of what matters."""
    r = w.repository
    is_much = loose_objects(r) >= _MOST_LOOSE_OBJECTS or _loose_refs(r) >= _MOST_LOOSE_REFS
    packs = is_much and not at_work(r)
    try:
        pool = pool_of(w.checkout, w.config)
        stale = replace(look(w.checkout, w.config, pool, w.clock()), files={})
        _let_go(r, pool, stale if packs else replace(stale, spent=()))
    except EnvironmentProblem as error:
        w.say(f"could not delete what finished features and old attempts left: {error}")
        return
    for sentence in (why for _, why in stale.lanes if why):
        w.say(sentence)
    if packs:
        gone = f", and {len(stale.spent)} old attempts were deleted" if stale.spent else ""
        w.say(_pack(r, ("repack", "-d", "-l", "-q")) or f"packed loose objects and refs{gone}")


def without_lanes(w: Workspace) -> None:
    """Delete the lanes in which a feature was worked on, because it starts over."""
    pool = pool_of(w.checkout, w.config)
    pool.let_go([lane.name for lane in pool.listed() if lane.feature == w.feature.name])


def at_work(repository: Repository) -> dict[str, object]:
    """Who works in another checkout of the repository; {} if nobody does."""
    locks = sorted((repository.state_dir / "checkouts").glob("*/lock"))
    holders = (holder(lock) for lock in locks if lock.parent != repository.checkout_dir)
    return next((who for who in holders if who), {})


def _pack(repository: Repository, *commands: Sequence[str]) -> str:
    """Run git's own packing; gives why it did not work, or ""."""
    try:
        for command in (*commands, ("prune-packed", "-q"), ("pack-refs", "--all")):
            repository.run(*command)
    except EnvironmentProblem as error:
        return f"git could not pack: {' '.join(str(error).split())[:200]}"
    return ""


def _spent(refs: Iterable[tuple[str, str, float]], keep: int, now: float) -> Iterator[tuple[str, str]]:
    """The refs beyond the newest `keep` of their kind and story, if they are old as well."""
    groups: dict[str, list[tuple[float, str, str]]] = {}
    for ref, oid, at in refs:
        folder, _, name = ref.rpartition("/")
        groups.setdefault(f"{folder}/{_kind(name)}", []).append((at, ref, oid))
    for group in groups.values():
        for at, ref, oid in sorted(group, reverse=True)[keep:]:
            if at < now - _YOUNG_S:
                yield ref, oid


def _kind(name: str) -> str:
    return next((kind for kind in ("attempt-", "agent-") if name.startswith(kind)), "")


def _older(root: Path, folder: Path, than: float) -> Iterator[Path]:
    """What in a folder has not changed since then."""
    old = sorted(entry.name for entry in children(root, folder) if entry.stat.st_ctime < than)
    return (folder / name for name in old if name[:1] != ".")


def loose_objects(repository: Repository) -> int:
    """How many objects lie loose, about: git's own way of guessing."""
    try:
        return sum(1 for _ in (repository.common_dir / "objects" / "17").iterdir()) * 256
    except OSError:
        return 0


def _loose_refs(repository: Repository) -> int:
    return sum(1 for entry in walk(repository.common_dir / "refs" / "ralphy") if not entry.is_folder)


def _bytes_of_objects(repository: Repository) -> int:
    rows = dict(row.split(": ", 1) for row in repository.text("count-objects", "-v").splitlines())
    return (int(rows.get("size", 0)) + int(rows.get("size-pack", 0)) + int(rows.get("size-garbage", 0))) * 1024


def sentence(swept: Swept) -> str:
    """What went, for people."""
    files = swept.files
    parts = [f"{number} {one if number == 1 else many}" for one, many, number in (
        ("kept attempt", "kept attempts", swept.refs), ("old run", "old runs", files.get("runs", 0)),
        ("outbox of a dead run", "outboxes of dead runs", files.get("outboxes", 0)),
        ("old set-aside file", "old set-aside files", files.get("set_aside", 0)),
        ("lane", "lanes", files.get("lanes", 0)),
    ) if number]  # fmt: skip
    freed = f"{swept.freed_bytes / (1 << 20):.1f} MB freed"
    return f"removed {', '.join(parts) or 'nothing'}; {swept.why_not_packed or 'packed the repository'}; {freed}"
