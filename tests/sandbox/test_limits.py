"""What a program in the sandbox can take of the machine: memory that no process shows, the disk, the time after it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ralphy.errors import ExitCode
from ralphy.files.disk_space import free_bytes
from ralphy.files.memory_file import sealed
from ralphy.processes.process_table import descendants
from ralphy.processes.resource_limits import MEGABYTE, RunLimits, exact_bytes
from ralphy.sandbox.bubblewrap import interpreter
from tests.engine.building import build, story
from tests.sandbox.inside import Box, Boxes

# Each takes 120 MB of memory and holds it, in no page of its own.
HOLDS = {
    "memfd": "held = os.memfd_create('x')\nfor _ in range(120): os.write(held, MB)",
    "shm": "held = open('/dev/shm/x', 'wb')\nfor _ in range(120): held.write(MB)\nheld.flush()",
    "deleted": "held = open('/dev/shm/x','wb');os.unlink(held.name)\nfor _ in range(120): held.write(MB)\nheld.flush()",
    "mapped": "held = mmap.mmap(-1, 120 << 20)\nfor at in range(0, 120 << 20, 4096): held[at] = 1",
}


@contextmanager
def holding(box: Box, code: str) -> Iterator[None]:
    """While a program inside has run this code."""
    program = f"import mmap, os, sys\nMB = bytes(1 << 20)\n{code}\nprint('there', flush=True)\nsys.stdin.read()"
    with sealed(box.sandbox.filter) as at:
        argv = box.sandbox.around([interpreter(), "-I", "-S", "-c", program], os.environ, filter_at=at)
        with subprocess.Popen(argv, pass_fds=(at,), stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout and process.stdout.readline() == b"there\n"
            yield
            process.communicate()


@pytest.mark.attempt(44)
@pytest.mark.parametrize("how", HOLDS)
def test_memory_that_no_process_shows_is_counted(either: Box, how: str) -> None:
    before = exact_bytes(descendants(os.getpid()))
    looks = RunLimits(max_memory_mb=int(before / MEGABYTE) + 90)
    assert looks.why_over(os.getpid(), 0.0) is None
    with holding(either, HOLDS[how]):
        over = looks.why_over(os.getpid(), 10.0)
    assert over == "memory", looks.why
    assert exact_bytes(descendants(os.getpid())) < before + 60 * MEGABYTE


@pytest.mark.attempt(44)
def test_files_in_memory_have_a_size_or_cannot_be_written(closed: Box) -> None:
    """A sparse file says how large its file system is; not a byte of it is written."""
    found = closed.tries(
        {place: f"os.statvfs('{place}').f_blocks * os.statvfs('{place}').f_frsize >> 20"
         for place in ("/tmp", "/dev/shm", "/home/agent")},
        root="put('/x')", dev="put('/dev/x')", run="put('/run/x')", var="os.makedirs('/var/x')",
        null="put('/dev/null')",
    )  # fmt: skip
    assert found == {"/tmp": 256, "/dev/shm": 512, "/home/agent": 1024, "null": 4,
                     **dict.fromkeys(("root", "dev", "var"), "EROFS"), "run": found["run"]}  # fmt: skip
    assert found["run"] in ("EROFS", "ENOENT")


@pytest.mark.attempt(44)
def test_shared_memory_ends_with_the_sandbox(boxes: Boxes) -> None:
    name = f"ralphy-test-{os.getpid()}"
    found = boxes("open").tries(shm=f"put('/dev/shm/{name}')", space="os.readlink('/proc/self/ns/ipc')",
                      segment="libc.shmget(4711, 4096, 0o1600) >= 0")  # fmt: skip
    assert (found["shm"], found["segment"]) == (4, True)
    assert found["space"] != os.readlink("/proc/self/ns/ipc")
    assert not Path("/dev/shm", name).exists()


@pytest.mark.attempt(46)
def test_a_check_leaves_the_disk_as_much_room_as_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ended, and the story waits for room without losing an attempt; the disk here is only said to be full."""
    full = tmp_path / "full"

    def free(folders: Iterable[Path]) -> tuple[float, Path]:
        return (100 * MEGABYTE, tmp_path) if full.exists() else free_bytes(folders)

    monkeypatch.setattr("ralphy.processes.resource_limits.free_bytes", free)
    monkeypatch.setattr("ralphy.processes.resource_limits._DISK_EVERY_S", 0.0)
    fills = f"""
import pathlib, time
if any(path.name.startswith("us") for path in pathlib.Path("src").glob("*.py")):
    pathlib.Path({str(full)!r}).touch()
    time.sleep(600)
"""
    project = build(tmp_path, story("US-001"))
    (project.repo / "check.py").write_text(fills)
    project.git("commit", "--quiet", "-am", "test: fill the disk")
    ended = project.loop(waits=False)
    full.unlink()
    assert ended.code == ExitCode.ENVIRONMENT, ended.text
    assert "100 MB are free" in ended.text
    assert "limits.min_free_mb: 500" in ended.text
    assert ("US-001", "rejected") not in project.outcomes()
