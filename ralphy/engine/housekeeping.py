"""Housekeeping: what has served its time is let go, what stays is packed. Plumbing never triggers git's own gc.

Nothing that somebody may still want is touched: no branch, no reflog, no object that is younger than two weeks or
reachable, no ref under `refs/ralphy/<feature>/found/` (they hold what people had), no line of the journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ralphy.config.values import Config
from ralphy.documents.feature_folder import listed
from ralphy.engine.runs.running import old_runs
from ralphy.errors import EnvironmentProblem
from ralphy.files.tree_walk import children, remove, size_of, walk
from ralphy.git.commands import Repository
from ralphy.git.run_lock import holder

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
class Litter:
    """What may go: refs with their ids, and folders or files by their kind."""

    refs: tuple[tuple[str, str], ...] = ()
    files: dict[str, tuple[Path, ...]] = field(default_factory=dict)
    kept_refs: int = 0


@dataclass(frozen=True, slots=True)
class Swept:
    """What went, and the bytes that were freed; `why_not_packed` is "" if git packed."""

    refs: int
    files: dict[str, int]
    freed_bytes: int
    loose_objects: int
    why_not_packed: str = ""


def look(repository: Repository, config: Config, now: float) -> Litter:
    """What would go now; nothing is changed."""
    said = repository.text("for-each-ref", f"--format={_FIELDS}", "refs/ralphy")
    rows = [row.split("\t") for row in said.split("\n")]
    refs = [(row[0], row[1], float(row[2] or 0)) for row in rows if len(row) == 3]
    gone = tuple(_spent(refs, config.limits.keep_attempts, now))
    root = repository.root
    folders = [feature.private for feature in listed(root, config.project.features_dir)]
    return Litter(gone, {
        "runs": tuple(path for folder in folders for path in old_runs(root, folder / "runs")),
        "outboxes": tuple(path for folder in folders for path in _older(root, folder / "outbox", now - _OLD_OUTBOX_S)),
        "set_aside": tuple(
            path for folder in folders for path in _older(root, folder / "set-aside", now - _OLD_SET_ASIDE_S)
        ),
    }, len(refs) - len(gone))  # fmt: skip


def sweep_up(repository: Repository, litter: Litter) -> Swept:
    """Let it go, then pack. What git cannot pack stays as it is, and is said."""
    before = _bytes_of_objects(repository)
    files = sum(size_of(path) for paths in litter.files.values() for path in paths)
    _drop_refs(repository, litter)
    for path in (path for paths in litter.files.values() for path in paths):
        remove(path, below=repository.root)
    why = _packed(repository, ("repack", "-A", "-d", "-l", "-q", f"--unpack-unreachable={_EXPIRE}"),
                  ("prune", f"--expire={_EXPIRE}"))  # fmt: skip
    freed = max(0, before - _bytes_of_objects(repository)) + files
    counts = {kind: len(paths) for kind, paths in litter.files.items()}
    return Swept(len(litter.refs), counts, freed, loose_objects(repository), why)


def tidy(repository: Repository, config: Config, now: float) -> str:
    """The light form, for the end of a loop: packs when much lies loose; says what it did, or ""."""
    if loose_objects(repository) < _MOST_LOOSE_OBJECTS and _loose_refs(repository) < _MOST_LOOSE_REFS:
        return ""
    if at_work(repository):
        return ""
    try:
        litter = look(repository, config, now)
        _drop_refs(repository, litter)
    except EnvironmentProblem as error:
        return f"could not delete old attempts: {error}"
    return _packed(repository, ("repack", "-d", "-l", "-q")) or f"packed loose objects and refs{_gone(litter)}"


def at_work(repository: Repository) -> dict[str, object]:
    """Who works in another checkout of the repository; {} if nobody does."""
    locks = sorted((repository.state_dir / "checkouts").glob("*/lock"))
    found = (holder(lock) for lock in locks if lock.parent != repository.checkout_dir)
    return next((who for who in found if who), {})


def _drop_refs(repository: Repository, litter: Litter) -> None:
    """Each only if it still is what was looked at."""
    rows = "".join(f"delete {ref} {oid}\n" for ref, oid in litter.refs)
    if rows:
        repository.run("update-ref", "--stdin", stdin=rows.encode())


def _gone(litter: Litter) -> str:
    return f", and {len(litter.refs)} old attempts were deleted" if litter.refs else ""


def _packed(repository: Repository, *commands: Sequence[str]) -> str:
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
        parts = ref.split("/")
        if len(parts) == 5 and parts[3] != "found":
            groups.setdefault("/".join([*parts[:4], _kind(parts[4])]), []).append((at, ref, oid))
    for found in groups.values():
        for at, ref, oid in sorted(found, reverse=True)[keep:]:
            if at < now - _YOUNG_S:
                yield ref, oid


def _kind(name: str) -> str:
    return next((kind for kind in ("attempt-", "agent-") if name.startswith(kind)), "")


def _older(root: Path, folder: Path, than: float) -> Iterator[Path]:
    """What in a folder has not changed since then."""
    old = sorted(found.name for found in children(root, folder) if found.stat.st_ctime < than)
    return (folder / name for name in old if name[:1] != ".")


def loose_objects(repository: Repository) -> int:
    """How many objects lie loose, about: git's own way of guessing."""
    try:
        return sum(1 for _ in (repository.common_dir / "objects" / "17").iterdir()) * 256
    except OSError:
        return 0


def _loose_refs(repository: Repository) -> int:
    return sum(1 for found in walk(repository.common_dir / "refs" / "ralphy") if not found.is_folder)


def _bytes_of_objects(repository: Repository) -> int:
    rows = dict(row.split(": ", 1) for row in repository.text("count-objects", "-v").splitlines())
    return (int(rows.get("size", 0)) + int(rows.get("size-pack", 0)) + int(rows.get("size-garbage", 0))) * 1024


def sentence(swept: Swept) -> str:
    """What went, for people."""
    parts = [f"{number} {what}" for what, number in (
        ("kept attempts", swept.refs), ("old runs", swept.files.get("runs", 0)),
        ("outboxes of dead runs", swept.files.get("outboxes", 0)),
        ("old set-aside files", swept.files.get("set_aside", 0)), ("lanes", swept.files.get("lanes", 0)),
    ) if number]  # fmt: skip
    freed = f"{swept.freed_bytes / (1 << 20):.1f} MB were freed"
    return f"{', '.join(parts) or 'nothing'} let go; {swept.why_not_packed or 'the rest is packed'}; {freed}"
