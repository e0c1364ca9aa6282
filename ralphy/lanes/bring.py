"""What the checkout has and Git ignores, and a lane needs: dependencies, `.env`, local databases, other small files.

Git says which paths it ignores; `lanes.bring` says which of them come along. They are copied: a write in a lane never
reaches the original. In a sandbox, the folders of dependencies can be bound read-only instead.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from ralphy.errors import DiskFull
from ralphy.files.disk_space import problem_said
from ralphy.files.notes import read_note, write_note
from ralphy.files.tree_walk import remove, size_of, walk
from ralphy.git.commands import require_plain_rules
from ralphy.lanes.ignored import AUTO, SCENARIOS, Kind, dependency_folder, kind_of, matches
from ralphy.processes.program_paths import with_usual_places
from ralphy.sandbox.mount_points import make_mount_point

if TYPE_CHECKING:
    from ralphy.git.commands import Repository

_STATUS = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored=matching", "--ignore-submodules=all",
           "--no-renames")  # fmt: skip
_MB = 1 << 20
_MOST_OF_A_FILE = 10 * _MB
_MOST_SAID = 10
_MANIFEST = "brought.json"
_OF_VITE = ".vite-temp"
_SCRATCH = (".cache", ".vite", _OF_VITE, ".vitest")
_WILD = re.compile(r"[*?\[]")
_COPY = ("cp", "-a", *(("--reflink=auto",) if sys.platform == "linux" else ()), "--")


@dataclass(frozen=True, slots=True)
class Brought:
    """An ignored file or folder of the checkout that comes along."""

    path: str
    kind: Kind
    is_folder: bool

    @property
    def is_dependency(self) -> bool:
        """Is it a folder of dependencies, which can be shown in place of a copy?"""
        return self.is_folder and self.kind is Kind.DEPENDENCY


def found(
    repository: Repository, features_dir: str, patterns: Sequence[str] = (AUTO,), most_bytes: int = 20 << 30
) -> tuple[list[Brought], list[str]]:
    """(what a lane of this repository takes along, by path; sentences for a person about what it does without). Caches,
    logs and the like are not worth a sentence.

    `patterns` are those of `lanes.bring`; `most_bytes` bounds the whole: dependencies have the first claim.
    """
    if not patterns:
        return [], []
    own, root = (f"{features_dir}/", ".ralphy/", ".git/"), repository.root
    rows = [path for path in _ignored(repository) if path in SCENARIOS or not f"{path.rstrip('/')}/".startswith(own)]
    rows, left = _gathered(repository, rows), dict[str, str]()
    kinds = {row.rstrip("/"): kind_of(root, row) for row in rows if AUTO in patterns}
    for pattern in (one for one in patterns if one != AUTO):
        hits = _named(root, rows, pattern)
        kinds |= dict.fromkeys(hits, Kind.NAMED)
        left |= {} if hits else {pattern: "matches nothing that Git ignores here"}
    wanted = {path: kind for path, kind in kinds.items() if kind is not Kind.LEFTOVER}
    left |= {path: why for path, kind in wanted.items() if (why := _why_not(root, path, kind))}
    come = _within(root, [(kind, path) for path, kind in wanted.items() if path not in left], most_bytes, left)
    return sorted(come, key=lambda one: one.path), _said(left)


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


def _named(root: Path, rows: Sequence[str], pattern: str) -> list[str]:
    """What a glob names, in ignored folders too."""
    hits = list[str]()
    for row in rows:
        path = row.rstrip("/")
        hits += [path] if matches(pattern, path) else _inside(root, row, pattern)
    return hits


def _inside(root: Path, row: str, pattern: str) -> list[str]:
    """What a glob names in an ignored folder: the topmost of it."""
    fixed = _WILD.split(pattern)[0]
    if not row.endswith("/") or "/" not in pattern.strip("/") or not (row.startswith(fixed) or fixed.startswith(row)):
        return []
    hits, entered = list[str](), set[str]()
    for one in walk(root / row, entered):
        if matches(pattern, row + one.path):
            hits.append(row + one.path)
            entered.add(one.path)
    return hits


def _why_not(root: Path, path: str, kind: Kind) -> str:
    """Why a path stays, by `lstat` alone: of what is nothing in particular, small files come along. A link out of the
    checkout would lead a write out of it."""
    try:
        mode = os.lstat(root / path).st_mode
    except OSError as error:
        return str(error.strerror).lower()
    if stat.S_ISLNK(mode) and not (root / path).resolve().is_relative_to(root.resolve()):
        return f"a link out of the checkout, to {(root / path).readlink()}"
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
        return "a socket, FIFO or device"
    if kind is not Kind.OTHER:
        return ""
    if stat.S_ISDIR(mode):
        return "add it to lanes.bring if the checks need it"
    size = size_of(root / path)
    return f"{size / _MB:,.0f} MB: add it to lanes.bring if the checks need it" if size > _MOST_OF_A_FILE else ""


def _within(root: Path, wanted: Sequence[tuple[Kind, str]], most: int, left: dict[str, str]) -> Iterator[Brought]:
    """What fits: what the globs name first, then dependencies, small before large. What does not is put into `left`."""
    sizes = {path: size_of(root / path) for _, path in wanted}
    for kind, path in sorted(wanted, key=lambda one: (one[0].value, sizes[one[1]], one[1])):
        if sizes[path] > most:
            left[path] = f"{sizes[path] / _MB:,.0f} MB: more than the rest of lanes.max_gb"
        else:
            most -= sizes[path]
            yield Brought(path, kind, (root / path).is_dir() and not (root / path).is_symlink())


def _said(left: Mapping[str, str]) -> list[str]:
    said = [f"{_shown(path)} is not copied into lanes: {why}" for path, why in sorted(left.items())]
    rest = len(said) - _MOST_SAID
    return [*said[:_MOST_SAID], f"and {rest} more are not copied into lanes"] if rest > 0 else said


def _shown(path: str) -> str:
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


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
    brought: Iterable[Brought], source_root: Path, lane_tree: Path, env: Mapping[str, str], *,
    keeps_changes: bool = False, is_bound: bool = True,
) -> tuple[list[str], list[tuple[str, str]]]:  # fmt: skip
    """Copy what comes along into a lane where a tree was just laid out: (what was copied, what could not be and why).

    What was copied before stays as long as nothing in it has changed on either side; with `keeps_changes`, where
    `setup` installs dependencies, as long as the original is the same. Links are copied as links; an absolute one into
    the checkout leads into the lane, unless the lane `is_bound` at the checkout's place. DiskFull if it is.
    """
    manifest = lane_tree.parent / _MANIFEST
    known, rows = read_note(manifest), dict[str, object]()
    copied, left_out = list[str](), list[tuple[str, str]]()
    for path in (one.path for one in brought):
        original, copy, row = _print(source_root / path), lane_tree / path, known.get(path)
        is_same = isinstance(row, list) and row[0] == original and os.path.lexists(copy)
        if is_same and (keeps_changes or row == [original, _print(copy)]):
            rows[path] = row
            continue
        if known.pop(path, None) is not None:  # a copy that is cut off is not taken for a whole one
            write_note(manifest, {**known, **rows}, durable=False)
        why = _copy(source_root / path, copy, lane_tree, env)
        if not is_bound:
            _lead_into(lane_tree, copy, source_root)
        copied.append(path)
        if why:
            left_out.append((path, why))
        else:
            rows[path] = [original, _print(copy)]
    if rows != known:
        write_note(manifest, rows, durable=False)
    return copied, left_out


def _copy(source: Path, copy: Path, tree: Path, env: Mapping[str, str]) -> str:
    """Copy into a place where nothing is; why not, if not all of it. A repository comes without its Git folder."""
    make_mount_point(tree, PurePath(copy.relative_to(tree).parent), may_replace=True)
    if not remove(copy, tree):
        return "what lies there cannot be removed"
    found = {**env, "PATH": with_usual_places(env)}
    done = subprocess.run([*_COPY, str(source), str(copy)], env=found, capture_output=True, check=False)
    for path in [one.path for one in walk(copy) if one.name == ".git"]:
        remove(copy / path, tree)
    if not done.returncode:
        return ""
    said = done.stderr.decode("utf-8", "replace").strip() or f"cp ended with {done.returncode}"
    if isinstance(problem := problem_said(said, str(copy)), DiskFull):
        raise problem
    return said.partition("\n")[0]


def _lead_into(tree: Path, copy: Path, source_root: Path) -> None:
    """Have the absolute links of a copy that lead into the checkout lead to the same place in the lane."""
    for path in (copy, *(copy / one.path for one in walk(copy) if stat.S_ISLNK(one.stat.st_mode))):
        if path.is_symlink() and (leads := path.readlink()).is_relative_to(source_root):
            path.unlink()
            path.symlink_to(tree / leads.relative_to(source_root))


def _print(path: Path) -> str:
    """A digest by which a change of a file or of anything in a folder shows. A time of change cannot be set back."""
    try:
        rows = [("", path.lstat()), *((one.path, one.stat) for one in walk(path))]
    except OSError:
        return ""
    facts = sorted((name, at.st_ino, at.st_mode, at.st_size, at.st_mtime_ns, 0 if stat.S_ISDIR(at.st_mode)
                    else at.st_ctime_ns) for name, at in rows)  # fmt: skip
    return hashlib.sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()
