"""The sandbox: bubblewrap's command line around a program, and whether it works here.

Two kinds. The *open* one shows the machine as it is, in a process table of its own; what Ralphy and Git trust
(the feature folder, Git's configuration and hooks, Ralphy's state) is read-only in it. The *closed* one shows a
bare system, an empty home and the repository, in which all of `.git` is read-only; it has no network but a proxy.

Folders are bound, not files, wherever it can be: a file that is replaced from outside comes loose from its
bind. A folder above a bind is bound to itself, so that it cannot be moved away with what is read-only in it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PROGRAM = "bwrap"
INSTALL = "install bubblewrap (apt install bubblewrap, dnf install bubblewrap)"
ALLOW = "allow user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for bwrap)"
_PROBE_S = 10.0
_HOLD = ("--die-with-parent", "--unshare-pid")
# What root could take the walls down with. A user has no capability in here anyway.
_DROPPED = ("SYS_ADMIN", "SYS_MODULE", "SYS_PTRACE", "SYS_RAWIO", "SYS_BOOT", "MKNOD", "DAC_READ_SEARCH", "BPF",
            "PERFMON")  # fmt: skip
_FIXED = ("hooks", "info", "config", "config.worktree")  # what makes Git run programs, or hides files from it


@dataclass(frozen=True, slots=True)
class Place:
    """What the walls stand around. Paths are absolute and real; `outbox` is where the agent hands in."""

    root: Path
    git_dir: Path
    common_dir: Path
    state_dir: Path
    feature: Path
    outbox: Path


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A prefix for command lines."""

    prefix: tuple[str, ...]

    def around(self, argv: Sequence[str], env: Mapping[str, str]) -> tuple[str, ...]:
        """The command line inside; one whose program does not exist is left to fail by itself, and be named so."""
        found = shutil.which(argv[0], path=env.get("PATH")) if argv else None
        return (*self.prefix, "--", found, *argv[1:]) if found else tuple(argv)


def find(env: Mapping[str, str]) -> str | None:
    """Where bubblewrap is."""
    return shutil.which(PROGRAM, path=env.get("PATH"))


def bare_sandbox(program: str) -> Sandbox:
    """The machine as it is, in a process table of its own: what must work for any of them."""
    return Sandbox((program, *_HOLD, *_without_power(), "--dev-bind", "/", "/", "--proc", "/proc"))


def open_sandbox(program: str, place: Place) -> Sandbox:
    """The machine as it is; what is trusted is read-only."""
    return Sandbox((*bare_sandbox(program).prefix, *_trusted(place)))


def why_not(sandbox: Sandbox) -> tuple[str, str]:
    """(why it does not work here, what to do about it); ("", "") if it works."""
    try:
        tried = subprocess.run(
            [*sandbox.prefix, "--", "/bin/true"], capture_output=True, timeout=_PROBE_S, check=False, cwd="/"
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap cannot be started: {error}", INSTALL
    if not tried.returncode:
        return "", ""
    said = tried.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"bubblewrap does not work here: {said[-1][:300] if said else f'exit {tried.returncode}'}", ALLOW


def _without_power() -> Iterator[str]:
    if os.geteuid() == 0:
        for name in _DROPPED:
            yield from ("--cap-drop", f"CAP_{name}")


def _trusted(place: Place) -> Iterator[str]:
    """Read-only: Git's settings and hooks, Ralphy's state, the feature folder but for the outbox."""
    for folder in dict.fromkeys((place.common_dir, place.git_dir)):
        yield from ("--bind", str(folder), str(folder))
    for folder in dict.fromkeys((place.common_dir, place.git_dir)):
        for name in _FIXED:
            yield from _read_only(folder / name)
    yield from _read_only(place.state_dir)
    yield from _read_only(place.root / ".ralphy")
    yield from _kept_in_place(place.root, place.feature)
    yield from _read_only(place.feature)
    yield from ("--bind", str(place.outbox), str(place.outbox))


def _read_only(path: Path) -> Iterator[str]:
    yield from ("--ro-bind-try", str(path), str(path))


def _kept_in_place(root: Path, folder: Path) -> Iterator[str]:
    """The folders between the root and `folder`, the outermost first."""
    for above in reversed(folder.relative_to(root).parents[:-1]):
        yield from ("--bind", str(root / above), str(root / above))
