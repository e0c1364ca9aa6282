"""The sandbox of a lane: programs see its tree at the checkout's path, and neither the checkout nor its Git folder.

There are two kinds, as in `sandbox/bubblewrap.py`. The *open* one shows the machine read-only and covers all lanes, the
person's Git folder and other paths of the checkout. Other checkouts and the person's settings are read-only even if the
person has made the folder above writable. The *closed* one shows a bare system. Both show the person's objects
read-only where the lane's Git folder looks for them. What controls agents (`.ralphy`, `.claude`, `.mcp.json`, the
features) is read-only in the tree, except for Ralphy's own Git.

Bubblewrap follows links when it makes missing mount points, so they are made here first, without following one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from ralphy.errors import EnvironmentProblem
from ralphy.files.tree_walk import link_on_the_way, walk
from ralphy.lanes.git_folder import PersonGit
from ralphy.lanes.other_paths import other_paths
from ralphy.sandbox.bubblewrap import Sandbox, View, closed_around, open_around
from ralphy.sandbox.machine import Machine, shows
from ralphy.sandbox.mount_points import make_mount_point

_COVER_BYTES, _SCRATCH_BYTES = str(1 << 20), str(1 << 30)


@dataclass(frozen=True, slots=True)
class Bind:
    """A file or folder that is shown inside at `at`, an absolute path there. `source` is read when a program starts.

    A scratch bind shows an empty folder; what is written there is gone when the program ends.
    """

    source: Path
    at: Path
    is_writable: bool = False
    is_scratch: bool = False


@dataclass(frozen=True, slots=True)
class LaneSandbox:
    """The walls around programs in any lane of a repository: closed if there is a `view`, else open to the `machine`.

    Paths are absolute and real. `lanes` is the folder of all lanes of all repositories. `protected` are paths, relative
    to the root, that agents and checks may not write. `read_only` are paths outside that can only be read: other
    checkouts, the person's settings. Without `is_networked` the open kind has no network; of the closed kind the view
    decides.
    """

    program: str
    root: Path
    common_dir: Path
    lanes: Path
    person: PersonGit
    protected: tuple[str, ...]
    read_only: tuple[Path, ...]
    machine: Machine
    view: View | None = None
    is_networked: bool = True

    def around(self, home: Path, binds: Sequence[Bind] = (), *, is_ralphys: bool = False) -> Sandbox:
        """The sandbox of the lane at `home`; its mount points are made.

        Ralphy's own Git may write everything in the tree. EnvironmentProblem where a link, or something else that an
        agent left, is in the way of a bind.
        """
        protected = () if is_ralphys else tuple(self._protected(home / "tree"))
        self._make_mount_points(home, binds)
        last = tuple(_binds(binds))
        if self.view:
            seen = (*self.view.readable, *self.view.writable)
            tree = self._tree(home, lambda path: any(path.is_relative_to(above) for above in seen))
            box = closed_around(self.program, self.root, self.view, (*tree, *protected), (*last, *_sockets_in(binds)))
        else:
            mounts = self.machine.mounts()
            net = () if self.is_networked else ("--unshare-net",)
            tree = self._tree(home, lambda path: shows(mounts, path))
            box = open_around(self.program, self.root, self.machine, mounts, (*net, *tree, *protected), last)
        return replace(box, outside=lambda at: self.source_of(at, home, binds))

    def source_of(self, at: Path, home: Path, binds: Sequence[Bind]) -> Path:
        """The path outside of what programs in the lane see at a path."""
        for bind in reversed(binds):
            if at.is_relative_to(bind.at):
                return bind.source / at.relative_to(bind.at)
        return home / "tree" / at.relative_to(self.root) if at.is_relative_to(self.root) else at

    def _tree(self, home: Path, is_seen: Callable[[Path], bool]) -> Iterator[str]:
        for path in filter(is_seen, self.read_only):
            yield from ("--ro-bind-try", str(path), str(path))
        for path in filter(is_seen, self._hidden()):
            yield from _cover(path)
        root = self.root
        yield from ("--bind", str(home / "tree"), str(root), "--bind", str(home / "git"), str(root / ".git"))
        for path, at in self.person.borrowed:
            yield from ("--ro-bind", str(path), str(root / ".git" / at))

    def _protected(self, tree: Path) -> Iterator[str]:
        """Options that make what controls agents read-only; a missing path becomes an empty folder. The folders above
        are bound to themselves, so that nobody can move them away.

        No link is followed. The open sandbox leaves a link as it is: the machine is visible there anyway.
        """
        paths = [PurePath(name) for name in self.protected]
        links = {path: link_on_the_way(tree, tree / path) for path in paths}
        for link in filter(None, links.values()):
            if self.view:
                raise EnvironmentProblem(
                    "is a symbolic link: the sandbox would follow it out of the repository",
                    where=str(link), hint="check where it leads, then replace it with a folder or delete it",
                )  # fmt: skip
        bound = [path for path in paths if links[path] is None]
        for path in bound:
            if not os.path.lexists(tree / path):
                make_mount_point(tree, path)
        above = {folder for path in bound for folder in path.parents[:-1]}
        for folder in sorted(above, key=lambda folder: len(folder.parts)):
            yield from ("--bind", str(tree / folder), str(self.root / folder))
        for path in bound:
            yield from ("--ro-bind", str(tree / path), str(self.root / path))

    def _hidden(self) -> Iterable[Path]:
        """All lanes, the person's Git folder unless the lane's tree already covers it, and the other paths of these and
        of the checkout."""
        is_covered = self.root in self.common_dir.parents
        folders = [self.lanes, *(() if is_covered else (self.common_dir,))]
        return dict.fromkeys([*folders, *other_paths((self.root, *folders))])

    def _make_mount_points(self, home: Path, binds: Sequence[Bind]) -> None:
        make_mount_point(home / "tree", PurePath(".git"), may_replace=True)
        for _, at in self.person.borrowed:
            make_mount_point(home / "git", PurePath(at), may_replace=True)
        for bind in (one for one in binds if not one.is_scratch):
            top, inner = _mounted(self.root, bind.at, home)
            if top:
                make_mount_point(top, inner, is_file=not bind.source.is_dir(), may_replace=top == home / "git")


def _mounted(root: Path, at: Path, home: Path) -> tuple[Path | None, PurePath]:
    """(the folder of the lane in which a bind is mounted, the path in it); None for a bind elsewhere."""
    if at.is_relative_to(root / ".git"):
        return home / "git", at.relative_to(root / ".git")
    return (home / "tree", at.relative_to(root)) if at.is_relative_to(root) else (None, PurePath())


def _binds(binds: Iterable[Bind]) -> Iterator[str]:
    for bind in binds:
        if bind.is_scratch:
            yield from ("--size", _SCRATCH_BYTES, "--tmpfs", str(bind.at))
        else:
            yield from ("--bind" if bind.is_writable else "--ro-bind", str(bind.source), str(bind.at))


def _cover(path: Path) -> Iterator[str]:
    if path.is_dir():
        yield from ("--size", _COVER_BYTES, "--tmpfs", str(path))
    elif path.exists():
        yield from ("--ro-bind", os.devnull, str(path))


def _sockets_in(binds: Iterable[Bind]) -> Iterator[str]:
    """Covers for the sockets in the person's folders that are shown: a program of the host may listen on them."""
    for bind in (one for one in binds if not one.is_scratch):
        for one in walk(bind.source):
            if stat.S_ISSOCK(one.stat.st_mode):
                yield from ("--ro-bind", os.devnull, str(bind.at / one.path))
