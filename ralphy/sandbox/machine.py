"""The machine as the sandbox of `moderate` shows it: one list of mounts.

Everything is read-only and the network is open. Secrets of the person are hidden, `/tmp` and `/run` are new, and
Ralphy's own caches cover those of tools: no program of the person's ever runs what an agent leaves in them. The folder
of the agent's program is new as well, with the login and, read-only, the person's settings.

Bubblewrap fails if a mount point is missing on the read-only machine, or if a link leads nowhere. So links are resolved
here first, and mount points that are missing are made or left out.
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
_WHERE = ("PWD", "OLDPWD")  # the folders where Ralphy was called
_OWN = (Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2])  # Ralphy's Python, and where it lies itself
# Of /run, only the name servers and NixOS's programs: it has the sockets of the machine's daemons.
_RUN = ("systemd/resolve", "resolvconf", "NetworkManager", "nscd", "current-system")
_CACHE_LOCK = ".cargo/.package-cache"  # a file; without it two lanes break each other's builds
# The caches of tools -> the program that tells whether the person uses the tool ("": no matter).
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
# Caches that have programs: each of their entries is shown in Ralphy's own cache, read-only.
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
# They name sockets and files that the sandbox hides.
_UNSET = ("SSH_AUTH_SOCK", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR", "TMPDIR")


@dataclass(frozen=True, slots=True)
class AgentFolder:
    """The folder of an agent's program, with its settings, login and state: new in the sandbox, with the person's
    entries in it read-only, except those in `state`. `writable` are paths in it that are shared with the person."""

    path: Path
    state: frozenset[str]
    writable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mount:
    """What the sandbox shows at a path: the path `source`, or a new empty folder of at most so many `bytes`."""

    source: Path | None = None
    is_writable: bool = False
    bytes: int = COVER_BYTES


Mounts = Mapping[Path, Mount]


@dataclass(frozen=True, slots=True)
class Machine:
    """The person's machine, known by their environment, and what the sandbox shows of it.

    `caches` is the folder of Ralphy's own caches. `readable` paths are shown although they would be hidden, `writable`
    ones can be written. A path in a `writable` one has no mount of its own, for a link there may be an agent's.
    """

    env: Mapping[str, str]
    caches: Path
    agent: AgentFolder | None = None
    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()

    def mounts(self) -> Mounts:
        """Path -> mount, outer paths before inner ones. Makes missing folders of Ralphy's own, and mount points."""
        wanted, hidden = _machine(), self._hidden()
        wanted |= {home: Mount(home) for home in self._homes if not shows(wanted, home)}
        caches = self._caches()
        wanted |= caches | hidden
        if self.agent:
            wanted |= _agent_folder(self.agent)
        of_tmp = (at for at in self._of_tmp() if at.resolve() not in caches)
        wanted |= {at: Mount(at) for at in _real(outside_of(self.writable, (*of_tmp, *self.readable)))}
        wanted |= {at: Mount(at, is_writable=True) for at in _real(outside_of(self.writable, self.writable))}
        mounts = dict[Path, Mount]()
        for at, mount in sorted(wanted.items(), key=lambda one: len(one[0].parts)):
            if mount is not hidden.get(at) or shows(mounts, at):
                self._make_mount_point(mounts, at, mount)
                mounts[at] = mount
        return mounts

    def unset(self) -> Iterator[str]:
        """The variables to unset: they have no meaning inside."""
        yield from _UNSET
        yield from (name for name in self.env if name.startswith("DBUS_"))

    def _of_tmp(self) -> Iterator[Path]:
        """The paths of the machine's /tmp that programs need: Ralphy and its Python, those in variables, and the
        installations of programs on PATH."""
        yield from filter(is_temporary, _OWN)
        ignored = {*_WHERE, *self.unset()}
        for name, value in self.env.items():
            if name not in ignored:
                paths = filter(is_temporary, map(Path, value.split(os.pathsep)))
                yield from (_installation(at) for at in paths if at.is_dir() or at.is_file())

    @property
    def _homes(self) -> tuple[Path, ...]:
        """The person's home, and their home in the password database: some programs ask only that one."""
        with suppress(KeyError):
            return tuple(dict.fromkeys(_real((self._home, Path(pwd.getpwuid(os.getuid()).pw_dir)))))
        return tuple(_real((self._home,)))

    @property
    def _home(self) -> Path:
        return Path(self.env.get("HOME") or "/nonexistent")

    def _places(self, name: str) -> Iterator[Path]:
        """Where a path of the home may lie: a variable may move it."""
        yield from (home / name for home in self._homes)
        for variable, folder in _MOVED.items():
            moved = Path(self.env.get(variable, "").split(os.pathsep)[0])
            if moved.is_absolute() and (name == folder or name.startswith(f"{folder}/")):
                yield moved / name.removeprefix(folder).strip("/")

    def _caches(self) -> dict[Path, Mount]:
        mounts = dict[Path, Mount]()
        for name, program in _CACHES.items():
            for at in self._places(name):
                if not at.exists() and at.is_relative_to(self._home) and self._has(program):
                    _make(at, is_file=name == _CACHE_LOCK)
                for place in _real((at,)):
                    mounts[place] = Mount(self.caches / name, is_writable=True)
                    _make(self.caches / name, is_file=name == _CACHE_LOCK)
        for name in _PROGRAMS:
            mounts |= {folder / entry.name: Mount(entry) for folder in _real(self._places(name))
                       for entry in _entries(folder, _NO_PROGRAMS) if not entry.name.startswith(".")}  # fmt: skip
        return mounts

    def _has(self, program: str) -> bool:
        """Does the person use the tool, so that a folder for its cache may be made in their home?"""
        return not program or bool(shutil.which(program, path=self.env.get("PATH")))

    def _make_mount_point(self, mounts: Mounts, at: Path, mount: Mount) -> None:
        """Make a mount point in one of Ralphy's caches, where bubblewrap would follow a link that an agent left."""
        above = next((place for place in at.parents if place in mounts), None)
        own = mounts[above].source if above else None
        if above and own and own.is_relative_to(self.caches):
            is_file = bool(mount.source and not mount.source.is_dir())
            make_mount_point(own, at.relative_to(above), is_file=is_file, may_replace=True)

    def _hidden(self) -> dict[Path, Mount]:
        """New folders in the place of folders, an empty file in that of files: programs fail on a device there."""
        empty = self.caches / "empty"
        _make(empty, is_file=True)
        secrets = _real(place for name in SECRETS for place in self._places(name))
        return {at: Mount() if at.is_dir() else Mount(empty) for at in secrets}


def _machine() -> dict[Path, Mount]:
    new = {at: Mount(bytes=TMP_BYTES) for at in _real((_TMP,))}
    new |= {at: Mount() for at in _real((Path("/run"),))}
    of_run = {Path("/run", name): Mount(source) for name in _RUN for source in _real((Path("/run", name),))}
    return {Path("/"): Mount(Path("/")), **new, **of_run}


def is_temporary(path: Path) -> bool:
    """Does it lie below /tmp, where the sandbox has a folder of its own?"""
    return path != _TMP and path.is_relative_to(_TMP)


def _installation(folder: Path) -> Path:
    """The installation that a `bin` folder belongs to; for any other folder, itself."""
    above = folder.parent
    return above if folder.name == "bin" and is_temporary(above) and (above / "lib").is_dir() else folder


def _agent_folder(agent: AgentFolder) -> Mounts:
    with suppress(OSError):
        agent.path.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in _real((agent.path,)):
        settings = {folder / entry.name: Mount(entry) for entry in _entries(folder, agent.state)}
        writable = (folder / name for name in agent.writable)
        return {folder: Mount(bytes=TMP_BYTES), **settings,
                **{at: Mount(at.resolve(), is_writable=True) for at in writable if at.exists()}}  # fmt: skip
    return {}


def _make(path: Path, *, is_file: bool) -> None:
    """Make a folder or an empty file, if possible."""
    with suppress(OSError):
        (path.parent if is_file else path).mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_file:
            path.touch(mode=0o600)


def _entries(folder: Path, excluded: Iterable[str]) -> Iterator[Path]:
    """The files and folders in a folder, except for `excluded` names and links that lead nowhere."""
    with suppress(OSError):
        yield from (at for at in sorted(folder.iterdir()) if at.name not in excluded and (at.is_dir() or at.is_file()))


def outside_of(writable: Iterable[Path], paths: Iterable[Path]) -> Iterator[Path]:
    """Those of the `paths` that lie in none of the `writable` ones: no agent can have put a link on their way."""
    theirs = list(_real(writable))

    def is_in(path: Path) -> bool:
        return any(above.resolve().is_relative_to(at) for above in path.parents for at in theirs)

    return (path for path in paths if not is_in(path))


def _real(paths: Iterable[Path]) -> Iterator[Path]:
    """The paths that exist, with their links resolved."""
    for path in paths:
        with suppress(OSError, RuntimeError):
            yield path.resolve(strict=True)


def shows(mounts: Mounts, path: Path) -> bool:
    """Is the same file at a path inside as outside?"""
    nearest = next((at for at in (path, *path.parents) if at in mounts), path)
    return nearest not in mounts or mounts[nearest].source == nearest


def options(mounts: Mounts) -> Iterator[str]:
    """Bubblewrap's options for the mounts, with devices and a process table of the sandbox's own."""
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
    """Options for new devices, shared memory and a process table; in /proc/sys the kernel would let root write."""
    yield from ("--dev", "/dev", "--size", str(SHM_BYTES), "--tmpfs", "/dev/shm")  # noqa: S108 - one of its own
    yield from ("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys")
