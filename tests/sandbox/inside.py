"""Programs inside a sandbox of either kind, without an engine: many attempts in one start."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ralphy.sandbox.bubblewrap import (
    FORWARD,
    Place,
    Sandbox,
    View,
    closed_sandbox,
    find,
    interpreter,
    open_sandbox,
    run_inside,
)

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
        it.settimeout(3)
        it.connect(address)
        return "connected"
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
    """A sandbox around a small repository."""

    sandbox: Sandbox
    place: Place

    @property
    def root(self) -> Path:
        return self.place.root

    def tries(
        self,
        attempts: Mapping[str, str] | None = None,
        /,
        *,
        env: Mapping[str, str] = os.environ,
        shared: str = "",
        **more: str,
    ) -> dict[str, Any]:
        """What each attempt gave; all are made by one program."""
        argv = [interpreter(), "-I", "-S", "-c", PROBE, json.dumps({**(attempts or {}), **more})]
        done = run_inside(self.sandbox, argv, env, timeout_s=60, cwd=str(self.root), shared=shared)
        assert done.returncode == 0, done.stderr.decode()
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def runs(self, *argv: str, env: Mapping[str, str] = os.environ) -> tuple[int, str]:
        """(exit code, what was printed) of a program."""
        done = run_inside(self.sandbox, argv, env, timeout_s=60, cwd=str(self.root))
        return done.returncode, (done.stdout + done.stderr).decode()


def place_in(repo: Path) -> Place:
    """A repository with one feature, as Ralphy lays it out."""
    feature = repo / "docs" / "features" / "login"
    for folder in (feature / ".ralphy" / "outbox" / "run", repo / ".ralphy", repo / ".git" / "ralphy"):
        folder.mkdir(parents=True, exist_ok=True)
    for file in (feature / "prd.json", feature / "SPEC.md", repo / ".ralphy" / "config.yaml",
                 repo / ".git" / "ralphy" / "journal.jsonl"):  # fmt: skip
        file.write_text("{}")
    git = repo / ".git"
    return Place(repo, git, git, git / "ralphy", feature, feature.parent)


def boxed(
    place: Place, kind: str, *, readable: Sequence[Path] = (), writable: Sequence[Path] = (), proxy: Path | None = None
) -> Box:
    """The open or the closed sandbox around it."""
    program = find(os.environ)
    assert program
    if kind == "open":
        return Box(open_sandbox(program, place), place)
    settings = place.state_dir / "settings.json"
    settings.write_text("{}")
    own = (Path(sys.base_prefix), FORWARD.parent, *readable)
    return Box(closed_sandbox(program, place, View(own, tuple(writable), (), settings, proxy)), place)


def as_root() -> pytest.MarkDecorator:
    return pytest.mark.skipif(os.geteuid() != 0, reason="only root's user id passes the kernel's check here")


def on_known_machine() -> pytest.MarkDecorator:
    known = os.uname().machine in ("x86_64", "aarch64")
    return pytest.mark.skipif(not known, reason="there is no filter of system calls for this machine")
