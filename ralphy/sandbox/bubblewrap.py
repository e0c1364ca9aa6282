"""The sandbox: bubblewrap's command line around a program, and whether it works here.

Two kinds. The *open* one shows the machine read-only (`machine.py` has its list of mounts), with the network. The
*closed* one shows a bare system, an empty home and a project; its only network is a proxy.
`ralphy/lanes/lane_sandbox.py` has what either shows of a repository.

Folders are bound rather than files: a file that is replaced from outside comes loose from its bind. A folder above a
bind is bound to itself, so that it cannot be moved away with what is read-only in it.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ralphy.files.memory_file import sealed
from ralphy.processes import program_paths
from ralphy.processes.bounded import run_bounded
from ralphy.processes.command import FILTER_AT, Command, NotStarted
from ralphy.sandbox.machine import Machine, Mounts, options, outside_of, own_devices
from ralphy.sandbox.syscall_filter import syscall_filter

FORWARD = Path(__file__).with_name("forward.py")
INSTALL = "install bubblewrap (apt install bubblewrap, dnf install bubblewrap)"
ALLOW = "allow user namespaces (sysctl kernel.apparmor_restrict_unprivileged_userns=0, or a profile for bwrap)"
_PROBE_S = 10.0
_HOLD = ("--die-with-parent", "--unshare-pid", "--unshare-ipc", "--new-session", "--cap-drop", "ALL")
_CLOSED = ("--unshare-user", "--unshare-uts", "--unshare-cgroup-try", "--unshare-net", "--hostname", "ralphy")
_ETC = ("ssl", "pki", "ca-certificates", "ca-certificates.conf", "alternatives", "passwd", "group", "nsswitch.conf",
        "hosts", "resolv.conf", "localtime", "ld.so.cache", "ld.so.conf", "ld.so.conf.d", "mime.types")  # fmt: skip
HOME = "/home/agent"
_TMP_BYTES, _HOME_BYTES = str(1 << 28), str(1 << 30)
_UNSET = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "TMPDIR",
          "NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy",
          "CLAUDE_CONFIG_DIR", "SSH_AUTH_SOCK")  # fmt: skip
_SET = {"HOME": HOME, "IS_SANDBOX": "1", "GIT_OPTIONAL_LOCKS": "0"}
_PROXY_AT, _PROXY_PORT = "/run/ralphy", "3128"
_PROXY = dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), f"http://127.0.0.1:{_PROXY_PORT}")
_MISSING = ("bubblewrap is not installed", INSTALL)
_NO_LINUX = ("bubblewrap does not exist for this system", "run Ralphy on Linux (in a virtual machine, for example)")
# Claude Code's settings and servers, Ralphy's settings and prompts: no run may change them.
CONTROL = (".ralphy", ".claude", ".mcp.json")


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The words in front of a command line: bubblewrap with its options, and the program's `starter` inside, if any.

    Commands start in `root`, from which a relative path of their program leads as well. `last` are options after all
    binds; `filter` is the filter of system calls. `outside` maps a path inside to the path outside.
    """

    prefix: tuple[str, ...]
    starter: tuple[str, ...] = ()
    root: Path = Path("/")
    last: tuple[str, ...] = ()
    filter: bytes = b""
    outside: Callable[[Path], Path] = Path

    def around(
        self, argv: Sequence[str], env: Mapping[str, str], shared: str = "", filter_at: int = FILTER_AT
    ) -> tuple[str, ...]:
        """The command line of a program inside. It may write to the folder `shared`, and the filter must be readable at
        the descriptor `filter_at`. Raises NotStarted for a program that does not exist.
        """
        program = str(self._program(argv[0], env))
        bind = ("--bind", shared, shared) if shared else ()
        filtered = ("--seccomp", str(filter_at)) if self.filter else ()
        return (*self.prefix, *bind, *self.last, *filtered, "--", *self.starter, program, *argv[1:])

    def _program(self, name: str, env: Mapping[str, str]) -> Path:
        places = [self.root] if "/" in name else [self.root / at for at in _path(env)]
        for place in places:  # in the tree only the name counts: a link may lead anywhere
            at = Path(os.path.normpath(place / name))
            source = self.outside(at)
            if os.path.lexists(source) if source != at else program_at(str(at), self.root, {}):
                return at
        raise NotStarted(f"{name} cannot be started: not found", hint="is it installed, executable, and on PATH?")


def _path(env: Mapping[str, str]) -> list[str]:
    return [at for at in env.get("PATH", os.defpath).split(os.pathsep) if at]


def command_inside(
    sandbox: Sandbox | None, argv: Sequence[str], cwd: Path, env: Mapping[str, str], deadline_s: float, shared: str = ""
) -> Command:
    """The command of a program in a sandbox, if there is one; it may write to the folder `shared`."""
    if sandbox is None:
        return Command(tuple(argv), str(cwd), env, deadline_s)
    return Command(sandbox.around(argv, env, shared), str(cwd), env, deadline_s, filter=sandbox.filter)


def run_inside(
    sandbox: Sandbox, argv: Sequence[str], env: Mapping[str, str], *, timeout_s: float, cwd: str = ""
) -> subprocess.CompletedProcess[bytes]:
    """Run a program in the sandbox without a supervisor, as `run_bounded` does."""
    with sealed(sandbox.filter) as at:
        words = sandbox.around(argv, env, filter_at=at)
        return run_bounded(words, cwd=cwd or sandbox.root, env=env, timeout_s=timeout_s, pass_fds=(at,))


@dataclass(frozen=True, slots=True)
class View:
    """What a closed sandbox shows beside the system and the project. A path in a `writable` one has no mount of its
    own, for a link there may be an agent's. `links` are (link, target) for programs; `proxy` is the folder of the
    proxy's socket, None for no network; `settings` are the file of the agent's own settings and its path in the home.
    """

    readable: tuple[Path, ...]
    writable: tuple[Path, ...]
    links: tuple[tuple[Path, Path], ...]
    settings: tuple[Path, str] | None = None
    proxy: Path | None = None


def interpreter() -> str:
    """The Python that runs scripts beside Ralphy: the real one, which needs no virtual environment."""
    return os.path.realpath(sys.executable)


def program_at(name: str, root: Path, env: Mapping[str, str]) -> Path | None:
    """The file that is executed for this word of a command line in `root`; None if there is none."""
    places = env.get("PATH", os.defpath).split(os.pathsep)
    program = shutil.which(root / name if "/" in name else name, path=os.pathsep.join(str(root / at) for at in places))
    return Path(program).absolute() if program else None


def find(env: Mapping[str, str], root: Path | None = None) -> str | None:
    """The path of bubblewrap, outside of the checkout at `root`; None if there is none, as on any system but Linux."""
    return program_paths.find(program_paths.BWRAP, env, str(root or "")) if sys.platform == "linux" else None


def why_not(program: str | None) -> tuple[str, str]:
    """(why no sandbox works here with the program from `find`, what to do about it); ("", "") if one works."""
    if program is None:
        return _MISSING if sys.platform == "linux" else _NO_LINUX
    bare = Sandbox((program, *_HOLD, "--ro-bind", "/", "/", *own_devices()))
    try:
        tried = run_inside(bare, ["/bin/true"], os.environ, timeout_s=_PROBE_S, cwd="/")
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap cannot be started: {error}", INSTALL
    if not tried.returncode:
        return "", ""
    lines = tried.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"bubblewrap does not work here: {lines[-1][:300] if lines else f'exit {tried.returncode}'}", ALLOW


def open_around(
    program: str, root: Path, machine: Machine, mounts: Mounts, project: Sequence[str], last: Sequence[str] = ()
) -> Sandbox:
    """The open sandbox for a project at `root`: `mounts` of the machine, `project` the options that show the project,
    `last` options after all other binds."""
    unset = (word for variable in machine.unset() for word in ("--unsetenv", variable))
    return Sandbox((program, *_HOLD, *options(mounts), *unset, *project, "--chdir", str(root)), (), root,
                   (*last, "--remount-ro", "/dev"), call_filter(root, is_closed=False))  # fmt: skip


def closed_around(program: str, root: Path, view: View, project: Sequence[str], last: Sequence[str] = ()) -> Sandbox:
    """The closed sandbox for a project at `root`: a bare system and an empty home, `project` the options that show the
    project, `last` options after all other binds."""
    proxy = ("--ro-bind", str(view.proxy), _PROXY_AT) if view.proxy else ()
    return Sandbox(
        (program, *_HOLD, *_CLOSED, *_own_names(program), *_system(), *_surroundings(view), *project, *proxy,
         "--chdir", str(root)),
        _starter(view), root, (*last, "--remount-ro", "/dev", "--remount-ro", "/"),
        call_filter(root, is_closed=True),
    )  # fmt: skip


def call_filter(root: Path, *, is_closed: bool) -> bytes:
    """The filter of system calls. Where the folders of a repository pass their group on, copies may have that bit."""
    is_shared = bool(root.stat().st_mode & stat.S_ISGID)
    return syscall_filter(os.uname().machine, is_closed=is_closed, allows_setgid=is_shared)


def _own_names(program: str) -> Iterator[str]:
    """The agent's user inside, never root; and no further namespaces, where bubblewrap can forbid them."""
    if os.geteuid() == 0:
        yield from ("--uid", "1000", "--gid", "1000")
    usage = subprocess.run([program, "--help"], capture_output=True, timeout=_PROBE_S, check=False).stdout
    if b"--disable-userns" in usage:
        yield "--disable-userns"


def _system() -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/") / name
        if path.is_symlink():
            yield from ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield from ("--ro-bind", str(path), str(path))
    for name in _ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")


def _surroundings(view: View) -> Iterator[str]:
    """Devices, temporary folders, the home, what the view shows; a later option wins over an earlier one."""
    yield from (*own_devices(), "--size", _TMP_BYTES, "--tmpfs", "/tmp", "--size", _HOME_BYTES, "--tmpfs", HOME)  # noqa: S108
    for path in outside_of(view.writable, view.readable):
        yield from ("--ro-bind-try", str(path), str(path))
    for path in outside_of(view.writable, view.writable):
        yield from ("--bind-try", str(path), str(path))
    for name, target in view.links:
        yield from ("--symlink", str(target), str(name))
    if view.settings:
        file, inside = view.settings
        yield from ("--ro-bind", str(file), f"{HOME}/{inside}")
    for variable in _UNSET:
        yield from ("--unsetenv", variable)
    for variable, value in {**_SET, **(_PROXY if view.proxy else {})}.items():
        yield from ("--setenv", variable, value)


def _starter(view: View) -> tuple[str, ...]:
    if view.proxy is None:
        return ()
    return (interpreter(), "-I", "-S", str(FORWARD), f"{_PROXY_AT}/proxy", _PROXY_PORT, "--")
