"""What the checkout has and Git ignores, and a lane needs: dependencies, `.env`, local databases, other small files.

Git says which files it ignores; `lanes.bring` says which of them come along. They are copied: a write in a lane never
reaches the original. In a sandbox, the folders of dependencies can be bound read-only instead.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ralphy.files.disk_space import named_trouble
from ralphy.files.notes import read_note, write_note
from ralphy.files.tree_walk import walk
from ralphy.git.commands import require_plain_rules
from ralphy.lanes.ignored import AUTO, SCENARIOS, Kind, dependency_folder, kind_of, matcher
from ralphy.lanes.tree_copy import Row, TreeCopy

if TYPE_CHECKING:
    from ralphy.config.values import Config, Lanes
    from ralphy.git.commands import Repository

_STATUS = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored=matching", "--ignore-submodules=all",
           "--no-renames")  # fmt: skip
_MB = 1 << 20
_MOST_OF_A_FILE, _MOST_OF_A_FOLDER, _MOST_FILES_OF_A_FOLDER = 10 * _MB, 50 * _MB, 2000
_MOST_OTHER, _MOST_OTHER_FILES = 200 * _MB, 5000
_MANIFEST = "brought.json"
_MOST_OF_THE_MANIFEST = 256 * _MB
_OF_VITE = ".vite-temp"
_SCRATCH = (".cache", ".vite", _OF_VITE, ".vitest")
_WILD = re.compile(r"[*?\[]")


@dataclass(frozen=True, slots=True)
class Brought:
    """An ignored file or folder of the checkout; `why_not` says why it stays there, "" if it comes along.

    `bytes` and `files` are 0 where nobody had to look. `is_said` marks what a person should hear of.
    """

    path: str
    kind: Kind
    is_folder: bool = False
    bytes: int = 0
    files: int = 0
    why_not: str = ""
    is_said: bool = False


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copying did: what was written (the rest was there), and what had to stay behind, with the reason."""

    files: int
    bytes: int
    left_out: tuple[tuple[str, str], ...]


def found(
    repository: Repository, features_dir: str, patterns: Sequence[str] = (AUTO,), most_bytes: int = 20 << 30
) -> list[Brought]:
    """What a lane of this repository takes along, and what it leaves, by path.

    `patterns` are those of `lanes.bring`; `most_bytes` bounds the whole: dependencies have the first claim.
    """
    if not patterns:
        return []
    own = (f"{features_dir}/", ".ralphy/", ".git/")
    rows = [path for path in _ignored(repository) if path in SCENARIOS or not f"{path.rstrip('/')}/".startswith(own)]
    rows = _gathered(repository, rows)
    named = [matcher(pattern) for pattern in patterns if pattern != AUTO]
    chosen = {one.path: one for one in _chosen(repository.root, rows, patterns)} if named else {}
    if AUTO in patterns:
        chosen = {one.path: one for one in (_looked_at(repository.root, row) for row in rows)} | chosen
    return sorted(_within(chosen.values(), most_bytes), key=lambda one: one.path)


def wanted(repository: Repository, config: Config) -> list[Brought]:
    """What the settings in force bring into a lane of this repository, and what they leave."""
    return found(repository, config.project.features_dir, config.lanes.bring, config.lanes.max_gb << 30)


def kept_paths(brought: Iterable[Brought], lanes: Lanes, *, is_clean: bool) -> tuple[str, ...]:
    """What laying a tree out leaves alone: what was brought; in a clean lane also the build caches of `lanes.keep`."""
    return (*(one.path for one in coming(brought)), *(lanes.keep if is_clean else ()))


def _ignored(repository: Repository) -> list[str]:
    """The paths that Git ignores in the checkout; a folder ends with a slash. InvalidInput where Git would not end."""
    require_plain_rules(repository.root)
    out = repository.run(*_STATUS).decode("utf-8", "surrogateescape")
    return [row[3:] for row in out.split("\0") if row.startswith("!! ")]


def _gathered(repository: Repository, rows: Sequence[str]) -> list[str]:
    """The rows, with folders of dependencies as a whole: a rule such as `.venv/*` makes Git name what is in them.

    One that holds tracked files, too, stays in parts.
    """
    folders = {row: dependency_folder(repository.root, row) for row in rows}
    whole = {folder for row, folder in folders.items() if folder and folder != row}
    if whole:
        specs = [f":(top,literal){folder}" for folder in sorted(whole)]
        out = repository.run("ls-files", "-z", "--", *specs).decode("utf-8", "surrogateescape")
        tracked = out.split("\0")
        whole = {folder for folder in whole if not any(path.startswith(folder) for path in tracked)}
    return list(dict.fromkeys(folders[row] if folders[row] in whole else row for row in rows))


def _chosen(root: Path, rows: Sequence[str], patterns: Sequence[str]) -> Iterator[Brought]:
    """What the globs name, in ignored folders too; a glob that names nothing is said."""
    for pattern in (one for one in patterns if one != AUTO):
        matches, hits = matcher(pattern), 0
        for row in rows:
            path = row.rstrip("/")
            inner = [path] if matches(path) else _inside(root, row, pattern)
            for one in inner:
                hits += 1
                yield _measured(root, one, Kind.NAMED)
        if not hits:
            yield Brought(pattern, Kind.NAMED, why_not="matches nothing that Git ignores here", is_said=True)


def _inside(root: Path, row: str, pattern: str) -> list[str]:
    """What a glob names in an ignored folder: the topmost of it."""
    fixed = _WILD.split(pattern)[0]
    if not row.endswith("/") or "/" not in pattern.strip("/") or not (row.startswith(fixed) or fixed.startswith(row)):
        return []
    matches, hits, entered = matcher(pattern), [], set[str]()
    for one in walk(root / row, entered):
        if matches(row + one.path):
            hits.append(row + one.path)
            entered.add(one.path)
    return hits


def _looked_at(root: Path, row: str) -> Brought:
    """An ignored path as the default sees it."""
    path, kind = row.rstrip("/"), kind_of(root, row)
    if kind.why_not:
        return Brought(path, kind, row.endswith("/"), why_not=kind.why_not)
    one = _measured(root, path, kind)
    if one.why_not or kind is not Kind.OTHER:
        return one
    most = _MOST_OF_A_FOLDER if one.is_folder else _MOST_OF_A_FILE
    if one.is_folder and os.path.lexists(root / path / ".git"):
        return replace(one, why_not="a nested repository", is_said=True)
    if one.bytes > most or one.files > _MOST_FILES_OF_A_FOLDER:
        why = f"{_amount(one)}: add it to lanes.bring if the checks need it"
        return replace(one, why_not=why, is_said=True)
    return one


def _measured(root: Path, path: str, kind: Kind) -> Brought:
    """How much it is, by `lstat` alone."""
    try:
        own = os.lstat(root / path)
    except OSError as error:
        return Brought(path, kind, why_not=str(error.strerror).lower())
    if stat.S_ISDIR(own.st_mode):
        sizes = [one.stat.st_size for one in walk(root / path) if stat.S_ISREG(one.stat.st_mode)]
        return Brought(path, kind, True, sum(sizes), len(sizes))
    if stat.S_ISREG(own.st_mode) or stat.S_ISLNK(own.st_mode):
        return Brought(path, kind, False, own.st_size, 1)
    return Brought(path, kind, why_not="a socket, FIFO or device", is_said=True)


def _within(found: Iterable[Brought], most: int) -> Iterator[Brought]:
    """The same, with what does not fit left out: what the globs name first, then dependencies, small before large."""
    others, count, left = _MOST_OTHER, _MOST_OTHER_FILES, most
    for one in sorted(found, key=lambda one: (one.kind.rank, one.bytes, one.path)):
        is_other = one.kind is Kind.OTHER
        if one.why_not:
            yield one
        elif one.bytes > left:
            yield replace(one, why_not=f"{_amount(one)}: more than the rest of lanes.max_gb", is_said=True)
        elif is_other and (one.bytes > others or one.files > count):
            why = "one of too many small files: add it to lanes.bring if the checks need it"
            yield replace(one, why_not=why, is_said=True)
        else:
            left -= one.bytes
            others, count = (others - one.bytes, count - one.files) if is_other else (others, count)
            yield one


def _amount(one: Brought) -> str:
    size = f"{one.bytes / _MB:,.0f} MB"
    return f"{size} in {one.files:,} files" if one.is_folder else size


def coming(brought: Iterable[Brought]) -> list[Brought]:
    """What comes along."""
    return [one for one in brought if not one.why_not]


def left_behind(brought: Iterable[Brought], most: int = 10) -> list[str]:
    """Sentences for a person about what a lane does without; caches, logs and the like are not worth one."""
    said = [f"{_shown(one.path)} is not copied into lanes: {one.why_not}"
            for one in brought if one.why_not and one.is_said]  # fmt: skip
    rest = len(said) - most
    return [*said[:most], f"and {rest} more are not copied into lanes"] if rest > 0 else said


def _shown(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def apart_from(brought: Iterable[Brought], has: Callable[[str], bool]) -> list[Brought]:
    """The same, without what the tree that is laid out holds itself: another branch may track what this one ignores.

    `has` says whether the tree has something at a path.
    """
    return [one if one.why_not or not has(one.path) else replace(one, why_not="the branch has it itself")
            for one in brought]  # fmt: skip


def unbound(brought: Iterable[Brought]) -> list[Brought]:
    """What comes along and is not a folder of dependencies: what is copied where those are bound read-only."""
    return [one for one in coming(brought) if one.kind is not Kind.DEPENDENCY or not one.is_folder]


def scratch(bound: Iterable[tuple[Path, Path]]) -> list[Path]:
    """Folders in bound dependencies that tools write to (`node_modules/.cache`), where there are any.

    The sandbox puts an empty one in the place of each. Vite cannot load its settings without its own, so it is made.
    """
    found = []
    for source, inside in bound:
        if source.name == "node_modules":
            if (source / "vite").is_dir():
                with suppress(OSError):
                    (source / _OF_VITE).mkdir()
            found += [inside / name for name in _SCRATCH
                      if (source / name).is_dir() and not (source / name).is_symlink()]  # fmt: skip
    return found


def bring(
    brought: Iterable[Brought],
    source_root: Path,
    lane_tree: Path,
    *,
    at: Path | None = None,
    keeps_changes: bool = False,
) -> Copied:
    """Copy what comes along into a lane; what was brought before and has not changed on either side stays.

    `at` is where programs in the lane see its tree (`lane_tree` unless it is said): absolute links into the checkout
    lead there. With `keeps_changes`, what differs in the lane alone stays: where `setup` installs dependencies. What
    was copied is noted in `brought.json` beside the tree. Raises DiskFull and the like.
    """
    manifest, chosen = lane_tree.parent / _MANIFEST, coming(brought)
    known = _known(manifest)
    gone = tuple(f"{one.path}/" for one in chosen if not os.path.lexists(lane_tree / one.path))
    lost = {path for path in known if f"{path.rstrip('/')}/".startswith(gone)} if gone else set()
    copy = TreeCopy(
        source_root, lane_tree, at or lane_tree, {path: row for path, row in known.items() if path not in lost}
    )
    copy.keeps_changes = keeps_changes
    with named_trouble():
        for one in chosen:
            copy.bring(one.path)
    if copy.rows != known:
        write_note(manifest, copy.rows, durable=False)
    return Copied(copy.files, copy.bytes, tuple(copy.left_out))


def _known(manifest: Path) -> Mapping[str, Row]:
    """The rows of the copying before; none if they cannot be read, and then all is copied again."""
    rows = read_note(manifest, _MOST_OF_THE_MANIFEST)
    with suppress(ValueError, TypeError):
        return {path: (int(a), int(b), int(c), int(d), int(e)) for path, (a, b, c, d, e) in rows.items()}
    return {}
