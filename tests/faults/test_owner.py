"""One owner a checkout, and a repository that others hold or that is damaged: said in words, and gone on from."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from ralphy.errors import ExitCode
from ralphy.git import move_refs
from tests.engine.building import ONE_RUN, PATIENCE_S, PRD_MD, assert_clean, beside, build, story
from tests.engine.test_interruptions import Scene
from tests.faults.conftest import Ralphy
from tests.sampling import sampled


@pytest.mark.fault("M1", "M2")
def test_a_checkout_has_one_ralphy_until_that_is_killed_and_another_worktree_its_own(
    tmp_path: Path, ralphy: Ralphy
) -> None:
    scene = Scene(tmp_path)
    project, holder = scene.project, scene.begin()
    (project.repo / "docs/features/logout").mkdir()
    (project.repo / "docs/features/logout/PRD.md").write_text(PRD_MD)
    for name in ("login", "logout"):
        os.kill(holder.pid, signal.SIGSTOP if name == "logout" else signal.SIGCONT)  # it holds its checkout still
        code, said = ralphy(project, "loop", name)
        assert code == ExitCode.CONFLICT
        assert f"pid {holder.pid}" in said and "feature login" in said
    other = beside(project, tmp_path / "other")
    (other.repo / "docs/features/mail").mkdir(parents=True)
    (other.repo / "docs/features/mail/PRD.md").write_text(PRD_MD)

    code, said = ralphy(other, "loop", "mail", "--to", "spec")

    assert code == ExitCode.DONE, said
    assert (other.repo / "docs/features/mail/SPEC.md").exists()
    shutil.rmtree(project.repo / "docs/features/logout")
    scene.end(holder, signal.SIGKILL)
    assert project.loop(agents=1).runs == ["US-001"]
    assert project.landed() == ["login/US-001"]
    assert_clean(project)


@pytest.mark.fault("G2", "M2")
def test_a_ref_that_is_locked_for_a_moment_is_waited_for_and_a_lock_that_a_killed_git_left_removed(
    tmp_path: Path,
) -> None:
    """The check of the story takes the lock, as a person's git in another window might; it is let go a while later."""
    project = build(tmp_path, story("US-001"))
    ralphys = project.repo / ".git" / "ralphy" / "checkouts" / "main"
    ralphys.mkdir(parents=True)
    stranger = {"pid": os.getpid(), "host": os.uname().nodename, "since": time.time()}
    (ralphys / "lock").write_text(json.dumps(stranger))  # names a living one: it holds nothing
    git = subprocess.Popen(["sleep", "60"])
    git.kill()
    git.wait()
    lock = project.repo / ".git" / "refs" / "heads" / "ralph" / "login.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()
    note = ralphys / "moving.json"
    note.write_text(json.dumps({"pid": git.pid, "refs": ["refs/heads/ralph/login"]}))
    told = tmp_path / "told"
    takes = f"sh -c 'test ! -e src/us_001.py || test -e {told} || touch {told} {lock}'"
    project.configure(gates={"spec": "auto"}, checks=[{"name": "test", "run": takes}])
    opener = threading.Thread(target=_let_go, args=(told, lock))
    opener.start()

    project.loop(agents=1)

    opener.join()
    assert project.landed() == ["login/US-001"]
    assert not lock.exists()
    assert not note.exists()


def _let_go(told: Path, lock: Path) -> None:
    """Remove the lock a while after it was taken; git's own locks of that name come and go before."""
    end = time.monotonic() + PATIENCE_S
    while not told.exists() and time.monotonic() < end:
        time.sleep(0.005)
    time.sleep(0.7)
    lock.unlink(missing_ok=True)


@pytest.mark.fault("G2", "G14")
@pytest.mark.parametrize("what", sampled(["HEAD", "HEAD^{tree}", "HEAD:src"], "HEAD^{tree}"))
def test_a_ref_that_stays_locked_or_a_damaged_object_is_said_and_the_work_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, ralphy: Ralphy
) -> None:
    monkeypatch.setattr(move_refs, "_PATIENT", ("-c", "core.filesRefLockTimeout=100"))  # not two seconds each time
    project = build(tmp_path, story("US-001"), story("US-002"))
    assert project.loop(**ONE_RUN).code == ExitCode.BUDGET
    tip = project.tip
    oid = project.git("rev-parse", what.replace("HEAD", tip))
    path = project.repo / ".git" / "objects" / oid[:2] / oid[2:]
    whole = path.read_bytes()
    path.chmod(0o644)
    path.write_bytes(whole[: len(whole) // 2])

    code, said = ralphy(project, "loop", "login")

    assert code == ExitCode.ENVIRONMENT, said
    assert "git" in said
    assert (project.repo / ".git/refs/heads/ralph/login").read_text().strip() == tip
    path.write_bytes(whole)

    locks = [project.repo / ".git" / name for name in ("packed-refs.lock", "refs/heads/ralph/login.lock")]
    for lock in locks:
        lock.touch()
    code, said = ralphy(project, "loop", "login")
    assert (code, "login.lock" in said) == (ExitCode.CONFLICT, True), said
    for lock in locks:
        lock.unlink()
    project.loop(agents=1)
    assert project.landed() == ["login/US-001", "login/US-002"]
    assert_clean(project)
