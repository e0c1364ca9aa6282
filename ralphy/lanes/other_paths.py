"""What a sandbox that shows the whole machine must guard beside the checkout: other paths at which a mount shows a
folder, other checkouts of the repository, and the person's settings of Git and of Ralphy."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ralphy.files.read import read_input
from ralphy.files.user_folders import config_folder, state_folder
from ralphy.git.commands import Repository

_TABLE = Path("/proc/self/mountinfo")
_ESCAPED = re.compile(rb"\\([0-7]{3})")
_MOST = 1 << 16


@dataclass(frozen=True, slots=True)
class _Mount:
    """`inner` of a file system (its device) is seen at `at`."""

    device: bytes
    inner: Path
    at: Path


def other_paths(folders: Iterable[Path]) -> Iterator[Path]:
    """The paths outside of each folder at which bind mounts show it, or something in it."""
    mounts = list(_mounts())
    for folder in folders:
        yield from _others(folder, mounts)


def _others(folder: Path, mounts: Sequence[_Mount]) -> list[Path]:
    own = [mount for mount in mounts if folder.is_relative_to(mount.at)]
    if not own:
        return []
    main = max(own, key=lambda mount: len(mount.at.parts))
    wanted = main.inner / folder.relative_to(main.at)
    same_device = [mount for mount in mounts if mount.device == main.device]
    paths = dict.fromkeys(at for mount in same_device for at in _paths_in(mount, wanted, folder))
    return [at for at in paths if not at.is_relative_to(folder)]


def _paths_in(mount: _Mount, wanted: Path, folder: Path) -> Iterator[Path]:
    """The path at which a mount shows the wanted folder of its file system, or a part of it, if no later mount hides
    it."""
    if wanted.is_relative_to(mount.inner):
        at, same = mount.at / wanted.relative_to(mount.inner), folder
    elif mount.inner.is_relative_to(wanted):
        at, same = mount.at, folder / mount.inner.relative_to(wanted)
    else:
        return
    try:
        if at.samefile(same):
            yield at
    except OSError:
        return


def _mounts() -> Iterator[_Mount]:
    """All mounts that this process sees, the oldest first."""
    try:
        lines = _TABLE.read_bytes().splitlines()
    except OSError:
        return
    for line in lines:
        words = line.split(b" ")
        if len(words) > 4:
            yield _Mount(words[2], _path(words[3]), _path(words[4]))


def _path(word: bytes) -> Path:
    return Path(os.fsdecode(_ESCAPED.sub(lambda match: bytes([int(match[1], 8)]), word)))


def other_checkouts(repository: Repository) -> list[Path]:
    """The main checkout and the linked ones, without this one and one that holds the home: programs write there."""
    common, home = repository.common_dir.resolve(), Path(repository.env.get("HOME", "/"))
    root = repository.root.resolve()
    named = [read_input(file, _MOST) or b"" for file in sorted(common.glob("worktrees/*/gitdir"))]
    checkouts = [Path(os.fsdecode(text.strip())).parent for text in named if text.startswith(b"/")]
    checkouts += [common.parent] if common.name == ".git" else []
    return [at for at in dict.fromkeys(checkouts)
            if at.is_dir() and not at.is_relative_to(root) and not home.is_relative_to(at)]  # fmt: skip


def settings_of(env: Mapping[str, str]) -> list[Path]:
    """The person's settings of Git, as far as they exist, and of Ralphy, whose folders are made."""
    home, config = Path(env.get("HOME", "/")), config_folder(env)
    own = [folder / "ralphy" for folder in (config, state_folder(env)) if folder]
    for folder in own:
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    named = [home / ".gitconfig", *([config / "git"] if config else []), *own]
    named += [Path(env["GIT_CONFIG_GLOBAL"])] if env.get("GIT_CONFIG_GLOBAL", "").startswith("/") else []
    existing = [path.resolve() for path in named if path.is_file() or path.is_dir()]
    return [path for path in dict.fromkeys(existing) if not home.is_relative_to(path)]
