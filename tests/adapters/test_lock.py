"""One owner per checkout: the lock names its holder, and dies with it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from pathlib import Path

import pytest

from ralphy.git.run_lock import Lock, holder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "checkouts" / "main" / "lock"


def test_a_child_does_not_inherit_it(path: Path) -> None:
    with Lock(path, "x"):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)
    try:
        with Lock(path, "y"):
            assert child.poll() is None
            assert holder(path)["pid"] == os.getpid()
    finally:
        child.kill()
        child.wait()


def test_somebody_who_only_looks_is_waited_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Lock(path, "x"):
        pass
    looking = os.open(path, os.O_RDWR)
    fcntl.flock(looking, fcntl.LOCK_SH | fcntl.LOCK_NB)
    monkeypatch.setattr(time, "sleep", lambda _: fcntl.flock(looking, fcntl.LOCK_UN))
    with Lock(path, "y"):
        assert holder(path)["purpose"] == "y"
    os.close(looking)
