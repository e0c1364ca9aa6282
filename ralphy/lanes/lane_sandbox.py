"""The sandbox of a lane: its tree is seen at the checkout's path, the checkout and its Git folder nowhere.

Two kinds, as `bubblewrap` has them. The *open* one shows the machine as it is; all lanes, the person's Git folder and
other paths of the checkout are covered, other checkouts and the person's settings are read-only. The *closed* one shows
a bare system. In both the person's objects are read-only, in the place where the lane's Git folders look for them, and
what controls agents (`.ralphy`, `.claude`, `.mcp.json`, the features) is read-only in the tree, but for the keeper.

Bubblewrap makes missing mount points itself, and follows links while it does: they are made here first, by no link.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from ralphy.errors import EnvironmentProblem
from ralphy.files.tree_walk import remove
from ralphy.lanes.git_folders import LFS, borrowed
from ralphy.lanes.other_paths import other_paths
from ralphy.sandbox.bind_sources import BindSources
from ralphy.sandbox.bubblewrap import CONTROL, Sandbox, View, bare_sandbox, call_filter, closed_around, exposed
from ralphy.sandbox.host_sockets import sockets_below

AGENTS = "git"  # the Git folders of a lane
OWN = "own"
_COVER_BYTES, _SCRATCH_BYTES = str(1 << 20), str(1 << 30)


@dataclass(frozen=True, slots=True)
class Bind:
    """What is shown inside at `at`, an absolute path there. It is looked at when a program is started.

    In a place of scratch nothing is shown, and what is written there is gone with the program.
    """

    source: Path
    at: Path
    is_writable: bool = False
    is_scratch: bool = False


@dataclass(frozen=True, slots=True)
class LanePlace:
    """What all lanes of a repository have in common. Paths are absolute and real.

    `lanes` is the folder of all lanes of all repositories; `objects` the person's, then those that they borrow from;
    `kept` what agents and checks may not write, relative to the root. `read_only` can be read where it is visible:
    other checkouts, the person's settings. `lfs` is where Git LFS keeps the person's large files, or would.
    """

    root: Path
    common_dir: Path
    lanes: Path
    objects: tuple[Path, ...]
    kept: tuple[str, ...] = CONTROL
    read_only: tuple[Path, ...] = ()
    lfs: Path | None = None

    @property
    def borrowed(self) -> Iterator[tuple[Path, str]]:
        """(what the lane reads of the person's, its place in the lane's Git folder)."""
        yield from ((path, borrowed(number)) for number, path in enumerate(self.objects))
        if self.lfs and self.lfs.is_dir():
            yield self.lfs, LFS


@dataclass(frozen=True, slots=True)
class LaneSandbox:
    """The walls around programs in any lane of a repository; closed if there is a `view`.

    Without `is_networked` the open kind has no network; the closed kind has what its view says.
    """

    program: str
    place: LanePlace
    view: View | None = None
    is_networked: bool = True

    def around(self, home: Path, folder: str = AGENTS, binds: Sequence[Bind] = ()) -> Sandbox:
        """The sandbox of the lane at `home` with one of its Git folders; its mount points are made.

        The keeper, whose folder is OWN, may write everything in the tree. EnvironmentProblem where a link, or something
        else that an agent left, is in the way of a bind.
        """
        self._make_mount_points(home, folder, binds)
        kept = self.place.kept if folder == AGENTS else ()
        tree = home / "tree"
        view = self.view or View((), (), ())
        sources = BindSources(tree, self.place.root, tuple(tree / name for name in kept),
                              tuple(exposed(view.writable, view)), is_closed=self.view is not None)  # fmt: skip
        root, project, last = self.place.root, tuple(self._tree(home, folder)), tuple(_binds(binds))
        if self.view:
            last = (*last, *_sockets_in(binds))
            box = closed_around(self.program, root, self.view, project, sources, last)
            return replace(box, outside=lambda at: self.source_of(at, home, binds))
        net = () if self.is_networked else ("--unshare-net",)
        prefix = (*bare_sandbox(self.program).prefix, *net, *project, "--chdir", str(root))
        return Sandbox(prefix, (), root, sources, last, call_filter(root, is_closed=False),
                       lambda at: self.source_of(at, home, binds))  # fmt: skip

    def source_of(self, at: Path, home: Path, binds: Sequence[Bind]) -> Path:
        """Where outside a path lies that programs in the lane see."""
        for bind in reversed(binds):
            if at.is_relative_to(bind.at):
                return bind.source / at.relative_to(bind.at)
        return home / "tree" / at.relative_to(self.place.root) if at.is_relative_to(self.place.root) else at

    def _tree(self, home: Path, folder: str) -> Iterator[str]:
        for path in self._visible(self.place.read_only):
            yield from ("--ro-bind-try", str(path), str(path))
        for path in self._visible(self._hidden()):
            yield from _cover(path)
        root = self.place.root
        yield from ("--bind", str(home / "tree"), str(root), "--bind", str(home / folder), str(root / ".git"))
        for path, at in self.place.borrowed:
            yield from ("--ro-bind", str(path), str(root / ".git" / at))

    def _hidden(self) -> Iterable[Path]:
        """All lanes and the person's Git folder, where the lane's tree does not stand before it; these and the checkout
        at their other paths."""
        place = self.place
        found = [place.lanes, *(() if self._hides_git else (place.common_dir,))]
        return dict.fromkeys([*found, *other_paths((place.root, *found))])

    def _visible(self, paths: Iterable[Path]) -> Iterator[Path]:
        shown = (Path("/"),) if self.view is None else (*self.view.readable, *self.view.writable)
        return (path for path in paths if any(path.is_relative_to(above) for above in shown))

    @property
    def _hides_git(self) -> bool:
        """Does the lane's tree stand before the person's Git folder?"""
        return self.place.root in self.place.common_dir.parents

    def _make_mount_points(self, home: Path, folder: str, binds: Sequence[Bind]) -> None:
        make_mount_point(home / "tree", PurePath(".git"), may_replace=True)
        for _, at in self.place.borrowed:
            make_mount_point(home / folder, PurePath(at), may_replace=True)
        for bind in (one for one in binds if not one.is_scratch):
            top, inner = _mounted(self.place.root, bind.at, home, folder)
            if top:
                make_mount_point(top, inner, is_file=not bind.source.is_dir(), may_replace=top == home / folder)


def _mounted(root: Path, at: Path, home: Path, folder: str) -> tuple[Path | None, PurePath]:
    """(the folder of the lane that a bind is mounted in, the path in it); None if it lies elsewhere."""
    if at.is_relative_to(root / ".git"):
        return home / folder, at.relative_to(root / ".git")
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
    """Covers for the sockets of the host's programs in the person's folders that are shown."""
    for bind in binds:
        if not bind.is_scratch and bind.source.is_dir():
            for path in sockets_below(bind.source):
                yield from ("--ro-bind", os.devnull, str(bind.at / path.relative_to(bind.source)))


_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def make_mount_point(top: Path, inner: PurePath, *, is_file: bool = False, may_replace: bool = False) -> None:
    """Have a folder (or an empty file) at a path below `top`; what is there and fits stays.

    EnvironmentProblem if something else is in the way; with `may_replace` it is removed.
    """
    at, fd = top, os.open(top, _FOLDER)
    try:
        for number, name in enumerate(inner.parts, 1):
            wants_file = is_file and number == len(inner.parts)
            at /= name
            _have(fd, at, wants_file=wants_file, may_replace=may_replace)
            if wants_file:
                return
            opened = os.open(name, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = opened
    finally:
        os.close(fd)


def _have(parent: int, at: Path, *, wants_file: bool, may_replace: bool) -> None:
    fits = stat.S_ISREG if wants_file else stat.S_ISDIR
    try:
        if fits(os.stat(at.name, dir_fd=parent, follow_symlinks=False).st_mode):
            return
    except FileNotFoundError:
        pass
    else:
        if not may_replace or not remove(at):
            raise EnvironmentProblem("blocks a mount point of the sandbox", where=str(at),
                                     hint="check what it is, then remove it")  # fmt: skip
    if wants_file:
        os.close(os.open(at.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600, dir_fd=parent))
    else:
        os.mkdir(at.name, dir_fd=parent)
