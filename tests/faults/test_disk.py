"""The disk: full, read-only, out of inodes, broken: state stays whole, and the work goes on when it is mended."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ralphy.engine.reconcile import reconcile
from ralphy.errors import ExitCode
from tests.engine.building import (
    ONE_RUN,
    PATIENCE_S,
    ROOT,
    Project,
    assert_clean,
    build,
    open_feature,
    reports,
    story,
    works,
)  # fmt: skip
from tests.faults.conftest import Ralphy
from tests.faults.strikes import fill
from tests.sampling import sampled

NOON = 1_900_000_000.0
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="mounts need root")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 24 MB and 3000 inodes of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,nr_inodes=3000", "ralphy", folder], check=True)
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def planned(folder: Path, stories: int = 1, **limits: Any) -> Project:
    """Stories that work, and a review."""
    names = [f"US-00{number}" for number in range(1, stories + 1)]
    project = build(folder, *map(story, names), limits={"min_free_mb": 0, **limits})
    project.play(stories={"*": [works()]}, qa=[reports()])
    return project


def limited(project: Project, which: int, value: int) -> tuple[int, str]:
    """(exit code, stderr) of `ralphy loop --no-wait` in a process with a limit of the system."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "ralphy", "loop", project.name, "--no-wait"], cwd=project.repo, check=False,
        preexec_fn=lambda: resource.setrlimit(which, (value, value)), env={**project.env, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.DEVNULL, capture_output=True, encoding="utf-8", timeout=PATIENCE_S,
    )  # fmt: skip
    assert "unexpected" not in done.stderr and "Traceback" not in done.stderr, done.stderr
    return done.returncode, done.stderr


def until_room(filler: Path) -> Callable[[], float]:
    """A clock that goes on by ten seconds a look; when the file has been there for some looks, somebody removes it."""
    now, looks = [NOON], [0]

    def clock() -> float:
        now[0] += 10.0
        looks[0] += filler.exists()
        if looks[0] > 12:
            filler.unlink(missing_ok=True)
        return now[0]

    return clock


def assert_done(project: Project) -> None:
    """Each story is there once, and everything tells the same."""
    assert set(project.statuses().values()) == {"completed"}
    assert project.landed() == [f"login/{name}" for name in project.statuses()]
    assert_clean(project)


@needs_root
@pytest.mark.fault("F1")
def test_a_disk_that_an_agent_has_filled_is_waited_for_and_costs_no_attempt(disk: Path) -> None:
    project, filler = planned(disk), disk / "filler"
    fills = ["sh", "-c", f"cat /dev/zero > {filler}"]
    project.play(stories={"US-001": [works(run=fills), works()], "*": [works()]}, qa=[reports()])

    ended = project.loop(clock=until_room(filler))

    assert "the disk is full: it resumes when space is available" in "\n".join(d.reason for d in ended.decisions)
    assert project.outcomes()[:2] == [("US-001", "stopped"), ("US-001", "succeeded")]
    assert project.trailer("Ralphy-Attempt", project.commit_of("US-001")) == "1"
    assert ended.code == ExitCode.WAITING
    assert_done(project)


@needs_root
@pytest.mark.fault("F1")
def test_checks_that_fail_on_a_full_disk_say_nothing_about_the_code(disk: Path) -> None:
    """The baseline is taken on a full disk, and is red: nobody calls the code red for it."""
    project, filler, told = planned(disk), disk / "filler", disk.parent / "told"
    fails = f"sh -c 'test -e {told} || {{ touch {told}; cat /dev/zero > {filler}; exit 1; }}'"
    project.configure(gates={"spec": "auto"}, limits={"min_free_mb": 0}, checks=[{"name": "test", "run": fails}])

    ended = project.loop(clock=until_room(filler))

    assert ended.code == ExitCode.WAITING, ended.text
    assert [row["red"] for row in project.journal("baseline") if row.get("red")] == []
    assert_done(project)


@needs_root
@pytest.mark.fault("F1", "F4", "F5")
@pytest.mark.parametrize("what", sampled(["bytes", "inodes"], "inodes"))
def test_a_disk_without_room_or_read_only_ends_an_impatient_loop_in_words_and_the_next_one_goes_on(
    disk: Path, what: str, ralphy: Ralphy
) -> None:
    project = planned(disk, 2)
    assert project.loop(**ONE_RUN).code == ExitCode.BUDGET
    before = project.prd()
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    code, said = ralphy(project, "loop", "login", "--no-wait")
    assert (code, "read-only" in said) == (ExitCode.ENVIRONMENT, True), said
    subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
    taken = disk / "taken"
    taken.mkdir()
    if what == "bytes":
        fill(taken / "all")
    else:
        with suppress(OSError):
            for n in range(4000):
                (taken / str(n)).touch()

    code, said = ralphy(project, "loop", "login", "--no-wait")

    assert (code, "the disk is full" in said) == (ExitCode.ENVIRONMENT, True), said
    assert project.prd() == before
    shutil.rmtree(taken)
    assert project.loop().code == ExitCode.WAITING
    assert_done(project)


@needs_root
@pytest.mark.fault("F1")
def test_documents_that_cannot_be_laid_out_on_a_full_disk_are_waited_for_and_said_once(disk: Path) -> None:
    project, taken = planned(disk, 2), disk / "taken"
    assert project.loop(**ONE_RUN).code == ExitCode.BUDGET
    (project.folder / "PRD.md").unlink(missing_ok=True)
    (project.folder / "prd.json").unlink()
    fill(taken)

    ended = project.loop(clock=until_room(taken))

    assert ended.text.count("will resume when disk space is available") == 1
    assert [found.reason for found in ended.decisions].count("the disk is full: it resumes when space is available") > 1
    assert ended.code == ExitCode.WAITING
    assert_done(project)


@needs_root
@pytest.mark.fault("F1")
def test_room_that_is_just_enough_is_not_worked_in_until_there_is_clearly_more(disk: Path) -> None:
    project, ballast = planned(disk, min_free_mb=8), disk / "ballast"
    rests, runs = [], []
    with open_feature(project.repo, project.path, project.env) as workspace:
        for megabytes in (7, 9, 9.9, 10.5):
            leave(ballast, megabytes)
            rests.append(reconcile(workspace))
            runs.append(len(project.journal("run")))

    assert runs == [0, 0, 0, 2]
    assert ["MB are free" in rest.reason for rest in rests] == [True, True, True, False]
    assert "less than 8 MB" in rests[0].reason
    assert "less than 10 MB" in rests[1].reason
    assert_done(project)


def leave(ballast: Path, megabytes: float) -> None:
    """Have so much room on the disk, by a file of zeros that grows or shrinks."""
    found, size = os.statvfs(ballast.parent), ballast.stat().st_size if ballast.exists() else 0
    wanted = size + found.f_bavail * found.f_frsize - int(megabytes * 1024 * 1024)
    with ballast.open("ab") as file:
        file.truncate(min(size, wanted))
        file.write(b"\0" * max(0, wanted - size))


SIZE, NUMBER = resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE
TOO_LARGE = ("exceed the size limit", os.strerror(errno.EFBIG))
TOO_MANY = ("too many files are open", os.strerror(errno.EMFILE))


@pytest.mark.fault("F3", "F7")
@pytest.mark.parametrize(
    ("which", "value", "words"),
    sampled([(SIZE, 1024, TOO_LARGE), (SIZE, 16 * 1024, TOO_LARGE), (NUMBER, 12, TOO_MANY), (NUMBER, 24, TOO_MANY)],
            (SIZE, 16 * 1024, TOO_LARGE), (NUMBER, 24, TOO_MANY)),
)  # fmt: skip
def test_a_limit_on_files_is_said_nothing_is_half_done_and_the_next_run_goes_on(
    tmp_path: Path, which: int, value: int, words: tuple[str, ...]
) -> None:
    project = planned(tmp_path)

    code, said = limited(project, which, value)

    assert code == ExitCode.WAITING or any(word in said for word in words), said
    assert which == NUMBER or code in (ExitCode.ENVIRONMENT, ExitCode.WAITING), said
    assert project.loop().code == ExitCode.WAITING
    assert_done(project)


@pytest.mark.fault("F7")
def test_no_files_are_left_open_however_many_stories_there_are(tmp_path: Path) -> None:
    project = build(tmp_path, *(story(f"US-{n:03}") for n in range(4)))
    project.play(stories={"*": [works()]}, qa=[reports()])
    open_files: list[int] = []

    def clock() -> float:
        open_files.append(len(os.listdir("/proc/self/fd")))
        return NOON + len(open_files)

    project.loop(clock=clock, agents=4)

    assert len(project.landed()) == 4
    quarter = len(open_files) // 4
    # what an agent's own thread has open comes and goes; what is left open raises the least
    assert min(open_files[2 * quarter : 3 * quarter]) <= min(open_files[quarter : 2 * quarter])


@pytest.mark.fault("F6")
def test_a_write_that_takes_less_than_was_given_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, write = planned(tmp_path), os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, bytes(data[:7])))

    assert project.loop().code == ExitCode.WAITING

    assert [run["step"] for run in project.journal("run")] == ["story", "qa"]
    intent = json.loads((project.repo / ".git/ralphy/checkouts/main/intent-login.json").read_bytes())
    assert intent["commit"] == project.tip
    assert_done(project)


@pytest.mark.fault("F13")
@pytest.mark.parametrize("left", sampled([0, 40, -7], 40))
def test_a_torn_end_of_the_journal_is_said_and_a_torn_progress_log_put_back_from_the_last_commit(
    tmp_path: Path, left: int, ralphy: Ralphy
) -> None:
    project = planned(tmp_path, 2)
    project.loop(**ONE_RUN)
    journal = project.repo / ".git" / "ralphy" / "journal.jsonl"
    os.truncate(journal, journal.stat().st_size - 7)
    whole = project.read("progress.txt")
    project.write("progress.txt", whole[:left])

    code, said = ralphy(project, "loop", "login", "--no-wait")

    assert said.count("the journal's last line was torn") == 1
    assert said.count("progress.txt was torn") == 1
    assert code == ExitCode.WAITING
    assert re.sub(r"^Commit: .*\n", "", project.read("progress.txt"), flags=re.M).startswith(whole)
    assert "chore(login): changes by hand" not in project.subjects()
    assert_done(project)
    assert "was torn" not in ralphy(project, "loop", "login", "--no-wait")[1]
