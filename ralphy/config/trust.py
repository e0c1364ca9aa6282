"""Who wrote a setting: a person on this machine, or somebody else whose commits were cloned, fetched or pulled.

What a person accepted is noted by digest in the person's own state folder (`$XDG_STATE_HOME/ralphy/trusted.json`),
outside of every repository. What was never seen before counts as the person's own unless it came in a commit that
was made elsewhere: Git's own log of the refs knows which commits were made here.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from ralphy.errors import RalphyError
from ralphy.files.atomic import last_bytes, read_regular, replace_file
from ralphy.files.git_places import common_of, find_root
from ralphy.files.notes import read_note
from ralphy.git.commands import discover

PATH = ".ralphy/config.yaml"
Values = Mapping[str, object]
_MOST_NOTED = 500
_MADE_HERE = ("commit", "ralphy")  # how Git's log begins to speak of a commit that a person, or Ralphy, made
_IDENT = re.compile(r"\$Id:[^$]*\$")
_TAIL = 4 * 1024 * 1024


def record_path(env: Mapping[str, str]) -> Path | None:
    """Where it is noted what a person accepted; None without a home."""
    state, home = env.get("XDG_STATE_HOME", ""), env.get("HOME", "")
    if Path(state).is_absolute():  # a relative one is void, says the XDG specification
        return Path(state, "ralphy", "trusted.json")
    return Path(home, ".local", "state", "ralphy", "trusted.json") if home else None


def untrusted(root: Path, values: Values, env: Mapping[str, str], read: Callable[[bytes], Values]) -> frozenset[str]:
    """The names of those settings of the repository's file that somebody else wrote and nobody here accepted.

    `read` gives the settings in another version of the file.
    """
    dirs = _git_dirs(root)
    if dirs is None or not values:
        return frozenset()
    noted = _noted(dirs[1], env)
    left = {name: value for name, value in values.items() if _digest(name, value) not in noted}
    if not left or not _has_foreign_commits(*dirs):
        return frozenset()
    if any((root / place).is_symlink() for place in (Path(PATH).parent, PATH)):
        return frozenset(left)  # Git's history of a link says nothing of what it leads to
    versions = _newest_foreign(root, env, read)
    if versions is None:
        return frozenset(left)
    return frozenset(name for name, value in left.items()
                     if any(name in found and _plain(found[name]) == _plain(value) for found in versions))  # fmt: skip


def accept(root: Path, values: Values, env: Mapping[str, str]) -> None:
    """Note these settings as the person's own; does nothing where nothing can be noted."""
    path, dirs = record_path(env), _git_dirs(root)
    if path is None or dirs is None:
        return
    noted = _noted(dirs[1], env)
    new = [digest for name, value in values.items() if (digest := _digest(name, value)) not in noted]
    if not new:
        return
    known = read_note(path)
    known[str(dirs[1])] = [*noted, *new][-_MOST_NOTED:]
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(path, json.dumps(known, indent=1).encode(), durable=False)


def _git_dirs(start: Path) -> tuple[Path, Path] | None:
    """(Git folder, common folder) of the checkout around a folder."""
    found = find_root(os.path.realpath(start))
    return (Path(found[1]), Path(common_of(found[1]))) if found else None


def _noted(common_dir: Path, env: Mapping[str, str]) -> list[str]:
    path = record_path(env)
    found = read_note(path).get(str(common_dir)) if path else None
    return [digest for digest in found if isinstance(digest, str)] if isinstance(found, list) else []


def _digest(name: str, value: object) -> str:
    return hashlib.sha256(json.dumps([name, value]).encode()).hexdigest()


def _has_foreign_commits(git_dir: Path, common_dir: Path) -> bool:
    """Whether commits ever came here from elsewhere, as far as Git's files tell without Git."""
    if any(os.path.lexists(folder / "FETCH_HEAD") for folder in (git_dir, common_dir)):
        return True
    if os.path.lexists(common_dir / "refs" / "remotes") or os.path.lexists(common_dir / "reftable"):
        return True
    packed = read_regular(common_dir / "packed-refs", 64 * 1024 * 1024) or b""
    return b" refs/remotes/" in packed or b"\tclone: " in last_bytes(common_dir / "logs" / "HEAD", _TAIL)


def _newest_foreign(root: Path, env: Mapping[str, str], read: Callable[[bytes], Values]) -> list[Values] | None:
    """The settings as the newest commit that was made elsewhere had them: as Git checks the file out, and as it is
    stored (attributes tell how the two differ). Nothing if no such commit has the file, None if it cannot be read.
    """
    try:
        repository = discover(root, env)
        touched = repository.text("log", "--max-count=200", "--format=%H", "HEAD", "--", PATH).split()
        here = _made_here(repository.text("log", "--walk-reflogs", "--all", "--format=%H %gs").splitlines())
        commit = next((commit for commit in touched if commit not in here), "")
        if not commit or not repository.run("ls-tree", commit, "--", PATH):
            return []
    except RalphyError:  # no commit yet: nothing came with one
        return []
    try:
        found = [read(repository.run("cat-file", "--filters", f"{commit}:{PATH}"))]
    except RalphyError:
        return None
    with suppress(RalphyError):
        found.append(read(repository.run("cat-file", "blob", f"{commit}:{PATH}")))
    return found


def _plain(value: object) -> str:
    """A value without what Git's `ident` attribute puts in at a checkout."""
    return _IDENT.sub("$Id$", json.dumps(value))


def _made_here(rows: Iterable[str]) -> frozenset[str]:
    return frozenset(row[:space] for row in rows
                     if (space := row.find(" ")) > 0
                     and row[space + 1 :].partition(":")[0].partition(" ")[0] in _MADE_HERE)  # fmt: skip
