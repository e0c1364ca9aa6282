"""Which changes in a lane are taken over, and why others are not."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ralphy.files.tree_walk import TreeEntry, remove, walk
from ralphy.git.objects import TREE, Entry
from ralphy.lanes.git_inside import TreeDifference

_MEGABYTE = 1 << 20
_MOST_DEPTH = 200


@dataclass(frozen=True, slots=True)
class TakeLimits:
    """What may be taken over. Paths in `excluded`, which end without a slash, are never taken, but named."""

    max_file_mb: float
    max_new_files: int
    excluded: Sequence[str] = ()

    def why_too_big(self, path: str, size: int) -> str:
        """Why a file of so many bytes is not taken; "" if it may be."""
        if size <= int(self.max_file_mb * _MEGABYTE):
            return ""
        return (f"{path} has {size / _MEGABYTE:.1f} MB; more than limits.max_file_mb ({self.max_file_mb}) is "
                "not committed: leave it out, or add it to .gitignore")  # fmt: skip

    def why_too_many(self, added: Sequence[str]) -> str:
        """Why so many new files are not taken; "" if they may be."""
        if len(added) <= self.max_new_files:
            return ""
        return (f"{len(added)} new files ({', '.join(_crowded(added))} …), more than limits.max_new_files "
                f"({self.max_new_files}): is an entry missing in .gitignore?")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Taken:
    """The tree of a lane in the person's objects, without what was left out.

    `refused` says what may not be committed. `control` are the excluded paths that changed, `modules` the submodules in
    which something changed.
    """

    tree: str
    control: Sequence[str]
    modules: Sequence[str]
    refused: Sequence[str]


class Selection:
    """Chooses which changes of a working tree are taken. `before` gives the entry at a path of the tree that was laid
    out."""

    def __init__(
        self, tree: Path, before: Callable[[str], Entry | None], keep: Sequence[str], limits: TakeLimits
    ) -> None:
        """Walk everything except the paths to keep, make it readable, and remove pipes, sockets and devices: Git would
        wait for a pipe in the place of a `.gitignore`."""
        self._before, self._keep, self._limits = before, keep, limits
        self._odd, self._too_big = list[str](), dict[str, str]()
        self._control, self._modules = set[str](), set[str]()
        self._modules_of_tree = frozenset[str]()
        self._refused = dict[str, None]()
        for one in _others(tree, keep):
            if one.name == ".git" or _is_special(one):
                self._odd.append(one.path)
            if one.is_folder:
                continue
            if is_within(one.path, limits.excluded) and before(one.path) is None:
                self._control.add(one.path)
            if _is_special(one):
                remove(tree / one.path, tree)
            elif why := limits.why_too_big(one.path, one.stat.st_size):
                self._too_big[one.path] = why

    def choose(self, look: TreeDifference) -> tuple[list[str], list[str]]:
        """The changes to take: (files that are gone, files that are new or changed)."""
        self._modules_of_tree = look.filled | look.empty
        for path in self._odd:
            folder = path.removesuffix("/.git")
            if not self._is_in_module(path) and folder != path and self._is_folder_of_tree(folder):
                self._refuse(f"{folder} is a nested repository")
        gone = [path for path in sorted(look.gone) if not self._is_left_out(path)]
        files = [path for path in sorted(look.changed) if self._is_taken(path)]
        added = [path for path in look.new if self._is_taken(path)]
        if why := self._limits.why_too_many(added):
            self._refuse(why)
            return gone, files
        return gone, files + added

    def taken(self, tree: str, refused: str) -> Taken:
        """The result; `refused` is why Git does not take a file, "" if it takes all."""
        if refused:
            self._refuse(f"Git does not take a file: {refused[:300]}")
        return Taken(tree, tuple(sorted(self._control)), tuple(sorted(self._modules)), tuple(self._refused))

    def _refuse(self, why: str) -> None:
        self._refused[why] = None

    def _is_folder_of_tree(self, path: str) -> bool:
        entry = self._before(path)
        return entry is not None and entry.mode == TREE

    def _is_in_module(self, path: str) -> bool:
        inside = sorted(module for module in self._modules_of_tree if is_within(path, (module,)))
        self._modules.update(inside[:1])  # the outermost
        return bool(inside)

    def _is_left_out(self, path: str) -> bool:
        """Is it a control file, or a file of a submodule? It is named then."""
        if is_within(path, self._limits.excluded):
            self._control.add(path)
            return True
        return self._is_in_module(path)

    def _is_taken(self, path: str) -> bool:
        """Is a new or changed file taken? If not, it is named."""
        if is_within(path.rstrip("/"), self._keep) or self._is_left_out(path.rstrip("/")):
            return False
        if path.endswith("/"):
            self._refuse(f"{path[:-1]} is a nested repository")
        elif path.count("/") > _MOST_DEPTH:
            self._refuse(f"too deeply nested, more than {_MOST_DEPTH} folders: {path[:80]} …")
        elif path in self._too_big:
            self._refuse(self._too_big[path])
        else:
            return True
        return False


def make_ready(tree: Path, keep: Sequence[str]) -> None:
    """Remove what Git would leave, or be misled by, when it lays another tree out: special files, repositories in
    folders of the tree, files with a second name (hard links), and `.gitattributes`."""
    for path in [one.path for one in _others(tree, keep)
                 if one.name in (".git", ".gitattributes") or _is_special(one)
                 or (not one.is_folder and one.stat.st_nlink > 1)]:  # fmt: skip
        remove(tree / path, tree)


def _others(tree: Path, keep: Sequence[str]) -> Iterator[TreeEntry]:
    """Everything in a tree, made readable, without its Git folder and the paths to keep."""
    apart = {".git", *keep}
    return (one for one in walk(tree, apart, unlock=True) if one.path not in apart)


def _is_special(one: TreeEntry) -> bool:
    return not (one.is_folder or stat.S_ISREG(one.stat.st_mode) or stat.S_ISLNK(one.stat.st_mode))


def is_within(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def _crowded(paths: Sequence[str]) -> tuple[str, ...]:
    """The topmost folders that hold a tenth of the files or more, at most three."""
    counts = Counter(path.partition("/")[0] if "/" in path else "." for path in paths)
    return tuple(top for top, count in counts.most_common(3) if count * 10 >= len(paths))
