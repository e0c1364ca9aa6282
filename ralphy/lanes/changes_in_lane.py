"""What of the changes in a lane is taken over, and what is left out and why."""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ralphy.files.tree_walk import children, remove, walk
from ralphy.lanes.git_inside import Look

_MOST_DEPTH = 200


@dataclass(frozen=True, slots=True)
class TakeLimits:
    """What may be taken over. Paths below `excluded` are never taken, but named."""

    max_file_bytes: int
    max_new_files: int
    excluded: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """A tree as it stands in a lane, in the person's objects, but for what was left out of it.

    `big` are (path, bytes) of files over the limit; `nested` repositories inside; `deep` files more than 200 folders
    deep; `many` the number of new files if it is over the limit: then none of them is taken, and `crowded` are the
    topmost folders that hold most of them. `control` are excluded paths that differ, `modules` submodules in which
    something does. `refused` is why Git does not take a file.
    """

    tree: str
    big: Sequence[tuple[str, int]] = ()
    nested: Sequence[str] = ()
    deep: Sequence[str] = ()
    many: int = 0
    control: Sequence[str] = ()
    modules: Sequence[str] = ()
    crowded: Sequence[str] = ()
    refused: str = ""


@dataclass(slots=True)
class Survey:
    """What Git does not tell of a working tree: pipes, sockets and devices, which are removed; `git` are paths named
    `.git`, `inside` all that lies in folders that were asked for and is no folder."""

    special: list[str] = field(default_factory=list)
    git: list[str] = field(default_factory=list)
    inside: list[str] = field(default_factory=list)


def surveyed(tree: Path, keep: Sequence[str], asked: Sequence[str] = ()) -> Survey:
    """Look at all names in a tree but for what is kept, and make everything readable. Git would wait for a pipe that it
    takes for its rules."""
    found = Survey()
    for one in walk(tree, {".git", *keep}, unlock=True):
        if one.path == ".git" or one.path in keep:
            continue
        if one.name == ".git":
            found.git.append(one.path)
        if not one.is_folder and is_within(one.path, asked):
            found.inside.append(one.path)
        if not one.is_folder and not stat.S_ISREG(one.stat.st_mode) and not stat.S_ISLNK(one.stat.st_mode):
            found.special.append(one.path)
    for path in found.special:
        remove(tree / path, tree)
    return found


def is_within(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


def folders_above(paths: Iterable[str]) -> set[str]:
    """All folders that these paths lie in."""
    folders = set[str]()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return folders


def clear(tree: Path, look: Look, keep: Sequence[str]) -> set[str]:
    """Take away what is neither in the tree that was looked at nor kept, and what cannot be one of its files; gives
    what was removed."""
    folders, empty = folders_above([*look.files, *keep]), look.empty
    away, left = set[str](), {".git", *keep}
    for one in walk(tree, left):
        if one.path == ".git" or one.path in keep:
            continue
        if one.path in look.files and one.path not in empty:
            is_wrong = one.is_folder or (stat.S_ISREG(one.stat.st_mode) and one.stat.st_nlink > 1)
        else:
            is_wrong = not one.is_folder or (one.path not in folders and one.path not in empty)
        if is_wrong:
            away.add(one.path)
            left.add(one.path)
    for path in away:
        remove(tree / path, tree)
    return away


class Sorted:
    """The changes of a look, sorted: `gone` and `files` are taken, all else is named."""

    def __init__(self, tree: Path, look: Look, survey: Survey, keep: Sequence[str], limits: TakeLimits) -> None:
        self._look, self._keep, self._limits = look, keep, limits
        self._modules_of_tree = look.filled | look.empty
        self.gone, self.files = list[str](), list[str]()
        self.big, self.deep, self.nested = list[tuple[str, int]](), list[str](), set[str]()
        self.control, self.many, self.crowded = set[str](), 0, tuple[str, ...]()
        self.modules = {path for path in look.empty if children(tree, tree / path)}
        self._find_in_survey(survey)
        self.gone += [path for path in sorted(look.gone) if not self._is_left_out(path)]
        root = os.open(tree, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            self.files += self._small_enough(root, sorted(look.changed))
            added = list(self._small_enough(root, look.new))
        finally:
            os.close(root)
        if len(added) > limits.max_new_files:
            self.many, self.crowded = len(added), _crowded(added)
        else:
            self.files += added

    def taken(self, tree: str, refused: str) -> Taken:
        named = (tuple(sorted(paths)) for paths in (self.nested, self.deep, self.control, self.modules))
        nested, deep, control, modules = named
        return Taken(tree, tuple(sorted(self.big)), nested, deep, self.many, control, modules, self.crowded, refused)

    def _find_in_survey(self, survey: Survey) -> None:
        folders = folders_above(self._look.files)
        self.control.update(path for path in survey.inside if path not in self._look.files)
        for path in (*survey.git, *survey.special):
            is_module = self._is_in_module(path)
            if path.endswith("/.git") and not is_module and path.removesuffix("/.git") in folders:
                self.nested.add(path.removesuffix("/.git"))

    def _is_in_module(self, path: str) -> bool:
        inside = sorted(module for module in self._modules_of_tree if is_within(path, (module,)))
        self.modules.update(inside[:1])  # the outermost
        return bool(inside)

    def _is_left_out(self, path: str) -> bool:
        """Is it a control file, or a file of a submodule? What changed there is named."""
        if is_within(path, self._limits.excluded):
            self.control.add(path)
            return True
        return self._is_in_module(path)

    def _small_enough(self, root: int, paths: Iterable[str]) -> Iterable[str]:
        for path in paths:
            if path.endswith("/"):
                self._nest(path[:-1])
            elif is_within(path, self._keep) or self._is_left_out(path):
                continue
            elif path.count("/") > _MOST_DEPTH:
                self.deep.append(path)
            else:
                size = os.stat(path, dir_fd=root, follow_symlinks=False).st_size
                if size > self._limits.max_file_bytes:
                    self.big.append((path, size))
                else:
                    yield path

    def _nest(self, path: str) -> None:
        if not is_within(path, self._keep) and not self._is_in_module(path):
            self.nested.add(path)


def _crowded(paths: Sequence[str]) -> tuple[str, ...]:
    """The topmost folders that hold most of the files: a tenth of them or more each, at most three."""
    counts = Counter(path.partition("/")[0] if "/" in path else "." for path in paths)
    return tuple(top for top, count in counts.most_common(3) if count * 10 >= len(paths))
