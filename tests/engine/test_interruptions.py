"""Ctrl-C, SIGTERM and kill -9 while an agent works: nothing is lost, nothing lives on, nothing is done twice."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralphy.engine.runs.recover import recover
from ralphy.errors import ExitCode
from ralphy.git import move_refs
from tests.conftest import is_gone
from tests.engine.building import PATIENCE_S, assert_clean, build, open_feature, story, works
from tests.sampling import sampled


class Scene:
    """A loop whose agent has worked, has said so through a pipe, and now hangs."""

    def __init__(self, tmp_path: Path) -> None:
        self.project = build(tmp_path, story("US-001"))
        self._pipe = tmp_path / "pipe"
        os.mkfifo(self._pipe)

    def begin(self, *, before: list[str] | None = None, **more: object) -> subprocess.Popen[str]:
        """Start the loop, and come back when the agent of US-001 hangs with its work (and `before`) done."""
        tell = ["sh", "-c", f"echo $PPID > {self._pipe}"]
        hangs = works(run=[before, tell] if before else [tell], hang=True, **more)
        self.project.play(stories={"US-001": [hangs, works()], "*": [works()]})
        return self.begin_again()

    def play_parts(self, number: int, later: dict[str, object] | None = None) -> None:
        """Agents that add a line each, or do what `later` says from the second on, then say so and hang."""
        tell = ["sh", "-c", f"echo $PPID > {self._pipe}"]
        part: dict[str, object] = {"append": {"src/us_001.py": "PART = 1\n"}}
        hangs = [{**(later if later and nth else part), "run": [tell], "hang": True} for nth in range(number)]
        self.project.play(stories={"US-001": [*hangs, part], "*": [works()]})

    def begin_check(self) -> subprocess.Popen[str]:
        """Start the loop, and come back when the check of US-001's work hangs."""
        hangs = f"if [ -e src/us_001.py ] && [ ! -e {self._pipe}.told ]; then touch {self._pipe}.told; "
        hangs += f"echo $$ > {self._pipe}; sleep 600; fi"
        self.project.configure(gates={"spec": "auto"}, checks=[{"name": "test", "run": f'sh -c "{hangs}"'}])
        return self.begin_again()

    def begin_again(self) -> subprocess.Popen[str]:
        """Start the loop, and come back when its agent or check hangs."""
        process = self.project.start("loop", "login")
        reader = os.open(self._pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            assert select.select([reader], [], [], PATIENCE_S)[0], "the agent never came"
            self.hanging = int(os.read(reader, 100))
        finally:
            os.close(reader)
        return process

    def end(self, process: subprocess.Popen[str], number: int) -> tuple[int, str]:
        """Send a signal; SIGINT as a terminal does, to everybody in the foreground."""
        if number == signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE_S)
        return process.returncode, said


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    yield Scene(tmp_path)


@pytest.mark.parametrize(
    ("number", "code"),
    sampled([(signal.SIGINT, ExitCode.INTERRUPTED), (signal.SIGTERM, ExitCode.TERMINATED)],
            (signal.SIGTERM, ExitCode.TERMINATED)),
)  # fmt: skip
@pytest.mark.fault("P4")
def test_a_signal_ends_the_loop_uses_no_attempt_and_the_work_is_kept(scene: Scene, number: int, code: int) -> None:
    project = scene.project

    assert scene.end(scene.begin(), number)[0] == code

    assert is_gone(scene.hanging)
    assert project.statuses() == {"US-001": "pending"}
    assert "src/us_001.py" not in project.code_files()
    assert_clean(project)
    assert project.outcomes() == [("US-001", "stopped")]
    (kept,) = project.refs("refs/ralphy/login/US-001")
    assert project.git("show", f"{kept}:src/us_001.py") == "WORKS = 1"
    assert project.loop(agents=1).runs == ["US-001"]
    assert project.trailer("Ralphy-Attempt", project.commit_of("US-001")) == "1"


@pytest.mark.fault("P4")
def test_ctrl_c_while_a_check_runs_ends_the_check_and_keeps_the_work(scene: Scene) -> None:
    project = scene.project

    assert scene.end(scene.begin_check(), signal.SIGINT)[0] == ExitCode.INTERRUPTED

    assert is_gone(scene.hanging)
    assert_clean(project)
    assert project.git("show", "refs/ralphy/login/US-001/attempt-1:src/us_001.py") == "WORKS = 1"
    assert project.loop(agents=1).runs == ["US-001"]


@pytest.mark.fault("P15")
def test_folders_that_a_killed_loop_left_in_tmp_are_gone_after_the_next(scene: Scene, tmp_path: Path) -> None:
    folder = tmp_path / "for-a-while"
    folder.mkdir()
    scene.project.env["TMPDIR"] = str(folder)
    scene.end(scene.begin_check(), signal.SIGKILL)
    assert [path.name.split("-")[:2] for path in folder.glob("ralphy-*")] == [["ralphy", "reports"]]
    of_others = folder / f"ralphy-reports-{'0' * 12}-1-x"
    of_others.mkdir()

    code, _ = scene.project.call("loop", "login", "--max-iterations", "1")

    assert code == ExitCode.BUDGET
    assert list(folder.glob("ralphy-*")) == [of_others]


@pytest.mark.fault("P5")
def test_a_second_ctrl_c_at_once_loses_nothing_either(scene: Scene) -> None:
    process = scene.begin()
    os.killpg(process.pid, signal.SIGINT)
    scene.end(process, signal.SIGINT)

    ended = scene.project.loop(agents=1)

    assert is_gone(scene.hanging)
    assert ended.runs == ["US-001"]
    assert scene.project.landed() == ["login/US-001"]
    assert_clean(scene.project)


@pytest.mark.fault("P15")
def test_kills_in_one_story_cost_no_attempt_and_lose_no_work(scene: Scene) -> None:
    project = scene.project
    scene.play_parts(2)
    for _ in range(2):
        assert scene.end(scene.begin_again(), signal.SIGKILL)[0] == -signal.SIGKILL
        assert is_gone(scene.hanging)

    ended = project.loop(agents=1)

    assert ended.runs == ["US-001"]
    assert project.outcomes()[:3] == [*[("US-001", "died")] * 2, ("US-001", "succeeded")]
    assert project.trailer("Ralphy-Attempt", project.commit_of("US-001")) == "1"
    assert project.git("show", f"{project.branch}:src/us_001.py").splitlines() == ["PART = 1"] * 3
    assert "Ralphy or the machine died" in project.prompts("story-US-001")[1]
    assert project.landed() == ["login/US-001"]
    assert_clean(project)


@pytest.mark.fault("P15")
def test_three_kills_in_a_row_without_any_progress_set_the_story_aside(scene: Scene) -> None:
    project = scene.project
    project.plan(story("US-001"), story("US-002", dependsOn=["US-001"]), story("US-003"))
    scene.play_parts(4, later={"say": "reading"})
    for _ in range(4):  # the first one makes something; the other three add nothing to it
        scene.end(scene.begin_again(), signal.SIGKILL)

    ended = project.loop()

    assert ended.code == ExitCode.STORIES_OPEN
    assert project.statuses() == {"US-001": "failed", "US-002": "pending", "US-003": "completed"}
    assert "died 3 times in a row" in project.story("US-001")["execution"]["last_error"]
    assert "died 3 times in a row" in project.read("QUESTIONS.md")
    assert len(project.refs("refs/ralphy/login/US-001")) == 4
    assert_clean(project)


@pytest.mark.fault("P15")
def test_what_was_kept_is_resumed_after_the_journal_was_wiped_too(scene: Scene) -> None:
    project = scene.project
    scene.end(scene.begin(append={"src/half.py": "HALF = 1\n"}), signal.SIGKILL)
    with open_feature(project.repo, project.path, project.env) as workspace:
        recover(workspace)
    (project.repo / ".git" / "ralphy" / "journal.jsonl").unlink()

    project.loop(agents=1)

    assert [run["mode"] for run in project.journal("run")] == ["resume"]
    assert project.journal("run")[0]["deaths"] == 1
    assert "src/half.py" in project.files_of(project.commit_of("US-001"))


def test_an_interruption_is_one_also_where_the_run_cannot_be_cleared_up(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(move_refs, "_PATIENT", ("-c", "core.filesRefLockTimeout=100"))  # not two seconds each time
    process = scene.begin()
    lock = scene.project.repo / ".git" / "refs" / "ralphy" / "login" / "US-001" / "attempt-1.lock"
    lock.parent.mkdir(parents=True)
    lock.touch()

    code, said = scene.end(process, signal.SIGINT)

    assert code == ExitCode.INTERRUPTED
    assert "could not be cleared up now" in said
    lock.unlink()
    scene.project.loop(agents=1)
    assert scene.project.landed() == ["login/US-001"]


@pytest.mark.fault("P15", "G16")
def test_what_a_person_changes_in_git_after_a_kill_stands(scene: Scene) -> None:
    project, git_dir = scene.project, scene.project.repo / ".git"
    does = "git config core.pager evil; git add -f src; git stash; git branch evil"
    scene.end(scene.begin(before=["sh", "-c", does]), signal.SIGKILL)
    project.git("config", "alias.st", "status")
    (git_dir / "hooks").mkdir(exist_ok=True)
    (git_dir / "hooks" / "pre-push").write_text("#!/bin/sh\n")
    (git_dir / "info" / "exclude").write_text("*.mine\n")
    (project.repo / "src" / "base.py").write_text("MINE = 1\n")
    project.git("stash", "push", "--quiet", "--", "src/base.py")
    stashed = project.git("stash", "list")

    project.loop(agents=1)

    assert project.git("config", "alias.st") == "status"
    assert (git_dir / "hooks" / "pre-push").exists()
    assert "*.mine" in (git_dir / "info" / "exclude").read_text().splitlines()
    assert project.git("stash", "list") == stashed != ""
    assert "evil" not in (git_dir / "config").read_text()
    assert "refs/heads/evil" not in project.refs("refs/heads")
    assert project.landed() == ["login/US-001"]
    assert_clean(project)
