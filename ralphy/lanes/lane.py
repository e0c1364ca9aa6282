"""A lane: a working tree of Ralphy's own, in which an agent or checks work as if it were the checkout.

    NAME/tree/      the working tree
    NAME/git/       its Git folder, written again each time a tree is laid out or taken over
    NAME/lane.json  what it is used for
    NAME/laid-out   the tree that was laid out last

Nothing in it is trusted. If it has walls, Git reads it only inside them. Nothing here follows a link in it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from ralphy.errors import DiskFull, EnvironmentProblem
from ralphy.files.atomic import replace_file
from ralphy.files.notes import read_note, write_note
from ralphy.files.read import read_regular
from ralphy.files.tree_walk import make_accessible, remove
from ralphy.git.commands import Repository, refs_of
from ralphy.git.objects import GITLINK, TREE, Objects, is_oid
from ralphy.lanes.changes_in_lane import Selection, TakeLimits, Taken, is_within, make_ready
from ralphy.lanes.environment import rewritten
from ralphy.lanes.git_folder import PersonGit, write_git
from ralphy.lanes.git_inside import GitInside, LaneProblem
from ralphy.lanes.lane_sandbox import LaneSandbox
from ralphy.lanes.large_files import FILTER, pointer_of, save_content
from ralphy.processes.command import REPO_MARKER

CLEAN = "clean-1"
_LAID_OUT = "laid-out"
_PORTS_PER_LANE = 100
_MODES = ("100644", "100755", "120000", GITLINK, TREE)


class Lane:
    """One lane, locked by this process.

    `keep` are paths in the tree, without a slash at the end, that stay when another tree is laid out and are not taken
    over. `dependencies` are folders in it that checks see read-only. `empty` are submodules whose recorded commit the
    person does not have.

    `at` is the path at which programs see the tree: the checkout's root in a sandbox, else `tree` itself.
    """

    def __init__(
        self, home: Path, repository: Repository, person: PersonGit, objects: Objects, walls: LaneSandbox | None
    ) -> None:
        self.name = home.name
        self.home = home
        self.tree = home / "tree"
        self.at = walls.root if walls else self.tree
        self.keep: tuple[str, ...] = ()
        self.dependencies: tuple[str, ...] = ()
        self.empty: tuple[str, ...] = ()
        self._repository = repository
        self._person = person
        self._objects = objects
        self._walls = walls
        self._stood: os.stat_result | None = None

    @property
    def is_clean(self) -> bool:
        """Is it the lane of the checks, which no agent ever enters?"""
        return self.name == CLEAN

    @property
    def is_mounted(self) -> bool:
        """Do programs see the tree at the checkout's path? If not, the lane has no walls."""
        return self._walls is not None

    def environment(self, env: Mapping[str, str], base_port: int) -> dict[str, str]:
        """An environment for a program in the lane: the lane's number, and the first of its hundred ports; without
        walls, what leads into the checkout leads into the lane, but for the marker of the checkout, by which a restart
        finds what still runs."""
        number = 0 if self.is_clean else int(self.name)
        own = {"RALPHY_LANE": str(number), "RALPHY_PORT_BASE": str(base_port + _PORTS_PER_LANE * number)}
        led = env if self.is_mounted else rewritten(env, self._repository.root, self.tree)
        marker = {REPO_MARKER: env[REPO_MARKER]} if REPO_MARKER in env else {}
        return {**led, **marker, **own}

    def lay_out(self, tree: str, commit: str, branch: str) -> None:
        """Make the working tree exactly this tree, whose objects must exist; files that are the same stay.

        Programs see HEAD on `branch`, at `commit`. A lane that cannot be laid out is replaced by a new one, once.
        """
        refs = refs_of(self._repository, ("refs/heads", "refs/tags"))
        if branch and commit:
            refs[f"refs/heads/{branch}"] = commit
        head = f"ref: refs/heads/{branch}" if branch else commit
        try:
            self._write(tree, refs, head)
        except DiskFull:
            raise
        except (OSError, EnvironmentProblem):
            if self._objects.read(tree) is None:
                raise
            self._replace()
            self._write(tree, refs, head)
        replace_file(self.home / _LAID_OUT, tree.encode(), durable=False)

    @property
    def laid_out(self) -> str:
        """The tree that was laid out last; "" if the lane was made again since."""
        return (read_regular(self.home / _LAID_OUT) or b"").decode()

    def _write(self, tree: str, refs: dict[str, str], head: str) -> None:
        git = self._git(refs, head)
        make_ready(self.tree, self.keep)
        self._stood = self.tree.lstat()  # before Git runs: a lane that is removed meanwhile is laid out again
        self.empty = git.lay_out(tree, self.keep)

    @property
    def was_removed(self) -> bool:
        """Is the folder gone that was laid out? Nobody inside a sandbox can remove it."""
        if self._stood is None:
            return False
        try:
            return not os.path.samestat(self._stood, self.tree.lstat())
        except OSError:
            return True

    def take_over(self, base: str, limits: TakeLimits) -> Taken:
        """The lane's tree now; `base` is the one that was laid out. Pipes, sockets and devices are removed from it, and
        what its owner may not read becomes readable. LaneProblem if a person removed the lane, even meanwhile."""
        self._require_tree()
        try:
            taken = self._take(base, limits)
        except (OSError, EnvironmentProblem):
            self._require_tree()
            raise
        self._require_tree()
        return taken

    def _require_tree(self) -> None:
        if self.was_removed or self.tree.is_symlink() or not self.tree.is_dir():
            raise LaneProblem("the lane cannot be used: it was removed", where=str(self.home))

    def _take(self, base: str, limits: TakeLimits) -> Taken:
        git = self._git({}, "ref: refs/heads/lane")
        selection = Selection(self.tree, partial(self._objects.at, base), self.keep, limits)
        gone, files = selection.choose(git.look(base))
        tree, refused = git.take(base, gone, files)
        self._require_sound(base, tree, limits.excluded)
        return selection.taken(tree, refused)

    def missing_lfs_content(self, base: str, tree: str) -> Iterator[str]:
        """Copy the contents of Git LFS that are new since `base` to the person's; the paths that have no content."""
        changes = list(self._objects.changes(base, tree)) if FILTER in dict(self._person.settings) else []
        known = {was.oid for _, was, _ in changes if was}
        for path, _, now in changes:
            new = now if now and now.oid not in known and now.mode in ("100644", "100755") else None
            pointer = pointer_of(self._objects.read(new.oid) or b"") if new else None
            if pointer and not save_content(self._person.lfs, self.home / "git" / "lfs", *pointer):
                yield path

    def note(self, feature: str = "", story: str = "", kept: str = "") -> None:
        """Note what the lane is used for, and why it must be kept, if so."""
        note = {"feature": feature, "story": story, "since": time.time(), "kept": kept}
        self.home.mkdir(mode=0o700, parents=True, exist_ok=True)  # a person may have removed it
        write_note(self.home / "lane.json", note, durable=False)

    def holds_work_of(self) -> str:
        """The feature whose work is in the lane and was not taken over; "" if there is none."""
        note = read_note(self.home / "lane.json", 1 << 16)
        return str(note.get("feature") or "") if note.get("kept") else ""

    def _git(self, refs: dict[str, str], head: str) -> GitInside:
        """Git for the lane, with a new Git folder. A missing tree is made, and one that an agent locked is opened to
        its owner. No link is followed."""
        if self.tree.is_symlink() or not self.tree.is_dir():
            remove(self.tree, self.home)
        self.tree.mkdir(mode=0o755, parents=True, exist_ok=True)
        make_accessible(None, str(self.tree))
        write_git(self.home / "git", self._person, self.at / ".git" if self._walls else None, refs, head)
        if not self._walls:
            remove(self.tree / ".git")
            with (self.tree / ".git").open("x") as file:  # a link that could not be removed is not followed
                file.write("gitdir: ../git\n")
        box = self._walls.around(self.home, is_ralphys=True) if self._walls else None
        return GitInside(self._repository, self.home, self.at, box)

    def _replace(self) -> None:
        """Empty the lane; what cannot be removed is moved aside."""
        for name in ("tree", "git"):
            if not remove(self.home / name, self.home):
                (self.home / name).rename(self.home / f"{name}.damaged-{time.time_ns()}")

    def _require_sound(self, base: str, tree: str, excluded: Sequence[str]) -> None:
        """LaneProblem if the tree that Git in the lane named holds anything that may not be taken over."""
        if not is_oid(tree) or not self._objects.is_sound(tree):
            raise LaneProblem(f"the tree {tree[:12]} did not arrive", where=str(self.home))
        for path, _, after in self._objects.changes(base, tree):
            parts = path.split("/")
            is_bad = any(part.lower() in ("", ".", "..", ".git") for part in parts)
            if is_bad or (after and after.mode not in _MODES):
                raise LaneProblem(f"the tree {tree[:12]} holds the forbidden path {path!r}", where=self.name)
            if is_within(path, excluded):
                raise LaneProblem(f"the tree {tree[:12]} changes {path!r}, which is not taken", where=self.name)
