"""Whether a person accepted the settings of a repository that guard less than the defaults, as direnv does it.

One digest of all of them together is recorded in the person's own state folder (`$XDG_STATE_HOME/ralphy/trusted.json`),
outside of every repository. A repository that was never cloned, fetched into or pushed holds the person's own settings.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ralphy.errors import NotFound
from ralphy.files.notes import read_note, write_note
from ralphy.files.read import read_regular, read_tail
from ralphy.files.user_folders import state_folder
from ralphy.git.commands import Repository, discover

Values = Mapping[str, object]
_REFLOG_BYTES = 4 * 1024 * 1024


def record_path(env: Mapping[str, str]) -> Path | None:
    """The file that records what a person accepted; None without a home."""
    state = state_folder(env)
    return state / "ralphy" / "trusted.json" if state else None


def is_trusted(root: Path, values: Values, env: Mapping[str, str]) -> bool:
    """May these settings of the repository's file be in force?"""
    repository, path = _repository(root, env) if values else None, record_path(env)
    if repository is None:
        return True
    is_accepted = path is not None and _digest(values) in _accepted(path, repository)
    return is_accepted or not _has_foreign_commits(repository.git_dir, repository.common_dir)


def record_trust(root: Path, values: Values, env: Mapping[str, str]) -> None:
    """Record that a person accepts these settings; does nothing without a home or outside of a repository."""
    repository, path = _repository(root, env) if values else None, record_path(env)
    if path is None or repository is None:
        return
    accepted = _accepted(path, repository)
    if _digest(values) in accepted:
        return
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_note(path, {**read_note(path), str(repository.common_dir): [*accepted, _digest(values)]}, durable=False)


def _repository(root: Path, env: Mapping[str, str]) -> Repository | None:
    try:
        return discover(root, env)
    except NotFound:
        return None


def _accepted(path: Path, repository: Repository) -> list[object]:
    digests = read_note(path).get(str(repository.common_dir))
    return digests if isinstance(digests, list) else []


def _digest(values: Values) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _has_foreign_commits(git_dir: Path, common_dir: Path) -> bool:
    """Do Git's files show that commits may have come from elsewhere? A push leaves the same signs."""
    if any(os.path.lexists(folder / "FETCH_HEAD") for folder in (git_dir, common_dir)):
        return True
    if os.path.lexists(common_dir / "refs" / "remotes") or os.path.lexists(common_dir / "reftable"):
        return True
    packed = read_regular(common_dir / "packed-refs", 64 * 1024 * 1024) or b""
    return b" refs/remotes/" in packed or b"\tclone: " in read_tail(common_dir / "logs" / "HEAD", _REFLOG_BYTES)
