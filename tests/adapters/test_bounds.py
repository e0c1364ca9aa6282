"""What a run takes of the machine, seen on real processes: its memory, its number, the space that is left."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralphy.processes.process_table import descendants
from ralphy.processes.resource_limits import MEGABYTE, RunLimits, exact_bytes, private_bytes

# Holds so many megabytes, shares them with so many children, and says when it has them.
FAMILY = """
import os, sys
held = bytearray(os.urandom(1)) * (int(sys.argv[1]) << 20)
for _ in range(int(sys.argv[2])):
    if os.fork() == 0:
        sys.stdin.read()
        os._exit(0)
print("there", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def family(request: pytest.FixtureRequest) -> Iterator[int]:
    megabytes, children = request.param
    argv = [sys.executable, "-I", "-S", "-c", FAMILY, str(megabytes), str(children)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True) as parent:
        assert parent.stdout
        assert parent.stdout.readline() == b"there\n"
        yield os.getpid()
        parent.communicate()


def later(limits: RunLimits, root: int) -> str | None:
    """What is found when the first look is due."""
    assert limits.why_over(root, 0.0) is None
    return limits.why_over(root, 10.0)


@pytest.mark.parametrize("family", [(100, 5)], indirect=True)
def test_memory_that_a_family_shares_counts_once(family: int) -> None:
    """Six processes of 100 MB that are the same 100 MB are no reason to end a run."""
    assert sum(map(private_bytes, descendants(family))) > 500 * MEGABYTE
    assert 100 * MEGABYTE < exact_bytes(descendants(family)) < 300 * MEGABYTE
    assert later(RunLimits(max_memory_mb=350), family) is None


def test_a_disk_without_inodes_has_no_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    found = os.statvfs(tmp_path)
    monkeypatch.setattr(os, "statvfs", lambda _: os.statvfs_result((*found[:5], 100, 0, 0, *found[8:])))

    limits = RunLimits(min_free_mb=1, folders=(tmp_path,))

    assert limits.why_over(os.getpid(), 0.0) == "disk"
    assert f"the disk is not writable at {tmp_path}" in limits.why
