"""The repository's pre-commit hook is the first of the checks; what it changes is what is checked and committed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ralphy.errors import ExitCode
from tests.engine.building import Project, assert_clean, build, story
from tests.sampling import sampled

FORMATS = "sed -i 's/WORKS/works/' src/us_001.py 2>/dev/null"


def hooked(tmp_path: Path, script: str, **settings: Any) -> Project:
    """A project with one story and this pre-commit hook."""
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 2}, **settings)
    write_hook(project.repo / ".git" / "hooks" / "pre-commit", script)
    return project


def write_hook(path: Path, script: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def checks_of(project: Project) -> list[str]:
    return [check["name"] for check in project.story("US-001")["evidence"]["checks"]]


@pytest.mark.fault("G8")
def test_a_hook_that_fails_rejects_the_attempt_and_its_words_reach_the_next(tmp_path: Path) -> None:
    project = hooked(tmp_path, "if git diff --cached | grep -q '+WORKS = 1'; then echo no ones please; exit 1; fi")

    ended = project.loop(agents=2)

    assert project.outcomes()[:2] == [("US-001", "rejected"), ("US-001", "succeeded")]
    assert "no ones please" in project.prompts("US-001")[1]
    assert "pre-commit exit 1" in ended.text
    assert checks_of(project) == ["pre-commit", "test"]
    assert_clean(project)


@pytest.mark.fault("G8")
@pytest.mark.parametrize("code", [pytest.param(0, marks=pytest.mark.soak), 1])
def test_what_a_hook_changes_is_what_is_checked_and_committed(tmp_path: Path, code: int) -> None:
    project = hooked(tmp_path, f"if grep -qs WORKS src/us_001.py; then {FORMATS}; exit {code}; fi")

    project.loop(agents=1)

    assert project.outcomes()[0] == ("US-001", "succeeded")
    assert project.git("show", f"{project.commit_of('US-001')}:src/us_001.py") == "works = 1"
    assert_clean(project)


def test_a_hook_that_changes_files_each_time_rejects_the_attempt(tmp_path: Path) -> None:
    project = hooked(tmp_path, "[ ! -f src/us_001.py ] || { echo '# more' >> src/us_001.py; exit 1; }")

    ended = project.loop(agents=1)

    assert "changes files each time it runs" in ended.text
    assert project.landed() == []


@pytest.mark.parametrize("added", sampled(["import os\n", "import os\n# why\n"], "import os\n# why\n"))
def test_a_hook_that_leaves_no_work_of_the_code_rejects_the_attempt(tmp_path: Path, added: str) -> None:
    project = hooked(tmp_path, "sed -i '/^import os$/d' src/base.py")
    project.play(stories={"US-001": [{"append": {"src/base.py": added}}]})

    ended = project.loop(agents=1)

    assert project.landed() == []
    assert "changed once the pre-commit hook was done" in ended.text
    assert_clean(project)


def test_the_hook_sees_the_candidate_staged_and_the_checks_what_it_made_of_it(tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    project = hooked(tmp_path, f"[ -f src/us_001.py ] || exit 0; git diff --cached --name-only > {seen};"
                               f" git diff --name-only >> {seen}; echo 'BROKEN = 1' > src/us_001.py")  # fmt: skip

    project.loop(agents=1)

    assert seen.read_text().split() == ["src/us_001.py"]  # and no control files
    assert project.landed() == []
    assert "src/us_001.py" in project.story("US-001")["execution"]["last_error"]


def test_a_folder_of_hooks_that_was_configured_before_is_honoured(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 1})
    write_hook(project.repo / "tools" / "hooks" / "pre-commit", "[ ! -f src/us_001.py ]")
    project.git("config", "core.hooksPath", "tools/hooks")
    project.git("add", "tools")
    project.git("commit", "--quiet", "--no-verify", "-m", "chore: hooks")

    project.loop(agents=1)

    assert project.landed() == []


@pytest.mark.fault("G8")
def test_a_hook_that_fails_before_any_work_is_a_red_baseline(tmp_path: Path) -> None:
    project = hooked(tmp_path, "echo always; exit 1")

    ended = project.loop()

    assert ended.code == ExitCode.CONFLICT
    assert "pre-commit" in ended.text
    assert ended.runs == []


@pytest.mark.fault("G8")
@pytest.mark.parametrize("before", sampled(["", "exit 0"], ""))
def test_a_red_hook_that_comes_after_the_baseline_costs_no_attempt(tmp_path: Path, before: str) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"), limits={"max_iterations": 1})
    hook = project.repo / ".git" / "hooks" / "pre-commit"
    if before:
        write_hook(hook, before)
    project.loop()
    write_hook(hook, "echo never; exit 1")

    ended = project.loop()

    assert (ended.code, ended.runs) == (ExitCode.CONFLICT, [])
    assert "pre-commit" in ended.text
    assert project.statuses() == {"US-001": "completed", "US-002": "pending"}
    hook.unlink()
    assert project.loop().runs == ["US-002"]


def test_a_hook_is_asked_for_a_baseline_once_whatever_a_killed_one_left(tmp_path: Path) -> None:
    project = hooked(tmp_path, "exit 0")
    for name in ("ralphy-hook-index", "ralphy-hook-index.lock"):
        (project.repo / ".git" / name).write_text("torn")
    project.loop()
    assert project.landed() == ["login/US-001"]
    before = len(project.journal("baseline"))

    project.loop()

    assert len(project.journal("baseline")) == before == 2  # before the story, and the story's own


@pytest.mark.fault("P14")
def test_a_hook_that_is_killed_is_asked_again_and_costs_no_attempt(tmp_path: Path) -> None:
    once = f"[ -e {tmp_path}/told ] || {{ touch {tmp_path}/told; kill -9 $$; }}"
    project = hooked(tmp_path, f"[ ! -f src/us_001.py ] || {once}")

    ended = project.loop(agents=1)

    assert project.outcomes()[0] == ("US-001", "succeeded")
    assert ended.pauses == [5]


@pytest.mark.fault("G8")
def test_a_hook_that_hangs_is_ended_with_all_its_processes_and_rejects(tmp_path: Path) -> None:
    hangs = f"[ -f src/us_001.py ] || exit 0; sleep 1000 & echo $! $$ > {tmp_path}/pids; wait"
    project = hooked(tmp_path, hangs, git={"hook_timeout_s": 0.5})

    ended = project.loop(agents=1)

    assert [outcome for _, outcome in project.outcomes()] == ["rejected"]
    assert "pre-commit took more than 0.5 s" in ended.text
    assert [pid for pid in (tmp_path / "pids").read_text().split() if Path("/proc", pid).exists()] == []
    assert_clean(project)


def test_hooks_can_be_left_out(tmp_path: Path) -> None:
    project = hooked(tmp_path, "exit 1", git={"hooks": "skip"})

    project.loop(agents=1)

    assert project.landed() == ["login/US-001"]
    assert checks_of(project) == ["test"]


@pytest.mark.fault("G9")
def test_other_hooks_are_not_run(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    for name in (
        "commit-msg",
        "prepare-commit-msg",
        "post-commit",
        "reference-transaction",
        "post-checkout",
        "post-index-change",
    ):
        write_hook(project.repo / ".git" / "hooks" / name, f"touch {tmp_path}/ran-{name}; exit 1")
    project.env["GIT_CONFIG_COUNT"] = "0"

    project.loop(agents=1)

    assert list(tmp_path.glob("ran-*")) == []
    assert project.landed() == ["login/US-001"]
