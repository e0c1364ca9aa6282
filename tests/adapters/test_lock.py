"""One owner per checkout: the lock names its holder, and dies with it."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ralphy.errors import Conflict
from ralphy.git.run_lock import Lock, holder

HOLD = """\
import sys
from pathlib import Path
from ralphy.git.run_lock import Lock
with Lock(Path(sys.argv[1]), "feature login"):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "checkouts" / "main" / "lock"


def held_elsewhere(path: Path) -> subprocess.Popen[str]:
    """Another process that holds the lock until its stdin is closed."""
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env
    )
    assert other.stdout and other.stdout.readline() == "held\n"
    return other


@pytest.mark.fault("M1")
def test_a_second_ralphy_is_told_who_works(path: Path) -> None:
    with held_elsewhere(path) as other:
        said = rf"Ralphy is already running here: pid {other.pid} on .*\(feature login\)"
        with (
            pytest.raises(Conflict, match=said) as caught,
            Lock(path, "x"),
        ):
            pass
        assert "ralphy abort" in caught.value.hint
        assert holder(path)["pid"] == other.pid
        other.communicate()
    with Lock(path, "x"):
        assert holder(path)["pid"] == os.getpid()


def test_the_same_process_cannot_take_it_twice(path: Path) -> None:
    with Lock(path, "one"), pytest.raises(Conflict), Lock(path, "two"):
        pass
    with Lock(path, "three"):
        pass


@pytest.mark.fault("M2")
def test_a_dead_owner_holds_nothing(path: Path) -> None:
    with held_elsewhere(path) as other:
        other.kill()
        other.communicate()
    assert path.read_bytes()
    assert holder(path) == {}
    with Lock(path, "x"):
        assert holder(path)["pid"] == os.getpid()


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
