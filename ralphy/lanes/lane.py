"""A lane: a working tree of Ralphy's own, in which an agent or checks work as if it were the checkout.

    NAME/tree/      the working tree
    NAME/own/       Ralphy's Git folder for it; only the keeper sees it
    NAME/git/       the Git folder that programs in it see: written from nothing for each tree that is laid out
    NAME/lane.json  what it is used for

Nothing in it is trusted. Git looks at it through the keeper alone, and nothing here follows a link in it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ralphy.errors import DiskFull, EnvironmentProblem
from ralphy.files.notes import read_note, write_note
from ralphy.files.safe_open import read_safely
from ralphy.files.tree_walk import remove
from ralphy.git.commands import Repository, refs_of
from ralphy.git.objects import TREE, Objects
from ralphy.git.ref_files import is_oid
from ralphy.lanes.git_folders import PersonGit, remove_old_git, write_git, write_own
from ralphy.lanes.keeper_call import Keeper, LaneProblem, names_in
from ralphy.lanes.lane_sandbox import LaneSandbox
from ralphy.lanes.large_files import FILTER, keep_content, pointer_of

_MOST_INDEX = 1 << 30
_MODES = ("100644", "100755", "120000", "160000", TREE)


@dataclass(frozen=True, slots=True)
class TakeLimits:
    """What may be taken over. Paths below `excluded` are never taken, but named."""

    max_file_bytes: int
    max_new_files: int
    excluded: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Taken:
    """A tree as it stands in a lane, in the person's objects, but for what was left out of it.

    `big` are (path, bytes) of files over the limit; `special` FIFOs, sockets, devices and names that Git refuses (a
    tracked special file counts as deleted); `nested` repositories inside; `deep` more than 200 folders deep; `many` the
    number of new files if it is over the limit: then none of them is taken, and `crowded` are the topmost folders that
    hold most of them. `control` are excluded paths that differ, `modules` submodules in which something does.
    """

    tree: str
    big: Sequence[tuple[str, int]] = ()
    special: Sequence[str] = ()
    nested: Sequence[str] = ()
    deep: Sequence[str] = ()
    many: int = 0
    control: Sequence[str] = ()
    modules: Sequence[str] = ()
    crowded: Sequence[str] = ()


class Lane:
    """One lane, locked by this process. `keep` are paths in the tree that were brought: they stay, and are not taken.

    `at` is where programs in it see the tree: the checkout's root in a sandbox, else where it lies. `laid_out` is what
    this process put there last; `empty` are the submodules in it whose recorded commit the person does not have.
    """

    def __init__(
        self, home: Path, repository: Repository, person: PersonGit, objects: Objects, keeper: LaneSandbox | None
    ) -> None:
        self.name = home.name
        self.home = home
        self.tree = home / "tree"
        self.at = keeper.place.root if keeper else self.tree
        self.keep: tuple[str, ...] = ()
        self.laid_out = ""
        self.empty: tuple[str, ...] = ()
        self._repository = repository
        self._person = person
        self._objects = objects
        self._sandbox = keeper
        self._has_own = False
        self._stood: os.stat_result | None = None
        self._keeper = Keeper(repository, home, self.at, keeper)

    def lay_out(self, tree: str, commit: str, branch: str) -> int:
        """Make the working tree exactly a tree (its objects must be written), and give the number of written files.

        Programs in it see HEAD on `branch`, at `commit`. A lane that cannot be laid out is replaced by a new one, once.
        """
        written = self._written(tree, lambda: self._write_git(commit, branch))
        index = read_safely(self.home / "own" / "index", _MOST_INDEX)
        (self.home / "git" / "index").write_bytes(index)
        self.laid_out, self._stood = tree, self.tree.lstat()
        return written

    @property
    def was_removed(self) -> bool:
        """Is the folder gone that was laid out? From inside a sandbox nobody can remove it."""
        if self._stood is None:
            return False
        try:
            return not os.path.samestat(self._stood, self.tree.lstat())
        except OSError:
            return True

    def begin(self, tree: str) -> None:
        """Have the keeper begin with a tree that is likely to be laid out next; `lay_out` waits for it."""
        self._ready()
        self._keeper.begin(self._request(tree))

    def tidy(self) -> None:
        """While a program works in the lane: remove what the last lay-out left."""
        remove_old_git(self.home / "git")

    def close(self) -> None:
        """End the keeper."""
        self._keeper.end()

    def _write_git(self, commit: str, branch: str) -> None:
        refs = refs_of(self._repository, ("refs/heads", "refs/tags"))
        write_git(self.home / "git", self._person, self._seen_git, tuple(refs.items()), branch, commit)

    def _written(self, tree: str, meanwhile: Callable[[], None]) -> int:
        request = self._request(tree)
        self._ready()
        try:
            answer = self._keeper.ask(request, meanwhile)
        except DiskFull:
            raise
        except EnvironmentProblem:
            if self._objects.read(tree) is None:
                raise
            self._replace()
            self._ready()
            answer = self._keeper.ask(request, meanwhile)
        self.empty = tuple(map(str, answer["empty"]))
        return int(answer["written"])

    def _request(self, tree: str) -> dict[str, Any]:
        return {"do": "lay-out", "tree": tree, "keep": names_in(self.keep), **self._since_the_last(tree)}

    def _since_the_last(self, tree: str) -> Mapping[str, Any]:
        """The tree that was laid out last, and what is different in this one, so that Git need not say it."""
        with suppress(EnvironmentProblem):  # nobody keeps an old tree from being pruned
            moved = self._objects.changes(self.laid_out, tree) if self.laid_out else ()
            rows = [(path, new.mode if new else "", new.oid if new else "") for path, _, new in moved]
            return {"base": self.laid_out, "changes": rows}
        return {"base": "", "changes": ()}

    def take_over(self, base: str, limits: TakeLimits) -> Taken:
        """The tree as it stands now, `base` being the one that was laid out. Nothing in the lane changes."""
        self._ready()
        answer = self._keeper.ask({
            "do": "take-over", "base": base, "keep": names_in(self.keep), "excluded": names_in(limits.excluded),
            "most_bytes": limits.max_file_bytes, "most_new": limits.max_new_files})  # fmt: skip
        taken = _taken(answer)
        self._require_sound(base, taken.tree, names_in(limits.excluded))
        return taken

    def hollow(self, base: str, tree: str) -> Iterator[str]:
        """What a tree has since `base` of Git LFS: the contents go to the person's; gives the paths that have none."""
        changes = list(self._objects.changes(base, tree)) if FILTER in dict(self._person.settings) else []
        known = {was.oid for _, was, _ in changes if was}
        for path, _, now in changes:
            new = now if now and now.oid not in known and now.mode in ("100644", "100755") else None
            found = pointer_of(self._objects.read(new.oid) or b"") if new else None
            if found and not keep_content(self._person.lfs, self.home / "own" / "lfs", *found):
                yield path

    def note(self, feature: str = "", story: str = "", kept: str = "") -> None:
        """Write down what the lane is used for, and why it is kept, if it is."""
        note = {"feature": feature, "story": story, "since": time.time(), "kept": kept}
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)  # a person may have removed it
        write_note(self.home / "lane.json", note, durable=False)

    def kept_for(self) -> str:
        """The feature whose work lies in it and has not been taken over; "" if nothing is kept."""
        note = read_note(self.home / "lane.json", 1 << 16)
        return str(note.get("feature") or "") if note.get("kept") else ""

    @property
    def _seen_git(self) -> Path | None:
        return self.at / ".git" if self._sandbox else None

    def _ready(self) -> None:
        """What the keeper needs, made where it is not there. Nobody follows a link in its place."""
        for place in (self.tree, self.home / "own"):
            if place.is_symlink() or not place.is_dir():
                remove(place, self.home)
        self.tree.mkdir(mode=0o755, parents=True, exist_ok=True)
        if not self._has_own or not (self.home / "own").is_dir():
            write_own(self.home / "own", self._person, self._seen_git)
            self._has_own = True
        if self._sandbox is None and not _is_gitfile(self.tree / ".git"):
            remove(self.tree / ".git")
            (self.tree / ".git").write_text("gitdir: ../git\n")

    def _replace(self) -> None:
        """Begin with an empty lane; what cannot be removed is moved out of the way."""
        self.close()
        self._has_own = False
        for name in ("tree", "own"):
            if not remove(self.home / name, self.home):
                (self.home / name).rename(self.home / f"{name}.damaged-{time.time_ns()}")

    def _require_sound(self, base: str, tree: str, excluded: Sequence[str]) -> None:
        """Is the tree that the keeper named what it may be?"""
        if not is_oid(tree) or not self._objects.is_sound(tree):
            raise LaneProblem(f"the tree {tree[:12]} did not arrive", where=str(self.home))
        for path, _, after in self._objects.changes(base, tree):
            parts = path.split("/")
            is_bad = any(part.lower() in ("", ".", "..", ".git") for part in parts)
            if is_bad or (after and after.mode not in _MODES):
                raise LaneProblem(f"the tree {tree[:12]} holds the forbidden path {path!r}", where=self.name)
            if any(path == place or path.startswith(f"{place}/") for place in excluded):
                raise LaneProblem(f"the tree {tree[:12]} changes {path!r}, which is not taken", where=self.name)


def _taken(answer: Mapping[str, Any]) -> Taken:
    try:
        names = ("special", "nested", "deep", "control", "modules", "crowded")
        named = {name: tuple(map(str, answer[name])) for name in names}
        big = tuple((str(path), int(size)) for path, size in answer["big"])
        return Taken(str(answer["tree"]), big, many=int(answer["many"]), **named)
    except (KeyError, TypeError, ValueError) as error:
        raise LaneProblem(f"the keeper of the lane gave no answer: {error!r}") from error


def _is_gitfile(path: Path) -> bool:
    try:
        return not path.is_symlink() and read_safely(path, 64) == b"gitdir: ../git\n"
    except OSError:
        return False
