"""A run of the tests that was killed does not get into the way of the next one."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ralphy.files.tree_walk import remove
from tests.killed_runs import MOUNTS, clear, remove_old

WAIT = [sys.executable, "-c", "print('here', flush=True); input()"]

DEEP = "import os\nfor _ in range(2100):\n    os.mkdir('d')\n    os.chdir('d')"


def started(at: Path) -> subprocess.Popen[str]:
    """A process that works there, and waits."""
    at.mkdir(parents=True)
    process = subprocess.Popen(WAIT, cwd=at, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               start_new_session=True)  # fmt: skip
    assert process.stdout and process.stdout.readline() == "here\n"
    return process


def test_processes_and_mounts_of_a_run_that_was_killed_go_and_others_stay(tmp_path: Path) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    owners = {"pytest-7": gone.pid, "pytest-8": os.getpid()}
    disks = {name: tmp_path / name / "gw0 a" / "disk" for name in owners}
    processes = {name: started(tmp_path / name / "work") for name in owners}
    for name, pid in owners.items():
        (tmp_path / name / ".lock").write_text(str(pid))
    is_root = os.getuid() == 0 and MOUNTS.exists()
    for disk in disks.values() if is_root else ():
        disk.mkdir(parents=True)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "ralphy", disk], check=False).returncode:
            pytest.skip("nothing can be mounted here")
    try:
        clear(tmp_path)

        assert processes["pytest-7"].wait(60) == -9
        assert processes["pytest-8"].poll() is None
        assert [name for name, disk in disks.items() if disk.is_mount()] == (["pytest-8"] if is_root else [])
    finally:
        for process in processes.values():
            process.kill()
            process.communicate()
        if disks["pytest-8"].is_mount():
            subprocess.run(["umount", "--lazy", disks["pytest-8"]], check=True)


def test_folders_of_dead_runs_go_but_the_newest_however_deep_they_are(tmp_path: Path) -> None:
    for number, name in enumerate(("garbage-a", "pytest-1", "pytest-2", "pytest-3")):
        (tmp_path / name / "d").mkdir(parents=True)
        os.utime(tmp_path / name, (number, number))
    subprocess.run([sys.executable, "-c", DEEP], cwd=tmp_path / "pytest-1" / "d", check=True)
    (tmp_path / "pytest-2" / ".lock").write_text(str(os.getpid()))
    try:
        remove_old(tmp_path)

        end = time.monotonic() + 60
        while len(left := sorted(one.name for one in tmp_path.iterdir())) > 2 and time.monotonic() < end:
            time.sleep(0.02)
        assert left == ["pytest-2", "pytest-3"]
    finally:
        remove(tmp_path / "pytest-1")
