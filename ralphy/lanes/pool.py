"""The lanes of a repository: agents' lanes are numbered, checks have a clean one, and each has one user at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from ralphy.config.values import STRICT
from ralphy.files.disk_space import refusal
from ralphy.files.notes import read_note
from ralphy.files.tree_walk import children, remove, size_of
from ralphy.git.commands import Repository
from ralphy.git.objects import Objects
from ralphy.git.run_lock import Lock, LockBusy, holder
from ralphy.lanes.git_folder import PersonGit, read_person
from ralphy.lanes.lane import CLEAN, Lane
from ralphy.lanes.lane_sandbox import LaneSandbox
from ralphy.lanes.lanes_folder import CACHES, checkout_folder, repository_folder
from ralphy.lanes.other_paths import other_checkouts, settings_of
from ralphy.sandbox.bubblewrap import CONTROL, View
from ralphy.sandbox.machine import Machine

_NAME = re.compile(rf"{CLEAN}|[1-9][0-9]*")
SYSTEM = tuple(Path(name) for name in ("/usr", "/bin", "/sbin", "/lib", "/lib64"))


@dataclass(frozen=True, slots=True)
class LaneFacts:
    """A lane as it lies on the disk, or the caches that all of them use. `since` is a time of the clock, `pid` who uses
    it now, 0 if nobody does."""

    name: str
    since: float
    bytes: int
    feature: str
    story: str
    kept: str
    pid: int


class Pool:
    """The lanes of one repository below `folder`, the folder of all lanes.

    `bwrap` is where bubblewrap is, None for no sandbox; `level` "strict" for the closed one. `control` are further
    paths, relative to the root, that agents and checks may not write (the features' folder).
    """

    def __init__(
        self, repository: Repository, folder: Path, bwrap: str | None, level: str, *, control: Iterable[str] = (),
        objects: Objects | None = None,
    ) -> None:  # fmt: skip
        self.folder = folder.expanduser().absolute() / checkout_folder(repository)
        # The caches that agents and checks of the repository use in place of the person's.
        self.caches = self.folder.with_name(repository_folder(repository)) / CACHES
        self._repository = repository
        self._bwrap, self._level = bwrap, level
        self._control = tuple(control)
        self._objects = objects or Objects(repository)
        self._held: dict[str, tuple[Lane, Lock]] = {}

    @cached_property
    def person(self) -> PersonGit:
        """What the lanes take from the person's repository, as it stood when it was first asked for."""
        return read_person(self._repository)

    def agent(self, slot: int = 1) -> Lane:
        """The lane of an agent, taken by this process. LockBusy if another one uses it."""
        return self._lane(str(slot))

    def clean(self) -> Lane:
        """The lane of the checks, which no agent ever enters. LockBusy if another process uses it."""
        return self._lane(CLEAN)

    def sandbox(self, view: View | None = None, machine: Machine | None = None) -> LaneSandbox | None:
        """The walls around programs in any lane; None without bubblewrap. With a `view` they are closed, else open to
        the `machine`: by default the person's, without an agent's folder."""
        if self._bwrap is None:
            return None
        self._make_folder()
        r, lanes = self._repository, self.folder.parent.resolve()
        if view is None:
            _make_private(self.caches.parent)
            _make_private(self.caches)
        protected, read_only = (*CONTROL, *self._control), (*other_checkouts(r), *settings_of(r.env))
        return LaneSandbox(self._bwrap, r.root.resolve(), r.common_dir.resolve(), lanes, self.person, protected,
                           read_only, machine or Machine(r.env, self.caches), view)  # fmt: skip

    def listed(self) -> list[LaneFacts]:
        """All lanes on the disk and the caches, by name."""
        return [self._facts(name, home) for name, home in sorted(self._homes().items())]

    def let_go(self, names: Iterable[str]) -> int:
        """Remove lanes; the bytes that this frees. Lanes that another process uses stay."""
        freed, homes = 0, self._homes()
        for name in sorted(names, key=lambda name: name == CACHES):
            if name not in homes or (name == CACHES and self._user_of_any()):
                continue
            with suppress(LockBusy), ExitStack() as until_gone:
                held = self._held.pop(name, None)
                until_gone.push(held[1] if held else self._locked(name))
                before = size_of(homes[name])
                remove(homes[name], self.folder.parent)
                freed += before - size_of(homes[name])
        return freed

    def _homes(self) -> dict[str, Path]:
        """The folders of the lanes, by name."""
        entries = children(self.folder.parent, self.folder) if self.folder.is_dir() else []
        lanes = [entry.name for entry in entries if entry.is_folder and _NAME.fullmatch(entry.name)]
        caches = {CACHES: self.caches} if self.caches.is_dir() else {}
        return {name: self.folder / name for name in lanes} | caches

    def _user_of_any(self) -> object:
        """The id of a process that uses a lane of any checkout, and so the caches; None if there is none."""
        locks = self._repository.state_dir.glob("checkouts/*/lanes/*")
        return next((pid for lock in locks if (pid := holder(lock).get("pid"))), None)

    def _locked(self, name: str) -> Lock:
        """Take the lock of a lane. LockBusy if another process has it."""
        return Lock(self._lock_file(name), f"lane {name}").__enter__()

    def _lock_file(self, name: str) -> Path:
        """It lies in the repository, so that it outlives the lane."""
        return self._repository.checkout_dir / "lanes" / name

    def close(self) -> None:
        """Release the locks. The lanes stay."""
        for _, lock in self._held.values():
            lock.__exit__(None, None, None)
        self._held.clear()

    def _lane(self, name: str) -> Lane:
        if name not in self._held:
            self._make_folder()
            home, lock = self.folder.resolve() / name, self._locked(name)
            home.mkdir(mode=0o700, exist_ok=True)
            self._held[name] = Lane(home, self._repository, self.person, self._objects, self._walls_of_git()), lock
        return self._held[name][0]

    def _walls_of_git(self) -> LaneSandbox | None:
        """The walls of Ralphy's own Git: those of checks, without a network."""
        program = Path(self._repository.program).resolve().parent
        seen = () if any(program.is_relative_to(at) for at in SYSTEM) else (program,)
        box = self.sandbox(View(seen, (), ()) if self._level == STRICT else None)
        return replace(box, is_networked=False) if box else None

    def _make_folder(self) -> None:
        try:
            _make_private(self.folder.parent)
            _make_private(self.folder)
        except OSError as error:
            raise refusal(error, "the folder of lanes (lanes.dir) cannot be made", str(self.folder.parent)) from error

    def _facts(self, name: str, home: Path) -> LaneFacts:
        note = read_note(home / "lane.json", 1 << 16)
        pid = self._user_of_any() if name == CACHES else holder(self._lock_file(name)).get("pid")
        since = note.get("since")
        feature, story, kept = (str(note.get(field) or "") for field in ("feature", "story", "kept"))
        return LaneFacts(name, since if isinstance(since, float) else home.lstat().st_mtime, size_of(home), feature,
                         story, kept, pid if isinstance(pid, int) else 0)  # fmt: skip


def _make_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
