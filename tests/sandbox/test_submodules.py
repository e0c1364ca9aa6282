"""What an agent makes of a submodule, or of another worktree, runs nowhere and does not stay."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ralphy.errors import ExitCode
from tests.engine.building import Project, assert_clean, beside, build, drive, story, works
from tests.engine.driver import KILLED

# The agent points lib/.git at a folder of its own, whose configuration runs a program when Git looks at a file.
REPOINTED = """
mkdir -p .cache/g && { cp -r .git/modules/lib/. .cache/g/ 2>/dev/null || git init -q --bare .cache/g; }
printf '#!/bin/sh\\ntouch %s\\ncat\\n' "$1" > .cache/evil.sh
git config -f .cache/g/config core.bare false
git config -f .cache/g/config core.worktree "$PWD/lib"
git config -f .cache/g/config core.fsmonitor "sh $PWD/.cache/evil.sh"
git config -f .cache/g/config filter.x.clean "sh $PWD/.cache/evil.sh"
mkdir -p .cache/g/info lib; echo '* filter=x' > .cache/g/info/attributes
echo "gitdir: $PWD/.cache/g" > lib/.git
"""
CONFIGURED = """
printf '#!/bin/sh\\ntouch %s\\ncat\\n' "$1" > evil.log
git config -f .git/modules/lib/config core.fsmonitor "sh $PWD/evil.log"
git config -f .git/modules/lib/config filter.x.clean "sh $PWD/evil.log"
mkdir -p .git/modules/lib/info .git/modules/lib/hooks
echo '* filter=x' > .git/modules/lib/info/attributes
cp evil.log .git/modules/lib/hooks/post-checkout
"""
ELSEWHERE = """
cp -r .git .cache-git; git config -f .cache-git/config core.fsmonitor "touch $1"
echo "$PWD/.cache-git" > .git/worktrees/other/commondir
"""


def with_submodule(tmp_path: Path, *, initialised: bool = True) -> Project:
    project = build(tmp_path, story("US-001"))
    (project.repo / ".gitignore").write_text(".cache/\n*.log\n__pycache__/\n")
    library = tmp_path / "library"
    library.mkdir()
    (library / "f.txt").write_text("f\n")
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "begin"]):
        project.git("-C", str(library), *words)
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "lib")
    project.git("commit", "--quiet", "-am", "chore: a library")
    if not initialised:
        project.git("submodule", "--quiet", "deinit", "--force", "lib")
        shutil.rmtree(project.repo / ".git" / "modules")
    return project


def meddles(project: Project, tmp_path: Path, script: str) -> Path:
    """Let the story's agent work, and run this script; gives the file that is there when its program was run."""
    canary = tmp_path / "sung"
    project.play(stories={"US-001": [works(run=[["sh", "-c", script, "sh", str(canary)]])]})
    return canary


def looked_at(project: Project) -> None:
    """What a person does in the morning."""
    project.git("status")
    project.git("diff")


@pytest.mark.attempt(26, 27, 28)
@pytest.mark.parametrize("more", ["", "echo x >> lib/f.txt"])
@pytest.mark.parametrize("initialised", [True, False])
def test_a_submodule_that_is_pointed_elsewhere_runs_nothing(tmp_path: Path, more: str, initialised: bool) -> None:
    project = with_submodule(tmp_path, initialised=initialised)
    before = (project.repo / "lib" / ".git").read_text() if initialised else None
    canary = meddles(project, tmp_path, REPOINTED + more)

    ended = project.loop()
    project.call("status", "login")
    looked_at(project)

    assert not canary.exists()
    dot_git = project.repo / "lib" / ".git"
    assert (dot_git.read_text() if dot_git.exists() else None) == before
    assert "lib/.git" in ended.text + str(project.story("US-001"))
    assert (project.landed() == []) is bool(more)


@pytest.mark.attempt(26)
def test_nor_when_ralphy_was_killed(tmp_path: Path) -> None:
    project = with_submodule(tmp_path)
    canary = meddles(project, tmp_path, REPOINTED + "echo x >> lib/f.txt")
    assert drive(project, "die", "agent_ended", "1") == KILLED

    ended = project.loop()
    looked_at(project)

    assert not canary.exists()
    assert ended.code == ExitCode.CONFLICT
    assert "lib" in ended.rest.reason


@pytest.mark.attempt(26, 27)
def test_what_changed_in_a_submodule_holds_up_the_next_start_until_it_is_as_it_was(tmp_path: Path) -> None:
    project = with_submodule(tmp_path)
    meddles(project, tmp_path, "echo x >> lib/f.txt")
    project.loop()
    error = project.story("US-001")["execution"]["last_error"]
    assert "lib is a submodule" in error
    assert "do that yourself, commit it with the change, and: ralphy story done" in error

    held = project.loop()
    assert (held.code, held.runs) == (ExitCode.CONFLICT, [])
    project.git("submodule", "--quiet", "update", "--force", "lib")
    project.git("-C", "lib", "checkout", "--quiet", "--", ".")
    project.play(stories={"US-001": [works()]})

    project.loop()
    assert project.landed() == ["login/US-001"]


@pytest.mark.attempt(29)
def test_a_submodules_configuration_and_hooks_are_put_back(tmp_path: Path) -> None:
    project = with_submodule(tmp_path)
    config = project.repo / ".git" / "modules" / "lib" / "config"
    before = config.read_text()
    canary = meddles(project, tmp_path, CONFIGURED)

    ended = project.loop()
    looked_at(project)

    assert not canary.exists()
    assert config.read_text() == before
    assert not (config.parent / "hooks" / "post-checkout").exists()
    assert ".git/modules/lib/config" in ended.text
    assert project.landed() == ["login/US-001"]
    assert_clean(project)


@pytest.mark.attempt(30)
def test_what_leads_another_worktree_astray_is_put_back(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    (project.repo / ".gitignore").write_text(".cache-git/\n*.log\n__pycache__/\n")
    project.git("commit", "--quiet", "-am", "chore: ignore")
    beside(project, tmp_path / "other")
    canary = meddles(project, tmp_path, ELSEWHERE)

    project.loop()
    project.git("-C", str(tmp_path / "other"), "status")

    assert not canary.exists()
    assert (project.repo / ".git" / "worktrees" / "other" / "commondir").read_text() == "../..\n"


@pytest.mark.attempt(29, 30)
def test_in_the_sandbox_submodules_and_worktrees_are_read_only(sandbox: None, tmp_path: Path) -> None:
    project = with_submodule(tmp_path)
    beside(project, tmp_path / "other")
    meddles(project, tmp_path, f"({CONFIGURED} {ELSEWHERE}) || true")

    ended = project.loop()

    assert ".git/" not in ended.text
    assert project.landed() == ["login/US-001"]
