"""One owner per checkout: the lock names its holder, and dies with it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import time
from pathlib import Path

import pytest

from ralphy.git.run_lock import Lock, LockBusy, holder


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


def test_a_run_waits_for_a_command_and_not_for_another_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = Lock(path, "redo spec").__enter__()
    naps = iter(range(20))
    monkeypatch.setattr(time, "sleep", lambda _: command.__exit__(None, None, None) if next(naps) == 9 else None)
    with Lock(path, "loop"):
        assert (holder(path)["purpose"], next(naps)) == ("loop", 10)
        with pytest.raises(LockBusy), Lock(path, "feature login"):
            pass
    assert next(naps) == 10 + 4
