"""Ten further attempts at the sandbox; the table at the end of docs/security.md says what each one tries."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest

from ralphy.sandbox.proxy import AllowProxy
from tests.sandbox.inside import CLOSED_ERRORS, Box, Boxes, on_known_machine

RENAMEAT2 = {"x86_64": 316, "aarch64": 276}.get(platform.machine(), 0)
# chmod by the 32-bit way into the kernel, whose numbers are others: 15 is chmod there.
INT_80 = """
import ctypes, mmap, os, struct
page = mmap.mmap(-1, 4096, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40, 7)
at = ctypes.addressof(ctypes.c_char.from_buffer(page))
page[512:514] = b"x\\0"
code = struct.pack("<HIBIBI", 0xB853, 15, 0xBB, at + 512, 0xB9, 0o4755)
page[0:len(code) + 4] = code + b"\\xcd\\x80\\x5b\\xc3"
print(ctypes.CFUNCTYPE(ctypes.c_int)(at)())
"""


@pytest.mark.attempt(63)
def test_the_socket_of_the_proxy_cannot_be_replaced_or_talked_round(boxes: Boxes) -> None:
    proxy = AllowProxy([("127.0.0.1", 9)], "a test")
    found = boxes("closed", proxy=proxy.folder).tries(
        gone="os.unlink('/run/ralphy/proxy')", new="put('/run/ralphy/x')", moved="os.rename('/run/ralphy', '/run/x')",
        direct="(lambda s: (s.connect('/run/ralphy/proxy'), s.sendall(b'CONNECT 127.0.0.1:22 HTTP/1.1\\r\\n\\r\\n'),"
        " s.recv(12))[2].decode())(socket.socket(socket.AF_UNIX))",
    )  # fmt: skip
    proxy.close()
    assert found.pop("direct") == "HTTP/1.1 403"
    assert set(found.values()) <= CLOSED_ERRORS, found


@pytest.mark.attempt(64, 66, 69, 71)
def test_no_way_leads_up_and_out_or_to_a_terminal_or_to_priority_over_the_machine(
    closed: Box, private_home: Path
) -> None:
    """By way of the sandbox's own first process, and by climbing from the current folder."""
    (private_home / "diary.txt").write_text("CANARY")
    found = closed.tries(
        root=f"open('/proc/1/root{private_home}/diary.txt').read()",
        cwd=f"open('/proc/1/cwd/../../../../../..{private_home}/diary.txt').read()",
        climb=f"[os.chdir('..') for _ in range(40)] and open('.{private_home}/diary.txt').read()",
        chroot="os.chroot('docs')", old="os.listdir('/oldroot')", new="os.listdir('/newroot')",
    )  # fmt: skip
    assert set(found.values()) <= CLOSED_ERRORS, found
    found = closed.tries(tty="open('/dev/tty')", typed="fcntl.ioctl(0, 0x5412, b'x')",
                         console="open('/dev/console', 'w')",
                         session="os.getsid(0) == os.getsid(os.getppid()) or os.getsid(0) > 0")  # fmt: skip
    assert found["session"] is True
    assert {found["tty"], found["typed"]} <= {"ENXIO", "ENOTTY", "EPERM", "ENOENT", "EIO"}, found
    assert found["console"] != "opened"
    found = closed.tries(
        nice="os.nice(-5)", realtime="os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))",
        oom="put('/proc/self/oom_score_adj', b'-1000')", clock="__import__('time').clock_settime(0, 0)",
    )  # fmt: skip
    assert set(found.values()) <= {"EPERM", "EACCES"}, found


@pytest.mark.attempt(65)
def test_no_descriptor_of_ralphys_is_inherited(either: Box) -> None:
    found = either.tries(
        own="sorted(os.listdir('/proc/self/fd'))",
        first="sorted({attempt(\"os.readlink('/proc/1/fd/%s')\" % n).split(':')[0] for n in os.listdir('/proc/1/fd')})",
    )
    assert found["own"] == ["0", "1", "2", "3"]  # the fourth is the listing's own
    assert set(found["first"]) <= {"pipe", "/dev/null", "anon_inode", "ENOENT", "EACCES"}, found


@pytest.mark.attempt(67)
@on_known_machine()
def test_no_exchange_of_names_replaces_what_is_kept(either: Box) -> None:
    (either.tree / "mine").mkdir()
    swap = "call({}, -100, b'mine', -100, b'{}', 2)"
    names = (".claude", ".ralphy", "docs/features", "docs", ".git")
    found = either.tries({name: swap.format(RENAMEAT2, name) for name in names})
    assert set(found.values()) <= CLOSED_ERRORS, found


@pytest.mark.attempt(68)
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the 32-bit way in is that of x86")
def test_the_filter_holds_for_32_bit_system_calls(either: Box) -> None:
    (either.tree / "x").write_text("")
    code, said = either.runs("python3", "-I", "-S", "-c", INT_80)
    assert code != 0 or int(said) < 0, said  # without 32-bit support the program dies
    assert (either.tree / "x").stat().st_mode & 0o6000 == 0


@pytest.mark.attempt(70)
def test_no_signal_reaches_what_runs_outside(either: Box) -> None:
    with subprocess.Popen(["sleep", "60"]) as outside:
        either.runs("python3", "-c", "import os; os.kill(-1, 9)")
        known = either.tries(there=f"os.kill({outside.pid}, 0)" if outside.pid > 50 else "'ESRCH'")
        assert outside.poll() is None
        outside.kill()
    assert known == {"there": "ESRCH"}


@pytest.mark.attempt(72)
@on_known_machine()
def test_the_newer_calls_for_mounts_and_processes_are_no_way_round(closed: Box) -> None:
    found = closed.tries(
        open_tree="call(428, -100, b'/usr', 1)", fsopen="call(430, b'tmpfs', 0)", move="call(429, -1, b'', -1, b'', 4)",
        setattr="call(442, -100, b'.ralphy', 0, (ctypes.c_uint64 * 4)(0, 1, 0, 0), 32)", setns="call(308, 0, 0)"
        if platform.machine() == "x86_64" else "call(268, 0, 0)",
    )  # fmt: skip
    assert set(found.values()) <= {"EPERM", "ENOSYS", "EINVAL", "EBADF"}, found
    assert closed.tries(still="put('.ralphy/config.yaml')") == {"still": "EROFS"}
