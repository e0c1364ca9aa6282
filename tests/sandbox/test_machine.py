"""What a program in the sandbox can reach of the machine: files, processes, networks, the kernel."""

from __future__ import annotations

import ctypes
import os
import socket
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from ralphy.sandbox.machine import Machine, Mount
from tests.sandbox.inside import CLOSED_ERRORS, Box, Boxes, as_root, on_known_machine

KEYCTL = {"x86_64": (248, 250), "aarch64": (217, 219)}.get(os.uname().machine, (0, 0))
SETUID = {
    "chmod": "os.chmod('x', 0o4755)",
    "fchmod": "os.fchmod(os.open('x', os.O_RDWR), 0o4755)",
    "at": "os.chmod('x', 0o4755, dir_fd=os.open('.', os.O_RDONLY))",
    "fchmodat2": "call(452, -100, b'x', 0o4755, 0)",
    "create": "os.open('y', os.O_CREAT | os.O_WRONLY, 0o4755)",
    "creat": "libc.creat(b'z', 0o4755)",
    "mknod": "os.mknod('w', 0o104755)",
    "openat2": "call(437, -100, b'v', (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_RDWR, 0o4755, 0), 24)",
    "setgid": "os.chmod('x', 0o2755)",
    "program": "said('chmod', 'u+s', 'x')[0]",
    "io_uring": "call(425, 8, (ctypes.c_char * 120)())",
}


def setuid_below(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob("*") if not path.is_symlink() and path.stat().st_mode & 0o6000]


@pytest.mark.attempt(1)
def test_the_persons_files_are_not_there(closed: Box, private_home: Path) -> None:
    (private_home / ".ssh").mkdir()
    (private_home / ".ssh" / "id").write_text("CANARY")
    found = closed.tries(
        ssh=f"open('{private_home}/.ssh/id').read()", gh=f"os.listdir('{private_home}')",
        root="os.listdir(os.path.expanduser('~root/.ssh'))",
        shadow="open('/etc/shadow').read()", neighbours=f"os.listdir('{closed.root.parent}')",
        proc="open(f'/proc/1/root{pathlib.Path.home()}/../../etc/shadow').read()",
    )  # fmt: skip
    assert found.pop("neighbours") == [closed.root.name]
    assert set(found.values()) <= CLOSED_ERRORS, found


@pytest.mark.attempt(2, 3)
def test_no_environment_but_its_own_can_be_read(either: Box) -> None:
    """The allow-list of variables has tests of its own; other processes are in another table."""
    marker = {**os.environ, "CANARY_TOKEN": "1"}
    with subprocess.Popen(["sleep", "60"], env={**os.environ, "OUTSIDE_TOKEN": "1"}) as outside:
        found = either.tries(
            env=marker, all="sorted({line.split('=')[0] for path in glob.glob('/proc/[0-9]*/environ')"
            " for line in attempt('open(%r, errors=\"replace\").read()' % path).split(chr(0)) if 'TOKEN' in line})",
        )  # fmt: skip
        outside.kill()
    assert found["all"] in (["CANARY_TOKEN"], [])


@pytest.mark.attempt(4, 6)
def test_no_network_is_there_but_its_own_and_sockets_of_the_host_are_out_of_reach(closed: Box, tmp_path: Path) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as named,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        named.bind(str(tmp_path / "outside.sock"))
        abstract.bind(f"\0ralphy-test-{os.getpid()}")
        for one in (named, abstract):
            one.listen()
        found = closed.tries(
            tcp=f"connect(socket.AF_INET, ('127.0.0.1', {server.getsockname()[1]}))",
            udp="socket.socket(type=socket.SOCK_DGRAM).connect(('192.0.2.1', 53))",
            name="resolves('example.org')", raw="socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
            named=f"connect(socket.AF_UNIX, '{tmp_path}/outside.sock')",
            abstract=f"connect(socket.AF_UNIX, chr(0) + 'ralphy-test-{os.getpid()}')",
        )  # fmt: skip
    assert found["tcp"] == "ECONNREFUSED"
    assert found["udp"] == "ENETUNREACH"
    assert found["name"] is False, found
    assert found["raw"] in ("EPERM", "EAFNOSUPPORT")
    assert (found["named"], found["abstract"]) == ("ENOENT", "ECONNREFUSED")


@pytest.mark.attempt(8)
@on_known_machine()
def test_no_socket_of_a_family_that_a_namespace_does_not_confine(closed: Box) -> None:
    """A hypervisor answers AF_VSOCK. The socket is not even made, and nothing is connected to."""
    found = closed.tries(
        vsock="socket.socket(40, socket.SOCK_STREAM)", pair="socket.socketpair(40)", alg="socket.socket(38, 5)",
        bluetooth="socket.socket(31, 1)", unix="bool(socket.socket(socket.AF_UNIX))",
        inet6="bool(socket.socket(socket.AF_INET6))", netlink="bool(socket.socket(socket.AF_NETLINK, 3))",
    )  # fmt: skip
    assert {found[name] for name in ("vsock", "pair", "alg", "bluetooth")} == {"EAFNOSUPPORT"}, found
    assert found["unix"] is found["inet6"] is found["netlink"] is True


@pytest.mark.attempt(9)
def test_the_kernel_gives_it_no_power(closed: Box) -> None:
    found = closed.tries(
        userns="said('unshare', '-Ur', 'true')[0]", mount="said('mount', '-t', 'tmpfs', 'x', '/tmp')[0]",
        umount="said('umount', '-l', os.getcwd())[0]",
        memory="open('/dev/mem', 'rb')", disk="open('/dev/vda', 'rb')", kcore="open('/proc/kcore', 'rb').read(1)",
        sysrq="put('/proc/sysrq-trigger', b'')", module="said('modprobe', 'dummy')[0]",
        power="[line.split()[1] for line in open('/proc/self/status') if line[:6] in ('CapEff', 'CapPrm', 'CapBnd')]",
        stuck="[line.split()[1] for line in open('/proc/self/status') if line[:8] == 'NoNewPri']",
        uid="os.getuid()", host="os.uname().nodename",
    )  # fmt: skip
    assert found["power"] == ["0000000000000000"] * 3
    assert found["stuck"][0] == "1"
    assert found["uid"] != 0
    assert found["host"] == "ralphy"
    assert all(found[name] != 0 for name in ("userns", "mount", "umount", "module")), found
    assert {found[name] for name in ("memory", "disk", "kcore", "sysrq")} <= CLOSED_ERRORS, found


@pytest.mark.attempt(10)
@as_root()
def test_the_kernels_settings_are_read_only_for_root_too(either: Box) -> None:
    """Nothing is written: the file is opened, or not."""
    every = "sum(isinstance(attempt('os.close(os.open(%r, os.O_WRONLY))' % path), type(None))" \
            " for path in glob.glob('/proc/sys/**/*', recursive=True) if os.path.isfile(path))"  # fmt: skip
    found = either.tries(core="os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY)", every=every,
                         read="bool(open('/proc/sys/kernel/ostype').read())")  # fmt: skip
    assert found == {"core": "EROFS", "every": 0, "read": True}


@pytest.mark.attempt(11)
@on_known_machine()
def test_the_keyrings_of_the_user_are_out_of_reach(closed: Box) -> None:
    add, keyctl = KEYCTL
    found = closed.tries(
        add=f"call({add}, b'user', b'x', b'y', 1, -3)", read=f"call({keyctl}, 11, -3, 0, 0)",
        join=f"call({keyctl}, 1, None)", link=f"call({keyctl}, 8, -4, -3)",
    )  # fmt: skip
    assert set(found.values()) == {"ENOSYS"}


@pytest.mark.attempt(11)
@on_known_machine()
def test_a_supervised_program_has_a_session_keyring_of_its_own(private_home: Path) -> None:
    """Whatever the level: the key of the shell that Ralphy was started from is not found."""
    add, keyctl = KEYCTL
    libc = ctypes.CDLL(None, use_errno=True)
    shell = f"""
import ctypes, sys
libc = ctypes.CDLL(None)
if libc.syscall({keyctl}, 1, None) < 0 or libc.syscall({add}, b"user", b"canary", b"SECRET", 6, -3) < 0:
    sys.exit(77)
from ralphy.processes.command import Command
from ralphy.processes.capture import capture
import os
look = "import ctypes; print(ctypes.CDLL(None).syscall({keyctl}, 10, -3, b'user', b'canary', 0) >= 0)"
print(capture(Command((sys.executable, "-c", look), "/", dict(os.environ), 30.0))[1].decode())
"""
    done = subprocess.run([sys.executable, "-c", shell], capture_output=True, encoding="utf-8", check=False)
    if done.returncode == 77:
        pytest.skip("this kernel gives no keyrings")
    assert done.stdout.strip() == "False", done.stderr
    assert libc is not None


@pytest.mark.attempt(42)
@on_known_machine()
def test_no_setuid_file_can_be_made(either: Box) -> None:
    (either.tree / "x").write_text("#!/bin/sh\nid\n")
    found = either.tries(SETUID)
    assert {found[name] for name in ("chmod", "fchmod", "at", "create", "mknod", "setgid")} == {"EPERM"}, found
    assert found["creat"] == -1
    assert found["program"] == 1
    assert {found["openat2"], found["io_uring"], found["fchmodat2"]} <= {"ENOSYS", "EPERM"}
    assert setuid_below(either.tree) == []


@pytest.mark.attempt(42)
def test_ordinary_modes_and_programs_work_on(either: Box) -> None:
    """The filter costs honest programs nothing: the languages' own tools, Git, a compiler, where they are installed."""
    script = (
        "set -e; umask 022; echo 'int main(void){return 0;}' > t.c; if command -v cc; then cc t.c -o t && ./t; fi;"
        " chmod 755 t.c; chmod +t . ; chmod -t .; mkdir -m 1777 d; cp -a t.c d/; tar cf t.tar d; tar xf t.tar;"
        " git status --short >/dev/null; if command -v node; then node -e \"require('fs').writeFileSync('n','')\"; fi;"
        " python3 -c 'import tempfile, multiprocessing as m;"
        " m.Lock(); tempfile.mkdtemp()' ; stat -c %a d"
    )
    code, words = either.runs("sh", "-c", script)
    assert (code, words.split()[-1][:2]) == (0, "17"), words


@pytest.mark.attempt(42)
def test_where_folders_pass_their_group_on_their_copies_may_carry_the_bit(boxes: Boxes) -> None:
    boxes.repo.chmod(0o2755)
    found = boxes("open").tries(group="os.mkdir('a') or os.chmod('a', 0o2755)", user="os.chmod('a', 0o4755)")
    assert found == {"group": None, "user": "EPERM"}


def test_a_cache_that_a_variable_moves_below_tmp_is_ralphys_own(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with TemporaryDirectory(dir="/tmp") as moved:
        mounts = Machine({"HOME": str(home), "XDG_CACHE_HOME": moved}, tmp_path / "caches").mounts()
        assert mounts[Path(moved)] == Mount(tmp_path / "caches" / ".cache", is_writable=True)
