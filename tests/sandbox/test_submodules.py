"""What an agent makes of a submodule, or of another worktree, runs nowhere."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.engine.building import Project, beside, build, story, works
from tests.sandbox.inside import everything_in

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


@pytest.mark.attempt(26, 27, 28, 29)
@pytest.mark.parametrize("initialised", [True, False])
def test_a_submodule_that_is_pointed_elsewhere_or_configured_runs_nothing(
    walls: str, tmp_path: Path, initialised: bool
) -> None:
    """In the lane `.git/modules` is the agent's own; in the checkout nothing of a submodule changes."""
    project = with_submodule(tmp_path, initialised=initialised)
    before = {at: everything_in(project.repo / at) for at in ("lib", ".git/modules", ".git/hooks")}
    canary = meddles(project, tmp_path, f"{REPOINTED} echo x >> lib/f.txt; mkdir -p .git/modules/lib; {CONFIGURED}")

    project.loop()
    project.call("status", "login")
    looked_at(project)

    assert not canary.exists()
    assert {at: everything_in(project.repo / at) for at in before} == before


@pytest.mark.attempt(29, 30)
def test_what_leads_another_worktree_astray_cannot_be_written_in_the_sandbox(sandbox: None, tmp_path: Path) -> None:
    project = with_submodule(tmp_path)
    beside(project, tmp_path / "other")
    at_home = f"cd {project.repo} && ({CONFIGURED} {ELSEWHERE})"
    canary = meddles(project, tmp_path, f"({at_home}) || true; echo x > {tmp_path}/other/.git || true")

    project.loop()
    looked_at(project)
    project.git("-C", str(tmp_path / "other"), "status")

    assert not canary.exists()
    assert (project.repo / ".git" / "worktrees" / "other" / "commondir").read_text() == "../..\n"
    assert project.landed() == ["login/US-001"]
