"""What of the changes in a lane is taken over, and what is left out and why."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ralphy.files.tree_walk import Found, remove, walk
from ralphy.git.objects import TREE, Entry
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
    """What Git does not tell of a working tree. `special` are pipes, sockets and devices; `git` paths named `.git`;
    `control` files and links in folders that are never taken; `large` files over the limit, with their bytes."""

    special: list[str] = field(default_factory=list)
    git: list[str] = field(default_factory=list)
    control: list[str] = field(default_factory=list)
    large: dict[str, int] = field(default_factory=dict)


def surveyed(tree: Path, keep: Sequence[str], limits: TakeLimits) -> Survey:
    """Look at all names in a tree but for what is kept, make everything readable, and take away what is special: Git
    would wait for a pipe that it takes for its rules."""
    found = Survey()
    for one in _others(tree, keep):
        if one.name == ".git":
            found.git.append(one.path)
        if one.is_folder:
            continue
        if is_within(one.path, limits.excluded):
            found.control.append(one.path)
        if _is_special(one):
            found.special.append(one.path)
        elif one.stat.st_size > limits.max_file_bytes:
            found.large[one.path] = one.stat.st_size
    for path in found.special:
        remove(tree / path, tree)
    return found


def make_ready(tree: Path, keep: Sequence[str]) -> None:
    """Take away what Git would leave, or be misled by, when it lays another tree out: what is special, repositories in
    folders of the tree, files that have a second name, and rules of how files are compared."""
    for path in [one.path for one in _others(tree, keep)
                 if one.name in (".git", ".gitattributes") or _is_special(one)
                 or (not one.is_folder and one.stat.st_nlink > 1)]:  # fmt: skip
        remove(tree / path, tree)


def _others(tree: Path, keep: Sequence[str]) -> Iterator[Found]:
    """All that is in a tree but for its Git folder and what is kept, readable from then on."""
    apart = {".git", *keep}
    return (one for one in walk(tree, apart, unlock=True) if one.path not in apart)


def _is_special(one: Found) -> bool:
    return not (one.is_folder or stat.S_ISREG(one.stat.st_mode) or stat.S_ISLNK(one.stat.st_mode))


def is_within(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


class Sorted:
    """The changes of a look, sorted: `gone` and `files` are taken, all else is named. `before` gives what the tree that
    was laid out has at a path."""

    def __init__(
        self, look: Look, survey: Survey, before: Callable[[str], Entry | None], keep: Sequence[str], limits: TakeLimits
    ) -> None:
        self._modules_of_tree = look.filled | look.empty
        self._large, self._keep, self._limits = survey.large, keep, limits
        self.big, self.deep = list[tuple[str, int]](), list[str]()
        self.nested, self.modules = set[str](), set[str]()
        self.control = {path for path in survey.control if before(path) is None}
        self.many, self.crowded = 0, tuple[str, ...]()
        for path in (*survey.git, *survey.special):
            is_module, folder = self._is_in_module(path), before(path.removesuffix("/.git"))
            if path.endswith("/.git") and not is_module and folder and folder.mode == TREE:
                self.nested.add(path.removesuffix("/.git"))
        self.gone = [path for path in sorted(look.gone) if not self._is_left_out(path)]
        self.files = [path for path in sorted(look.changed) if self._is_taken(path)]
        added = [path for path in look.new if self._is_taken(path)]
        if len(added) > limits.max_new_files:
            self.many, self.crowded = len(added), _crowded(added)
        else:
            self.files += added

    def taken(self, tree: str, refused: str) -> Taken:
        named = (tuple(sorted(paths)) for paths in (self.nested, self.deep, self.control, self.modules))
        nested, deep, control, modules = named
        return Taken(tree, tuple(sorted(self.big)), nested, deep, self.many, control, modules, self.crowded, refused)

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

    def _is_taken(self, path: str) -> bool:
        """Is a file taken that is new or changed? One that is not is named."""
        if is_within(path.rstrip("/"), self._keep) or self._is_left_out(path.rstrip("/")):
            return False
        if path.endswith("/"):
            self.nested.add(path[:-1])
        elif path.count("/") > _MOST_DEPTH:
            self.deep.append(path)
        elif path in self._large:
            self.big.append((path, self._large[path]))
        else:
            return True
        return False


def _crowded(paths: Sequence[str]) -> tuple[str, ...]:
    """The topmost folders that hold most of the files: a tenth of them or more each, at most three."""
    counts = Counter(path.partition("/")[0] if "/" in path else "." for path in paths)
    return tuple(top for top, count in counts.most_common(3) if count * 10 >= len(paths))
