"""A run of the tests that was killed does not get into the way of the next one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.killed_runs import MOUNTS, clear

WAIT = [sys.executable, "-c", "print('here', flush=True); input()"]


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
