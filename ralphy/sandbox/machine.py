"""The machine as the sandbox of `moderate` shows it: one list of mounts.

Everything is read-only and the network is open. Secrets of the person are hidden, `/tmp` and `/run` are new, and over
the caches of tools lie Ralphy's own: what an agent plants in those starts nothing of the person's. The folder of the
agent's program is new as well, with the person's settings in it, read-only, and the login.

Bubblewrap ends where a mount point is missing on the read-only machine, or where a link leads it to a place that is not
there: links are resolved here first, and what is missing is made or left out.
"""

from __future__ import annotations

import os
import pwd
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ralphy.sandbox.mount_points import make_mount_point

TMP_BYTES, COVER_BYTES, SHM_BYTES = 4 << 30, 1 << 20, 1 << 29
_TMP = Path("/tmp")  # noqa: S108 - the machine's
_WHERE = ("PWD", "OLDPWD")  # they name the place where Ralphy was called
_OWN = (Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2])  # Ralphy's Python, and where it lies itself
# Of a user's name servers and, on NixOS, of all programs; the sockets of the machine's daemons lie beside them.
_RUN = ("systemd/resolve", "resolvconf", "NetworkManager", "nscd", "current-system")
_CACHE_LOCK = ".cargo/.package-cache"  # a file; without it two lanes break each other's builds on an empty cache
# Folders of tools that keep what they download or build, and the program that shows that a tool is used here ("": any).
_CACHES = {
    ".cache": "",
    ".npm": "npm",
    ".cargo/registry": "cargo",
    ".cargo/git": "cargo",
    _CACHE_LOCK: "cargo",
    "go/pkg": "go",
    ".m2/repository": "mvn",
    ".gradle": "gradle",
    ".yarn/berry": "yarn",
    ".pnpm-store": "pnpm",
    ".local/share/pnpm": "pnpm",
    ".local/share/uv": "uv",
    ".bun/install/cache": "bun",
    ".nuget/packages": "dotnet",
}
# Programs that lie in these folders: each is shown in Ralphy's own, read-only.
_PROGRAMS = (".cache/ms-playwright", ".cache/puppeteer", ".local/share/uv/python", ".local/share/uv/tools",
             ".local/share/pnpm")  # fmt: skip
_NO_PROGRAMS = ("store",)
SECRETS = (
    ".ssh", ".aws", ".gnupg", ".azure", ".kube", ".config/gh", ".config/glab-cli", ".config/hub", ".config/gcloud",
    ".config/rclone", ".config/op", ".1password", ".password-store", ".local/share/keyrings", ".docker/config.json",
    ".netrc", ".git-credentials", ".config/git/credentials", ".cargo/credentials.toml", ".cargo/credentials", ".pypirc",
    ".pgpass", ".vault-token", ".terraform.d/credentials.tfrc.json", ".cache/huggingface/token", ".Xauthority",
    ".mozilla", ".thunderbird", ".config/google-chrome", ".config/chromium", ".config/BraveSoftware",
    ".config/microsoft-edge", "snap/firefox", ".var/app",
    ".bash_history", ".zsh_history", ".local/share/fish", ".python_history", ".node_repl_history", ".psql_history",
    ".mysql_history", ".lesshst",
)  # fmt: skip
# Variables that move a folder of the home elsewhere.
_MOVED = {"XDG_CACHE_HOME": ".cache", "XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share",
          "CARGO_HOME": ".cargo", "GOPATH": "go", "GRADLE_USER_HOME": ".gradle"}  # fmt: skip
# They lead to sockets and files that are not there.
_UNSET = ("SSH_AUTH_SOCK", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "TMPDIR")


@dataclass(frozen=True, slots=True)
class AgentFolder:
    """The folder in which an agent's program keeps its settings, its login and its state: new in the sandbox, with what
    the person has there read-only, but for the names in `state`. `writable` are paths in it that are the person's."""

    path: Path
    state: frozenset[str]
    writable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mount:
    """What is seen at a place: another (`source`), or a new empty folder of at most so many `bytes`."""

    source: Path | None = None
    is_writable: bool = False
    bytes: int = COVER_BYTES


Mounts = Mapping[Path, Mount]


@dataclass(frozen=True, slots=True)
class Machine:
    """Whose machine it is, by the variables of their environment, and what is shown of it.

    `caches` is where Ralphy's own caches lie. `readable` paths are shown although they would be hidden, `writable` ones
    can be written; what lies in one of those goes with it, for a link there may be an agent's.
    """

    env: Mapping[str, str]
    caches: Path
    agent: AgentFolder | None = None
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()

    def mounts(self) -> Mounts:
        """Where -> what, the outer before the inner: an inner one is seen in what lies above it. What is missing in
        Ralphy's own folders, and mount points for them, is made."""
        found, hidden = _machine(), self._hidden()
        found |= {home: Mount(home) for home in self._homes if not shows(found, home)}
        found |= self._caches() | hidden
        if self.agent:
            found |= _agents(self.agent)
        found |= {at: Mount(at) for at in _real(outside_of(self.writable, (*self._of_tmp(), *self.readable)))}
        found |= {at: Mount(at, is_writable=True) for at in _real(outside_of(self.writable, self.writable))}
        mounts = dict[Path, Mount]()
        for at, mount in sorted(found.items(), key=lambda one: len(one[0].parts)):
            if mount is not hidden.get(at) or shows(mounts, at):
                self._make_mount_point(mounts, at, mount)
                mounts[at] = mount
        return mounts

    def unset(self) -> Iterator[str]:
        """The variables that have no meaning inside."""
        yield from _UNSET
        yield from (name for name in self.env if name.startswith("DBUS_"))

    def _of_tmp(self) -> Iterator[Path]:
        """What is needed of the machine's /tmp: Ralphy and its Python, what variables that have a meaning inside name,
        and what belongs to programs of the PATH."""
        yield from filter(is_temporary, _OWN)
        unseen = {*_WHERE, *self.unset()}
        for name, value in self.env.items():
            if name not in unseen:
                named = filter(is_temporary, map(Path, value.split(os.pathsep)))
                yield from (_installation(at) for at in named if at.is_dir() or at.is_file())

    @property
    def _homes(self) -> tuple[Path, ...]:
        """The person's home, and the one that the machine knows them by: some programs ask only for that."""
        with suppress(KeyError):
            return tuple(dict.fromkeys(_real((self._home, Path(pwd.getpwuid(os.getuid()).pw_dir)))))
        return tuple(_real((self._home,)))

    @property
    def _home(self) -> Path:
        return Path(self.env.get("HOME") or "/nonexistent")

    def _places(self, name: str) -> Iterator[Path]:
        """Where a path of the home may lie."""
        yield from (home / name for home in self._homes)
        for variable, folder in _MOVED.items():
            moved = Path(self.env.get(variable, "").split(os.pathsep)[0])
            if moved.is_absolute() and (name == folder or name.startswith(f"{folder}/")):
                yield moved / name.removeprefix(folder).strip("/")

    def _caches(self) -> dict[Path, Mount]:
        found = dict[Path, Mount]()
        for name, program in _CACHES.items():
            for at in self._places(name):
                if not at.exists() and at.is_relative_to(self._home) and self._has(program):
                    _make(at, is_file=name == _CACHE_LOCK)
                for place in _real((at,)):
                    found[place] = Mount(self.caches / name, is_writable=True)
                    _make(self.caches / name, is_file=name == _CACHE_LOCK)
        for name in _PROGRAMS:
            found |= {folder / entry.name: Mount(entry) for folder in _real(self._places(name))
                      for entry in _entries(folder, _NO_PROGRAMS) if not entry.name.startswith(".")}  # fmt: skip
        return found

    def _has(self, program: str) -> bool:
        """Does the person use the tool, so that a place for its cache may be made in their home?"""
        return not program or bool(shutil.which(program, path=self.env.get("PATH")))

    def _make_mount_point(self, mounts: Mounts, at: Path, mount: Mount) -> None:
        """In one of Ralphy's caches, where an agent may have left a link that bubblewrap would follow."""
        above = next((place for place in at.parents if place in mounts), None)
        own = mounts[above].source if above else None
        if above and own and own.is_relative_to(self.caches):
            is_file = bool(mount.source and not mount.source.is_dir())
            make_mount_point(own, at.relative_to(above), is_file=is_file, may_replace=True)

    def _hidden(self) -> dict[Path, Mount]:
        """New folders in the place of folders, an empty file in that of files: programs fail on a device there."""
        empty = self.caches / "empty"
        _make(empty, is_file=True)
        found = _real(place for name in SECRETS for place in self._places(name))
        return {at: Mount() if at.is_dir() else Mount(empty) for at in found}


def _machine() -> dict[Path, Mount]:
    fresh = {at: Mount(bytes=TMP_BYTES) for at in _real((_TMP,))}
    fresh |= {at: Mount() for at in _real((Path("/run"),))}
    seen = {Path("/run", name): Mount(source) for name in _RUN for source in _real((Path("/run", name),))}
    return {Path("/"): Mount(Path("/")), **fresh, **seen}


def is_temporary(path: Path) -> bool:
    """Does it lie below /tmp, where the sandbox has a folder of its own?"""
    return path != _TMP and path.is_relative_to(_TMP)


def _installation(folder: Path) -> Path:
    """The installation to which a folder of programs belongs; else the folder."""
    above = folder.parent
    return above if folder.name == "bin" and is_temporary(above) and (above / "lib").is_dir() else folder


def _agents(agent: AgentFolder) -> Mounts:
    with suppress(OSError):
        agent.path.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in _real((agent.path,)):
        kept = {folder / entry.name: Mount(entry) for entry in _entries(folder, agent.state)}
        own = (folder / name for name in agent.writable)
        return {folder: Mount(bytes=TMP_BYTES), **kept,
                **{at: Mount(at.resolve(), is_writable=True) for at in own if at.exists()}}  # fmt: skip
    return {}


def _make(path: Path, *, is_file: bool) -> None:
    """Have a folder or an empty file; where that is not possible, none is shown."""
    with suppress(OSError):
        (path.parent if is_file else path).mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_file:
            path.touch(mode=0o600)


def _entries(folder: Path, but: Iterable[str]) -> Iterator[Path]:
    """The files and folders in a folder, but for some names; links that lead nowhere are left out."""
    with suppress(OSError):
        yield from (at for at in sorted(folder.iterdir()) if at.name not in but and (at.is_dir() or at.is_file()))


def outside_of(writable: Iterable[Path], paths: Iterable[Path]) -> Iterator[Path]:
    """The paths on whose way nothing can be written by an agent."""
    theirs = list(_real(writable))

    def is_in(path: Path) -> bool:
        return any(above.resolve().is_relative_to(at) for above in path.parents for at in theirs)

    return (path for path in paths if not is_in(path))


def _real(paths: Iterable[Path]) -> Iterator[Path]:
    """Those that are there, without links."""
    for path in paths:
        with suppress(OSError, RuntimeError):
            yield path.resolve(strict=True)


def shows(mounts: Mounts, path: Path) -> bool:
    """Is what lies at a path outside seen there inside?"""
    nearest = next((at for at in (path, *path.parents) if at in mounts), path)
    return nearest not in mounts or mounts[nearest].source == nearest


def options(mounts: Mounts) -> Iterator[str]:
    """Bubblewrap's options for them, with devices and processes of the sandbox's own."""
    for number, (at, mount) in enumerate(mounts.items()):
        if mount.source is None:
            yield from ("--size", str(mount.bytes), "--tmpfs", str(at))
        elif mount.is_writable:
            is_device = at.is_relative_to("/dev")
            yield from ("--dev-bind" if is_device else "--bind", str(mount.source), str(at))
        else:
            yield from ("--ro-bind", str(mount.source), str(at))
        if number == 0:
            yield from own_devices()


def own_devices() -> Iterator[str]:
    """Devices, shared memory and a process table; the kernel would let root write below /proc/sys."""
    yield from ("--dev", "/dev", "--size", str(SHM_BYTES), "--tmpfs", "/dev/shm")  # noqa: S108 - one of its own
    yield from ("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys")
