"""The checkout: what all features of one working copy share, and what is known of its state just now.

Only one Ralphy works in a checkout (its lock sees to that), so what it has just seen or made holds until it
acts or waits again; everything else is asked of git.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ralphy.git import commands as git
from ralphy.git import signing
from ralphy.git.commands import Repository, is_ancestor
from ralphy.git.move_refs import RefMover
from ralphy.git.objects import Objects
from ralphy.pipeline.model import Prd
from ralphy.processes.keep_awake import KeepAwake

if TYPE_CHECKING:  # `ralphy status` opens a checkout and runs nothing
    from ralphy.lanes.bring import Brought
    from ralphy.lanes.pool import Pool
    from ralphy.sandbox.proxy import AllowProxy, Host

_MOST_PRDS = 8  # of the feature that is worked on: the tip's, the base's, and some on the way


@dataclass
class Checkout:
    """`reported` are the messages that are given once for all features, `proxies` the ways out of closed sandboxes.
    `prds` has the last prd.json files by their blob (`keep_prd`), `merged` whether the work of one commit is in
    another: neither ever changes. `read` has the last version (blob id) that was read of a document, with the file's
    signature: a progress.txt of years is not read again at each look."""

    repository: Repository
    objects: Objects
    refs: RefMover
    awake: KeepAwake
    reported: set[str] = field(default_factory=set)
    proxies: dict[frozenset[Host], AllowProxy] = field(default_factory=dict)
    prds: dict[str, Prd | None] = field(default_factory=dict)
    merged: dict[tuple[str, str], bool] = field(default_factory=dict)
    read: dict[Path, tuple[tuple[int, ...], str]] = field(default_factory=dict)
    _ancestors: dict[tuple[str, str], bool] = field(default_factory=dict)
    lanes: Pool | None = None
    brought: tuple[Brought, ...] | None = None

    @classmethod
    def of(cls, repository: Repository) -> Checkout:
        awake = KeepAwake(repository.env, str(repository.root))
        return cls(repository, Objects(repository), RefMover(repository), awake)

    def close(self) -> None:
        """End the processes that were kept."""
        self.repository.reader.close()
        self.awake.close()
        for proxy in self.proxies.values():
            proxy.close()
        self.proxies.clear()
        if self.lanes:
            self.lanes.close()

    def keep_prd(self, oid: str, prd: Prd | None) -> Prd | None:
        """Know what a prd.json says, in place of the oldest known one: each story that lands makes another."""
        self.prds[oid] = prd
        while len(self.prds) > _MOST_PRDS:
            del self.prds[next(iter(self.prds))]
        return prd

    def has_ancestor(self, commit: str, of: str) -> bool:
        """Can `commit` be reached from `of`? Git is asked once."""
        if (commit, of) not in self._ancestors:
            self._ancestors[(commit, of)] = is_ancestor(self.repository, commit, of)
        return self._ancestors[(commit, of)]

    @cached_property
    def hooks_folder(self) -> Path:
        """Where git looks for hooks, as it was configured before any agent worked."""
        # the last value is the one by which Ralphy's own calls run no hooks
        rows = self._settings("--type=path", "-z", "--get-all", "core.hooksPath")[:-1]
        return self.repository.root / rows[-1] if rows and rows[-1] else self.repository.common_dir / "hooks"

    @cached_property
    def _named_ignore_file(self) -> Path | None:
        rows = self._settings("--type=path", "-z", "core.excludesFile")
        return Path(rows[0]) if rows and rows[0] else None

    @property
    def ignore_file(self) -> Path | None:
        """The person's own file of what Git ignores, if it is named in the settings and there."""
        path = self._named_ignore_file
        return path if path and path.is_file() else None

    @cached_property
    def push_addresses(self) -> tuple[str, ...]:
        """The addresses of the repository's remotes, as they were configured before any agent worked."""
        rows = self._settings("-z", "--get-regexp", r"^remote\..*\.(push)?url$")
        return tuple(dict.fromkeys(row.partition("\n")[2] for row in rows))

    def _settings(self, *words: str) -> list[str]:
        """The rows that `git config` gives, ended by NUL; none if there are none."""
        try:
            return os.fsdecode(self.repository.run("config", *words)).split("\0")[:-1]
        except git.GitError:
            return []

    @cached_property
    def signs_commits(self) -> bool:
        """Does the person have Git sign commits, as it was configured before any agent worked?"""
        return signing.signs_commits(self.repository)

    @cached_property
    def identity(self) -> str:
        """`Name <address>` as git knows the user."""
        return git.identity_of(self.repository)
