"""The files that steer git, remembered before a run and put back after it: configuration, hooks, exclusions, grafts.

What is remembered is on the disk too (`git-state.json` beside the checkout's lock), and `git-state-open` stands
there while a run goes on. So a Ralphy that was killed leaves its successor something to put back before that
asks git for anything (`dead_run`).
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ralphy.files.atomic import read_regular, replace_file, signature
from ralphy.files.safe_open import read_safely
from ralphy.files.tree_walk import remove
from ralphy.git.config_text import steering

RECORD, OPEN = "git-state.json", "git-state-open"
_SHARED = ("config", "config.worktree", "info/exclude", "info/attributes", "info/grafts", "info/sparse-checkout",
           "shallow", "objects/info/alternates", "objects/info/http-alternates",
           # caches of what objects hold, which Git believes
           "objects/info/commit-graph", "objects/info/commit-graphs/commit-graph-chain",
           "objects/pack/multi-pack-index")  # fmt: skip
_OF_A_WORKTREE = ("config.worktree", "info/sparse-checkout", "commondir", "gitdir")
_MOST = 4 * 1024 * 1024
_TOO_LARGE = b"\0a digest: "
# What a person or an editor may do to .git/config meanwhile: a branch gets a remote to follow, or a note.
_BRANCHES = re.compile(
    r'(?<!\\\n)^[ \t]*\[branch "[^"\\\n]+"\]\n([ \t]*((remote|pushRemote) = [\w.-]+|merge = refs/heads/\S+|rebase = \w+'
    r"|(description|vscode-merge-base|gh-merge-base|github-pr-owner-number) = [^\r\n]*(?<!\\))\n)*(?=[ \t]*\[|\s*\Z)",
    re.M,
)
# Lists of patterns: what they name does nothing without a setting.
_PATTERNS = ("/attributes", "/ignore")


@dataclass(frozen=True, slots=True)
class Kept:
    """What was at a path: its mode as `lstat` gives it, and its bytes (of a link: where it leads; of a file that is
    too large, a digest)."""

    mode: int
    data: bytes

    @property
    def is_too_large(self) -> bool:
        """Can it be told that it was changed, and not be put back?"""
        return self.data.startswith(_TOO_LARGE)


@dataclass(slots=True)
class GitFiles:
    """Paths and what was there; None where nothing was. `mine` are those of the person, not of the repository;
    in `folders` nothing may be added."""

    kept: dict[str, Kept | None] = field(default_factory=dict)
    mine: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    _seen: dict[str, tuple[int, ...] | None] = field(default_factory=dict)

    def take(self, paths: Iterable[str], mine: Iterable[str], folders: Iterable[str]) -> None:
        """Remember what is there now; what did not change since the last time is not read again."""
        seen = {path: signature(path) for path in (*paths, *mine)}
        self.kept = {
            path: self.kept[path] if path in self.kept and self._seen.get(path) == now else read_kept(path)
            for path, now in seen.items()
        }
        self._seen, self.mine, self.folders = seen, frozenset(mine), frozenset(folders)

    def changed(self, spared: Collection[str] = ()) -> list[str]:
        """The paths that are no longer as they were, new files in `folders` among them; what may stand is left out,
        and what lies at (or is new in) one that is `spared`."""
        there = [
            path
            for at in sorted(self.folders)
            if at not in spared and not Path(at).is_symlink()
            for path in hooks_in(at)
            if path not in self.kept
        ]
        looked = [path for path in self.kept if path not in self._seen or signature(path) != self._seen[path]]
        return [*(path for path in looked if path not in spared and self._differs(path)), *there]

    def _differs(self, path: str) -> bool:
        before, now = self.kept[path], read_kept(path)
        if before == now:
            return False
        old, new = (_text(before), _text(now))
        if path in self.mine:
            return not path.endswith(_PATTERNS) and bool(steering(new) - steering(old))
        is_longer = path.endswith("/config") and now is not None and before is not None and now.mode == before.mode
        return not (is_longer and _says_as_much(old, new))

    def put_back(self, path: str) -> None:
        """Make it be as it was; what is there now is gone (keep it before)."""
        target, before = Path(path), self.kept.get(path)
        if before and self.is_mode_alone(path):
            self._open_again(target, before)
            return
        remove(target)
        if before is None or before.is_too_large:
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        if stat.S_ISDIR(before.mode):
            target.mkdir()
            target.chmod(stat.S_IMODE(before.mode))
            for child in [child for child in self.kept if os.path.dirname(child) == path]:  # noqa: PTH120
                self.put_back(child)
            return
        if stat.S_ISLNK(before.mode):
            target.symlink_to(os.fsdecode(before.data))
            return
        replace_file(target, before.data, durable=False)
        target.chmod(stat.S_IMODE(before.mode))

    def is_mode_alone(self, path: str) -> bool:
        """Is it still the folder, or the file too large to be kept, that it was? Then only its mode can be put back."""
        before, now = self.kept.get(path), read_kept(path)
        if before is None or now is None or not (stat.S_ISDIR(before.mode) or before.is_too_large):
            return False
        return (stat.S_IFMT(before.mode), before.data) == (stat.S_IFMT(now.mode), now.data)

    def was_too_large(self, path: str) -> bool:
        before = self.kept.get(path)
        return before is not None and before.is_too_large

    def _open_again(self, folder: Path, before: Kept) -> None:
        """Give a folder its mode back; what was hidden in one that could not be read goes."""
        was_shut = not os.access(folder, os.R_OK | os.X_OK)
        folder.chmod(stat.S_IMODE(before.mode))
        for path in hooks_in(str(folder)) if was_shut else ():
            if path not in self.kept:
                remove(Path(path))

    def dumped(self) -> dict[str, Any]:
        from base64 import b64encode

        return {
            "mine": sorted(self.mine),
            "folders": sorted(self.folders),
            "files": {
                path: [kept.mode, b64encode(kept.data).decode()] if kept else None for path, kept in self.kept.items()
            },
        }

    @classmethod
    def loaded(cls, record: Mapping[str, Any]) -> GitFiles:
        from base64 import b64decode

        kept = {
            path: Kept(int(row[0]), b64decode(row[1])) if row else None
            for path, row in record["files"].items()
        }  # fmt: skip
        return cls(kept, frozenset(record["mine"]), frozenset(record.get("folders", ())))


def _text(kept: Kept | None) -> str:
    return kept.data.decode("utf-8", "replace") if kept else ""


def _says_as_much(old: str, new: str) -> bool:
    """Is a configuration the old one, with no more than notes on branches added?"""
    plain = [_BRANCHES.sub("", text if text.endswith("\n") else f"{text}\n").rstrip() for text in (old, new)]
    return plain[0] == plain[1] and set(old.splitlines()) <= set(new.splitlines())


def read_kept(path: str) -> Kept | None:
    """What is at a path: a file or a link, whole; of a large file a digest, of all else the mode."""
    try:
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode):
            return Kept(found.st_mode, os.fsencode(Path(path).readlink()))
        if not stat.S_ISREG(found.st_mode):
            return Kept(found.st_mode, b"")
        if found.st_size > _MOST:
            return Kept(found.st_mode, _TOO_LARGE + _digest_of_file(path))
        data = read_regular(Path(path), _MOST)
        return Kept(found.st_mode, data or b"")
    except OSError:
        return None


def _digest_of_file(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        return hashlib.file_digest(file, "sha256").digest()


def hooks_in(folder: str) -> list[str]:
    """The hooks in a folder; git's own samples never run."""
    try:
        return [entry.path for entry in os.scandir(folder) if not entry.name.endswith(".sample")]
    except OSError:
        return []


def repository_paths(root: Path, git_dir: Path, common_dir: Path) -> list[str]:
    """The files of a repository that steer git."""
    paths = [f"{common_dir}/{name}" for name in _SHARED]
    if git_dir != common_dir:
        paths += [f"{git_dir}/{name}" for name in _OF_A_WORKTREE]
    if not Path(root, ".git").is_dir() or Path(root, ".git").is_symlink():
        paths.append(f"{root}/.git")
    hooks = f"{common_dir}/hooks"
    return [*paths, hooks, *([] if Path(hooks).is_symlink() else hooks_in(hooks))]


def personal_paths(env: Mapping[str, str]) -> list[str]:
    """The files of a person that steer git in every repository, and where they lead if they are links."""
    home = env.get("HOME", "")
    xdg = env.get("XDG_CONFIG_HOME") or f"{home}/.config"
    names = [f"{home}/.gitconfig", *(f"{xdg}/git/{name}" for name in ("config", "attributes", "ignore"))]
    if env.get("GIT_CONFIG_GLOBAL"):
        names.append(env["GIT_CONFIG_GLOBAL"])
    return with_targets(names)


def with_targets(paths: Iterable[str]) -> list[str]:
    """Paths, and where those lead that are links."""
    found = list(paths)
    return list(dict.fromkeys([*found, *(os.path.realpath(path) for path in found if Path(path).is_symlink())]))


def encoded(record: Mapping[str, Any]) -> bytes:
    """The record as JSON; names that are no UTF-8 are escaped, as only Python's own JSON does and reads."""
    import orjson

    try:
        return orjson.dumps(record)
    except orjson.JSONEncodeError:
        import json

        return json.dumps(record).encode()


def write_record(folder: Path, data: bytes) -> str:
    """Have the record on the disk; gives its digest."""
    folder.mkdir(parents=True, exist_ok=True)
    replace_file(folder / RECORD, data)
    return digest_of(data)


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_record(folder: Path, is_trusted: Callable[[str], bool]) -> dict[str, Any] | None:
    """What was remembered before the run that is open; None if none is, or if the record is not Ralphy's."""
    import json

    try:
        if not (folder / OPEN).exists():
            return None
        data = read_safely(folder / RECORD, 1 << 40)
        found = json.loads(data) if is_trusted(digest_of(data)) else None
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
