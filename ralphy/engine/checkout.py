"""The checkout: what all features of one working copy share, and what is known of its state just now.

Only one Ralphy works in a checkout (its lock sees to that), so what it has just seen or made holds until it
acts or waits again; everything else is asked of git.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ralphy.git import commands as git
from ralphy.git.commands import Repository
from ralphy.git.merged import is_ancestor
from ralphy.git.objects import Objects
from ralphy.git.ref_state import RefState
from ralphy.git.special_files import run_patient
from ralphy.git.steering_files import GitFiles
from ralphy.git.warm_processes import BlobWriter, RefMover
from ralphy.pipeline.model import Prd

if TYPE_CHECKING:
    from ralphy.lanes.pool import Pool
    from ralphy.processes.supervision import Supervisor
    from ralphy.sandbox.proxy import AllowProxy, Host

Rows = tuple[tuple[str, str], ...]
STATUS = ("--porcelain=v1", "-z", "--untracked-files=all", "--ignored=matching", "--ignore-submodules=all",
          "--no-renames")  # fmt: skip


@dataclass(slots=True)
class Checkout:
    """`index_at` is the commit that Ralphy's own index holds; `clean_at` the commit from which nothing differs;
    `rows` what git said last of changed and ignored files; `ignored` the ignored files before a run.
    `modules` are the submodules with the commits that Ralphy's index records, `modules_noted` what they held.
    `git_files` are the files that steer git, `all_refs` reads the refs, `git_record` is the digest of what was noted
    of both on the disk; `said` is what is said once for all features,
    `proxies` the ways out of closed sandboxes. `prds` has prd.json by its blob, `merged` whether one commit's work is
    in another: neither ever changes."""

    repository: Repository
    objects: Objects
    refs: RefMover
    blobs: BlobWriter
    all_refs: RefState
    git_files: GitFiles = field(default_factory=GitFiles)
    git_record: str = ""
    git_seen: tuple[object, ...] = ()
    git_word: str = ""
    refs_known_at: int = -1
    hooks: Path | None = None
    included: tuple[tuple[object, ...], tuple[str, ...]] | None = None
    index_at: str = ""
    clean_at: str = ""
    rows: Rows | None = None
    ignored: frozenset[str] | None = None
    modules: dict[str, str] = field(default_factory=dict)
    modules_noted: dict[str, list[str]] = field(default_factory=dict)
    module_files: dict[str, tuple[tuple[int, ...] | None, bytes]] = field(default_factory=dict)
    said: set[str] = field(default_factory=set)
    proxies: dict[frozenset[Host], AllowProxy] = field(default_factory=dict)
    prds: dict[str, Prd | None] = field(default_factory=dict)
    merged: dict[tuple[str, str], bool] = field(default_factory=dict)
    _ancestors: dict[tuple[str, str], bool] = field(default_factory=dict)
    other_features: dict[Path, tuple[tuple[int, ...] | None, bytes | None]] = field(default_factory=dict)
    lanes: Pool | None = None
    _push_addresses: tuple[str, ...] | None = None
    _identity: str = ""
    _file_mode: bool | None = None
    _supervisor: Supervisor | None = None

    @classmethod
    def of(cls, repository: Repository) -> Checkout:
        return cls(repository, Objects(repository), RefMover(repository), BlobWriter(repository), RefState(repository))

    def close(self) -> None:
        """End the processes that were kept warm."""
        self.objects.close()
        self.refs.close()
        self.blobs.close()
        for proxy in self.proxies.values():
            proxy.close()
        self.proxies.clear()
        if self.lanes:
            self.lanes.close()
        if self._supervisor:
            self._supervisor.close()
            self._supervisor = None

    def look_anew(self) -> None:
        """Forget what was seen: time has passed, and a person may have done anything."""
        self.clean_at, self.rows, self.ignored = "", None, None

    def has_ancestor(self, commit: str, of: str) -> bool:
        """Can `commit` be reached from `of`? Asked once."""
        if (commit, of) not in self._ancestors:
            self._ancestors[(commit, of)] = is_ancestor(self.repository, commit, of)
        return self._ancestors[(commit, of)]

    def changed(self, features_dir: str) -> Rows:
        """(two-letter code, path) of everything that git status names outside of `features_dir`, "!!" for ignored."""
        if self.rows is None:
            self.rows = self._status(".", f":(top,exclude,literal){features_dir}")
            self.ignored = frozenset(path for code, path in self.rows if code == "!!")
        return self.rows

    def changed_in(self, folder: str) -> Rows:
        """The same for one folder."""
        return self._status(f":(top,literal){folder}")

    def _status(self, *where: str) -> Rows:
        return rows_of(run_patient(self.repository, "status", *STATUS, "--", *where))

    @property
    def supervisor(self) -> Supervisor:
        """The warm supervisor, started when first needed."""
        if self._supervisor is None:
            from ralphy.processes.supervision import Supervisor

            self._supervisor = Supervisor()
        return self._supervisor

    @property
    def hooks_folder(self) -> Path:
        """Where git looks for hooks, as it was configured before any agent worked; asked once."""
        if self.hooks is None:
            try:  # the last value is the one by which Ralphy's own calls run no hooks
                asked = ("config", "--type=path", "-z", "--get-all", "core.hooksPath")
                rows = self.repository.run(*asked).split(b"\0")[:-2]
            except git.GitError:
                rows = []
            named = os.fsdecode(rows[-1]) if rows else ""
            self.hooks = self.repository.root / named if named else self.repository.common_dir / "hooks"
        return self.hooks

    @property
    def push_addresses(self) -> tuple[str, ...]:
        """The addresses of the repository's remotes, as they were configured before any agent worked; asked once."""
        if self._push_addresses is None:
            try:
                rows = self.repository.run("config", "-z", "--get-regexp", r"^remote\..*\.(push)?url$").split(b"\0")
            except git.GitError:
                rows = []
            self._push_addresses = tuple(dict.fromkeys(os.fsdecode(row.partition(b"\n")[2]) for row in rows if row))
        return self._push_addresses

    @property
    def identity(self) -> str:
        """`Name <address>` as git knows the user; asked once."""
        if not self._identity:
            try:
                self._identity = self.repository.text("var", "GIT_COMMITTER_IDENT").rsplit(" ", 2)[0]
            except git.GitError:
                self._identity = "Ralphy <ralphy@localhost>"
        return self._identity

    @property
    def trusts_file_mode(self) -> bool:
        """Does the executable bit mean anything here (core.fileMode)? Asked once."""
        if self._file_mode is None:
            answer = self.repository.run("config", "--type=bool", "--default=true", "core.fileMode")
            self._file_mode = answer == b"true\n"
        return self._file_mode


def rows_of(out: bytes) -> Rows:
    """The rows of `git status --porcelain=v1 -z --no-renames`."""
    rows = out.decode("utf-8", "surrogateescape").split("\0")
    return tuple((sys.intern(row[:2]), row[3:]) for row in rows if len(row) > 3)  # kept for each feature that waits
