"""The repository's pre-commit hook is the first of the checks; what it changes is what is checked and committed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ralphy.errors import ExitCode
from tests.conftest import program
from tests.engine.building import Project, assert_clean, build, story, works
from tests.sampling import sampled


def hooked(tmp_path: Path, script: str, **settings: Any) -> Project:
    """A project with one story and this pre-commit hook."""
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 2}, **settings)
    program(project.repo / ".git" / "hooks" / "pre-commit", script)
    return project


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


# What the hook does with what a story's agent has staged; what of it is said of the story, if it does not land.
HOOK = """
file=$(git diff --cached --name-only)
case $(git diff --cached) in
*+LOUD*) sed -i s/LOUD/quiet/ $file; exit 1;;
*+SHRILL*) sed -i s/SHRILL/quiet/ $file;;
*+KILLED*) [ -e {0}/told ] || {{ touch {0}/told; kill -9 $$; }};;
*+GROWS*) echo '# more' >> $file; exit 1;;
*+import*) sed -i '/^import os$/d' $file;;
*+STAGED*) echo $file > {0}/seen; git diff --name-only >> {0}/seen; echo 'BROKEN = 1' > $file;;
esac
"""
NIGHT: dict[str, tuple[dict[str, str], str]] = {
    "US-001": ({"src/us_001.py": "LOUD = 1\n"}, ""),
    "US-002": ({"src/us_002.py": "SHRILL = 1\n"}, ""),
    "US-003": ({"src/us_003.py": "KILLED = 1\n"}, ""),
    "US-004": ({"src/us_004.py": "GROWS = 1\n"}, "changes files each time it runs"),
    "US-005": ({"src/base.py": "import os\n"}, "changed once the pre-commit hook was done"),
    "US-006": ({"src/base.py": "import os\n# why\n"}, "changed once the pre-commit hook was done"),
    "US-007": ({"src/us_007.py": "STAGED = 1\n"}, "src/us_007.py"),
}
OTHERS = ("commit-msg", "prepare-commit-msg", "post-commit", "reference-transaction", "post-checkout",
          "post-index-change")  # fmt: skip


@pytest.mark.fault("G8", "G9", "P14")
def test_what_the_hook_makes_of_the_staged_work_is_checked_and_committed_and_no_other_hook_runs(tmp_path: Path) -> None:
    project = build(tmp_path, *map(story, NIGHT), limits={"max_attempts": 1}, breaker={"enabled": False})
    program(project.repo / ".git" / "hooks" / "pre-commit", HOOK.format(tmp_path))
    for name in OTHERS:
        program(project.repo / ".git" / "hooks" / name, f"touch {tmp_path}/ran-{name}; exit 1")
    project.env["GIT_CONFIG_COUNT"] = "0"
    project.play(stories={name: [{"append": files}] for name, (files, _) in NIGHT.items()})

    ended = project.loop(agents=len(NIGHT))

    assert project.landed() == [f"login/{name}" for name, (_, why) in NIGHT.items() if not why]
    for name, (_, why) in NIGHT.items():
        assert why in (project.story(name)["execution"]["last_error"] or ""), name
    assert [project.code(f"src/us_00{number}.py") for number in (1, 2)] == ["quiet = 1\n"] * 2
    assert ended.pauses == [5]
    assert (tmp_path / "seen").read_text().split() == ["src/us_007.py"]  # and no control files
    assert list(tmp_path.glob("ran-*")) == []
    assert_clean(project)


@pytest.mark.fault("G8")
@pytest.mark.parametrize("before", sampled(["", "exit 0"], ""))
def test_a_hook_that_is_red_at_the_first_baseline_or_after_it_costs_no_attempt(tmp_path: Path, before: str) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"), limits={"max_iterations": 1})
    hook = project.repo / ".git" / "hooks" / "pre-commit"
    program(hook, "echo always; exit 1")
    ended = project.loop()
    assert (ended.code, ended.runs) == (ExitCode.CONFLICT, [])
    assert "pre-commit" in ended.text
    hook.unlink()
    if before:
        program(hook, before)
    project.loop()
    program(hook, "echo never; exit 1")

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


@pytest.mark.fault("G8")
def test_a_hook_of_a_configured_folder_that_hangs_is_ended_with_all_its_processes_and_rejects(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 1}, git={"hook_timeout_s": 0.5})
    hangs = f"[ -f src/us_001.py ] || exit 0; sleep 1000 & echo $! $$ > {tmp_path}/pids; wait"
    program(project.repo / "tools" / "hooks" / "pre-commit", hangs)
    project.git("config", "core.hooksPath", "tools/hooks")
    project.git("add", "tools")
    project.git("commit", "--quiet", "--no-verify", "-m", "chore: hooks")

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


def test_in_a_sandbox_a_hook_has_the_dependencies_that_the_checks_have_read_only(sandbox: None, tmp_path: Path) -> None:
    """What `pre-commit` of a `.venv`, or husky, starts lies there."""
    project = build(tmp_path, story("US-001"))
    (project.repo / "node_modules").mkdir()
    (project.repo / "node_modules" / "a").write_text("mine")
    (project.repo / ".gitignore").write_text("node_modules\n")
    project.commit("chore: ignore", ".gitignore")
    program(project.repo / ".git" / "hooks" / "pre-commit", "grep -q mine node_modules/a && ! touch node_modules/x")

    ended = project.loop(agents=1)

    assert project.statuses() == {"US-001": "completed"}, ended.text
    assert checks_of(project) == ["pre-commit", "test"]
    assert [path.name for path in (project.repo / "node_modules").iterdir()] == ["a"]


def test_what_a_hook_adds_is_refused_where_an_agent_may_not_add_it(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), limits={"max_attempts": 1})
    program(project.repo / ".git" / "hooks" / "pre-commit", "test ! -e src/us_001.py || ln -sf /etc/hosts src/hosts")
    project.play(stories={"US-001": [works()]})

    ended = project.loop(agents=1)

    assert project.landed() == [], ended.text
    assert "src/hosts" in project.story("US-001")["execution"]["last_error"]
