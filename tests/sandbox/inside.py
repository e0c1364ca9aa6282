"""Programs in a lane, in a sandbox of either kind, without an engine: many attempts in one start."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ralphy.git.commands import discover
from ralphy.lanes.lane import Lane
from ralphy.lanes.lane_sandbox import Bind, LaneSandbox
from ralphy.lanes.pool import Pool
from ralphy.sandbox.bubblewrap import FORWARD, Sandbox, View, find, interpreter, run_inside
from ralphy.sandbox.machine import Machine

# Each attempt is an expression; what it gives is told, or the name of the error that it meets.
PROBE = """
import ctypes, errno, fcntl, glob, json, mmap, os, pathlib, shutil, socket, stat, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *words):
    got = libc.syscall(number, *words)
    return errno.errorcode[ctypes.get_errno()] if got < 0 else got
def put(path, data=b"HACK"):
    with open(path, "ab") as file:
        return file.write(data)
def said(*argv):
    done = subprocess.run(argv, capture_output=True, text=True)
    return done.returncode, (done.stdout + done.stderr).strip()[-300:]
def connect(family, address):
    with socket.socket(family) as it:
        it.settimeout(60)
        it.connect(address)
        return "connected"
def resolves(name):
    try:
        return bool(socket.getaddrinfo(name, 80))
    except socket.gaierror:
        return False
def attempt(code):
    try:
        return eval(code)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    except Exception as error:
        return type(error).__name__
print(json.dumps({name: attempt(code) for name, code in json.loads(sys.argv[1]).items()}, default=str))
"""
CLOSED_ERRORS = {"EROFS", "EACCES", "EPERM", "EBUSY", "EXDEV", "ENOENT", "ENOTDIR", "EISDIR", "EEXIST", "ENOSYS"}


@dataclass(frozen=True, slots=True)
class Box:
    """A sandbox around a lane of a small repository. `root` is the checkout; inside, the lane is seen in its place."""

    walls: LaneSandbox
    binds: tuple[Bind, ...]
    lane: Lane
    root: Path
    outbox: Path
    pool: Pool

    @property
    def sandbox(self) -> Sandbox:
        """As it is put up for a start: by what lies in the lane now."""
        return self.walls.around(self.lane.home, binds=self.binds)

    @property
    def tree(self) -> Path:
        """Where the files lie that programs inside see at `root`."""
        return self.lane.tree

    def tries(
        self, attempts: Mapping[str, str] | None = None, /, *, env: Mapping[str, str] = os.environ, **more: str
    ) -> dict[str, Any]:
        """What each attempt gave; all are made by one program."""
        argv = [interpreter(), "-I", "-S", "-c", PROBE, json.dumps({**(attempts or {}), **more})]
        done = run_inside(self.sandbox, argv, env, timeout_s=60, cwd=str(self.root))
        assert done.returncode == 0, done.stderr.decode()
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def runs(self, *argv: str, env: Mapping[str, str] = os.environ, timeout_s: float = 60) -> tuple[int, str]:
        """(exit code, what was printed) of a program."""
        done = run_inside(self.sandbox, argv, env, timeout_s=timeout_s, cwd=str(self.root))
        return done.returncode, (done.stdout + done.stderr).decode()


class Boxes:
    """Makes sandboxes around lanes of a repository with one feature, as Ralphy lays it out. `close` lets go of them."""

    def __init__(self, repo: Path, folder: Path) -> None:
        self.repo, self._folder = repo, folder
        self._pools: dict[tuple[Path, str], Pool] = {}
        feature = repo / "docs" / "features" / "login"
        self.outbox = feature / ".ralphy" / "outbox" / "run"
        for path in (self.outbox, repo / ".ralphy", repo / ".git" / "ralphy"):
            path.mkdir(parents=True, exist_ok=True)
        for file in (feature / "prd.json", feature / "SPEC.md", repo / ".ralphy" / "config.yaml",
                     repo / ".git" / "ralphy" / "journal.jsonl"):  # fmt: skip
            file.write_text("{}")

    def __call__(
        self, kind: str, *, repo: Path | None = None, readable: Sequence[Path] = (), writable: Sequence[Path] = (),
        proxy: Path | None = None, binds: Sequence[Bind] = (), machine: Machine | None = None,
        slot: int = 1,
    ) -> Box:  # fmt: skip
        """The open or the closed sandbox around the lane of an agent, which holds what is committed."""
        repo = repo or self.repo
        repository, level = discover(repo), "moderate" if kind == "open" else "strict"
        if (repo, level) not in self._pools:
            found = Pool(repository, self._folder, find(os.environ), level, control=("docs/features",))
            self._pools[repo, level] = found
        pool = self._pools[repo, level]
        lane = pool.agent(slot)
        lane.lay_out(repository.text("rev-parse", "HEAD^{tree}"), repository.text("rev-parse", "HEAD"), "main")
        settings = self._folder / "settings.json"
        settings.write_text("{}")
        own = (Path(sys.base_prefix), FORWARD.parent, *readable)
        view = View(own, tuple(writable), (), (settings, ".claude/settings.json"), proxy) if kind == "closed" else None
        walls = pool.sandbox(view, machine)
        assert walls
        outbox = [Bind(self.outbox, self.outbox, is_writable=True)] if repo == self.repo else []
        return Box(walls, (*outbox, *binds), lane, repo, self.outbox, pool)

    @property
    def caches(self) -> Path:
        """Where Ralphy's own caches for this repository lie."""
        return Pool(discover(self.repo), self._folder, None, "moderate").caches

    def close(self) -> None:
        """Give the lanes back."""
        for pool in self._pools.values():
            pool.close()


def everything_in(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Path -> (mode, bytes or where a link leads) of all that lies below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        data = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (mode, data)
    return found


def as_root() -> pytest.MarkDecorator:
    return pytest.mark.skipif(os.geteuid() != 0, reason="only root's user id passes the kernel's check here")


def on_known_machine() -> pytest.MarkDecorator:
    known = os.uname().machine in ("x86_64", "aarch64")
    return pytest.mark.skipif(not known, reason="there is no filter of system calls for this machine")
