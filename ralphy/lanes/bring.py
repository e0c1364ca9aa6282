"""What the checkout has and Git ignores, and a lane needs: dependencies, and small files such as `.env`.

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
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from ralphy.errors import DiskFull
from ralphy.files.disk_space import disk_problem_in
from ralphy.files.notes import read_note, write_note
from ralphy.files.tree_walk import remove, size_of, walk
from ralphy.git.commands import require_plain_rules
from ralphy.lanes.changes_in_lane import is_within
from ralphy.lanes.ignored import AUTO, SCENARIOS, dependency_folder, is_dependency, is_leftover
from ralphy.processes.program_paths import with_usual_places
from ralphy.sandbox.mount_points import make_mount_point
from ralphy.text.plain_text import as_utf8

if TYPE_CHECKING:
    from ralphy.git.commands import Repository

_STATUS = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored=matching", "--ignore-submodules=all",
           "--no-renames")  # fmt: skip
_MB = 1 << 20
_MOST_OF_A_FILE = 10 * _MB
_MOST_SENTENCES = 10
_MANIFEST = "brought.json"
_OF_VITE = ".vite-temp"
_SCRATCH = (".cache", ".vite", _OF_VITE, ".vitest")
_COPY = ("cp", "-a", *(("--reflink=auto",) if sys.platform == "linux" else ()), "--")


@dataclass(frozen=True, slots=True)
class Brought:
    """An ignored file or folder of the checkout that comes along."""

    path: str
    is_dependency: bool  # a folder that can be shown in place of a copy


def select(
    repository: Repository, features_dir: str, patterns: Sequence[str] = (AUTO,), most_bytes: int = 20 << 30
) -> tuple[list[Brought], list[str]]:
    """(what comes along into lanes of this repository, by path; a sentence for each path that does not). Caches, logs
    and the like get no sentence.

    `patterns` are those of `lanes.bring`; `most_bytes` bounds the sum: first what they name, then dependencies.
    """
    if not patterns:
        return [], []
    own, root = (f"{features_dir}/", ".ralphy/", ".git/"), repository.root
    rows = [path for path in _ignored(repository) if path in SCENARIOS or not f"{path.rstrip('/')}/".startswith(own)]
    rows = _gathered(repository, rows)
    named = {pattern: _named(root, rows, pattern) for pattern in patterns if pattern != AUTO}
    skipped = {pattern: "matches nothing that Git ignores here" for pattern, paths in named.items() if not paths}
    usual = [row for row in rows if not is_leftover(root, row)] if AUTO in patterns else []
    dependencies = [row.rstrip("/") for row in usual if is_dependency(root, row)]
    wanted = dict.fromkeys([*chain.from_iterable(named.values()), *dependencies])
    others = [path for path in (row.rstrip("/") for row in usual) if path not in wanted]
    selected = []
    for path in (*wanted, *others):
        why = _why_skipped(root, path, is_wanted=path in wanted)
        size = 0 if why else size_of(root / path)
        if why or size > most_bytes:
            skipped[path] = why or f"{size / _MB:,.0f} MB: more than the rest of lanes.max_gb"
        else:
            most_bytes -= size
            selected.append(Brought(path, (root / path).is_dir() and is_dependency(root, f"{path}/")))
    return sorted(selected, key=lambda one: one.path), _sentences(skipped)


def _ignored(repository: Repository) -> list[str]:
    """The paths that Git ignores in the checkout; a folder ends with a slash. InvalidInput for a FIFO in the place of a
    `.gitignore`: Git would wait for it."""
    require_plain_rules(repository.root)
    out = repository.run(*_STATUS).decode("utf-8", "surrogateescape")
    return [row[3:] for row in out.split("\0") if row.startswith("!! ")]


def _gathered(repository: Repository, rows: Sequence[str]) -> list[str]:
    """The rows, with each folder of dependencies as one row: for a rule such as `.venv/*` Git lists what is in it.

    A folder that also holds tracked files stays in parts.
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
    """The topmost paths that a glob matches in what Git ignores. A glob without a slash looks only at the names of the
    rows that Git lists, at any depth. `**` stands for folders as a whole component, for `*` in a part of one."""
    glob = pattern.strip("/")
    if "/" not in glob:
        return [row.rstrip("/") for row in rows if fnmatchcase(PurePath(row).name, glob)]
    parts = [part if part == "**" else re.sub(r"\*\*+", "*", part) for part in PurePath(glob).parts]
    paths = root.glob("/".join([*parts, "*"] if parts[-1:] == ["**"] else parts)) if parts else ()
    ignored, matches = [row.rstrip("/") for row in rows], list[str]()
    for path in sorted(str(path.relative_to(root)) for path in paths):
        matches += [path] if is_within(path, ignored) and not is_within(path, matches) else []
    return matches


def _why_skipped(root: Path, path: str, *, is_wanted: bool) -> str:
    """Why a path does not come along; "" if it does. Nothing in it is read. A path that is not wanted (neither named
    nor a dependency) comes along if it is a small file. A link out of the checkout would lead a lane's writes there."""
    try:
        mode, real = os.lstat(root / path).st_mode, (root / path).resolve()
    except OSError as error:
        return str(error.strerror).lower()
    if not real.is_relative_to(root.resolve()):
        return f"a link out of the checkout, to {real}"
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode) or stat.S_ISLNK(mode)):
        return "a socket, FIFO or device"
    if is_wanted:
        return ""
    if stat.S_ISDIR(mode):
        return "add it to lanes.bring if the checks need it"
    size = size_of(root / path)
    return f"{size / _MB:,.0f} MB: add it to lanes.bring if the checks need it" if size > _MOST_OF_A_FILE else ""


def _sentences(skipped: Mapping[str, str]) -> list[str]:
    sentences = [f"{as_utf8(path)} is not copied into lanes: {why}" for path, why in sorted(skipped.items())]
    rest = len(sentences) - _MOST_SENTENCES
    return [*sentences[:_MOST_SENTENCES], f"and {rest} more are not copied into lanes"] if rest > 0 else sentences


def scratch(bound: Iterable[tuple[Path, Path]]) -> list[Path]:
    """The folders in bound dependencies that tools write to (`node_modules/.cache`), at their paths inside.

    The sandbox shows an empty folder in the place of each. Vite's is made: Vite cannot load its settings without it.
    """
    folders = []
    for source, inside in bound:
        if source.name == "node_modules":
            if (source / "vite").is_dir():
                with suppress(OSError):
                    (source / _OF_VITE).mkdir()
            folders += [inside / name for name in _SCRATCH
                        if (source / name).is_dir() and not (source / name).is_symlink()]  # fmt: skip
    return folders


def bring(
    brought: Iterable[Brought], source_root: Path, lane_tree: Path, env: Mapping[str, str], *,
    keeps_changes: bool = False, is_bound: bool = True,
) -> tuple[list[str], list[tuple[str, str]]]:  # fmt: skip
    """Copy what comes along into a lane where a tree was just laid out: (paths copied, paths that failed and why).

    An earlier copy stays as long as nothing in it has changed on either side; with `keeps_changes`, where `setup`
    installs dependencies, as long as the original has not changed. Links are copied as links; an absolute link into the
    checkout leads into the lane, unless the lane `is_bound` at the checkout's path. DiskFull if the disk is full.
    """
    manifest = lane_tree.parent / _MANIFEST
    known, rows = read_note(manifest), dict[str, object]()
    copied, failed = list[str](), list[tuple[str, str]]()
    for path in (one.path for one in brought):
        original, copy, row = _fingerprint(source_root / path), lane_tree / path, known.get(path)
        is_same = isinstance(row, list) and row[0] == original and os.path.lexists(copy)
        if is_same and (keeps_changes or row == [original, _fingerprint(copy)]):
            rows[path] = row
            continue
        if known.pop(path, None) is not None:  # so that a copy that is cut off does not pass for a whole one
            write_note(manifest, {**known, **rows}, durable=False)
        why = _copy(source_root / path, copy, lane_tree, env)
        if not is_bound:
            _lead_into(lane_tree, copy, source_root)
        copied.append(path)
        if why:
            failed.append((path, why))
        else:
            rows[path] = [original, _fingerprint(copy)]
    if rows != known:
        write_note(manifest, rows, durable=False)
    return copied, failed


def _copy(source: Path, copy: Path, tree: Path, env: Mapping[str, str]) -> str:
    """Copy a path in the place of whatever is there; why it failed, "" if it did not. A repository comes without its
    Git folder."""
    make_mount_point(tree, PurePath(copy.relative_to(tree).parent), may_replace=True)
    if not remove(copy, tree):
        return "what lies there cannot be removed"
    words, variables = [*_COPY, str(source), str(copy)], {**env, "PATH": with_usual_places(env)}
    done = subprocess.run(words, env=variables, capture_output=True, check=False)
    for path in [one.path for one in walk(copy) if one.name == ".git"]:
        remove(copy / path, tree)
    if not done.returncode:
        return ""
    message = done.stderr.decode("utf-8", "replace").strip() or f"cp ended with {done.returncode}"
    if isinstance(problem := disk_problem_in(message, str(copy)), DiskFull):
        raise problem
    return message.partition("\n")[0]


def _lead_into(tree: Path, copy: Path, source_root: Path) -> None:
    """Point the absolute links of a copy that lead into the checkout to the same path in the lane."""
    for path in (copy, *(copy / one.path for one in walk(copy) if stat.S_ISLNK(one.stat.st_mode))):
        if path.is_symlink() and (leads := path.readlink()).is_relative_to(source_root):
            path.unlink()
            path.symlink_to(tree / leads.relative_to(source_root))


def _fingerprint(path: Path) -> str:
    """A digest that changes with a file, or with anything in a folder; "" if there is nothing. It holds the times of
    change (ctime), which nobody can set back."""
    try:
        rows = [("", path.lstat()), *((one.path, one.stat) for one in walk(path))]
    except OSError:
        return ""
    facts = sorted((name, at.st_ino, at.st_mode, at.st_size, at.st_mtime_ns, 0 if stat.S_ISDIR(at.st_mode)
                    else at.st_ctime_ns) for name, at in rows)  # fmt: skip
    return hashlib.sha256(repr(facts).encode("utf-8", "surrogateescape")).hexdigest()
