"""Variants of known attempts; the table at the end of docs/security.md says what each one tries."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ralphy.config import load as settings
from ralphy.processes import program_paths
from tests.engine.building import ROOT, build, story, works
from tests.sampling import sampled
from tests.sandbox.inside import Box
from tests.sandbox.test_submodules import looked_at, meddles, with_submodule

EVIL = "printf '#!/bin/sh\\ntouch %s\\ncat\\n' \"$1\" > evil.log; "
STEERS = "printf '[core]\\nfsmonitor = sh %s/evil.log\\n[filter \"x\"]\\nclean = sh %s/evil.log\\n' $PWD $PWD"


@pytest.fixture(params=sampled(["in the sandbox", "without"], "in the sandbox"))
def walls(request: pytest.FixtureRequest) -> str:
    if request.param == "in the sandbox":
        request.getfixturevalue("sandbox")
    return str(request.param)


@pytest.mark.attempt(73)
@pytest.mark.parametrize("by", sampled(["agent", "check"], "agent"))
def test_an_included_file_that_was_not_there_runs_nothing(walls: str, tmp_path: Path, by: str) -> None:
    """Git's configuration names it in the checkout; a lane has neither that configuration nor a way to that file."""
    canary = tmp_path / "sung"
    script = tmp_path / "it.sh"
    script.write_text(f"{EVIL} {STEERS} > two.log\n")
    check = f"sh -c 'test -e src/us_001.py && sh {script} {canary}; exit 0'"
    checks: dict[str, Any] = {"checks": [{"name": "test", "run": check}]} if by == "check" else {}
    project = build(tmp_path, story("US-001"), **checks)
    (project.repo / ".gitattributes").write_text("*.py filter=x\n")
    project.commit("chore: attributes", ".")
    (project.repo / "one.log").write_text("[include]\npath = two.log\n")
    project.git("config", "include.path", "../one.log")
    act = works() if by == "check" else works(run=[["sh", str(script), str(canary)]])
    project.play(stories={"US-001": [act]})

    project.loop()
    looked_at(project)

    assert not canary.exists()
    assert not (project.repo / "two.log").exists()
    assert project.landed() == ["login/US-001"]


@pytest.mark.attempt(75)
def test_a_submodule_of_a_submodule_that_is_pointed_elsewhere_runs_nothing(walls: str, tmp_path: Path) -> None:
    project = with_submodule(tmp_path)
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "g.txt").write_text("g\n")
    for words in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "begin"]):
        project.git("-C", str(inner), *words)
    allow = ("-c", "protocol.file.allow=always")
    project.git("-C", str(tmp_path / "library"), *allow, "submodule", "--quiet", "add", str(inner), "in")
    project.git("-C", str(tmp_path / "library"), "commit", "--quiet", "-m", "nested")
    project.git(*allow, "submodule", "--quiet", "update", "--remote", "--init", "--recursive")
    project.git("commit", "--quiet", "-am", "chore: newer")
    before = (project.repo / "lib" / "in" / ".git").read_text()
    canary = meddles(
        project,
        tmp_path,
        """
mkdir -p .cache lib/in; git init -q --bare .cache/g; git config -f .cache/g/config core.bare false
git config -f .cache/g/config core.worktree "$PWD/lib/in"
git config -f .cache/g/config core.fsmonitor "touch $1; :"
echo "gitdir: $PWD/.cache/g" > lib/in/.git
""",
    )

    project.loop()
    looked_at(project)

    assert not canary.exists()
    assert (project.repo / "lib" / "in" / ".git").read_text() == before


@pytest.mark.attempt(76)
def test_a_worktree_in_the_checkout_that_is_pointed_elsewhere_runs_nothing(walls: str, tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    (project.repo / ".gitignore").write_text("wt/\n.cache/\n*.log\n__pycache__/\n")
    project.git("commit", "--quiet", "-am", "chore: ignore")
    project.git("worktree", "add", "--quiet", "wt", "-b", "other", "main")
    before = (project.repo / "wt" / ".git").read_text()
    canary = meddles(
        project,
        tmp_path,
        """
mkdir -p .cache wt; git init -q --bare .cache/g; git config -f .cache/g/config core.fsmonitor "touch $1; :"
git config -f .cache/g/config core.worktree "$PWD/wt"; echo "gitdir: $PWD/.cache/g" > wt/.git
""",
    )

    project.loop()
    project.git("-C", "wt", "status")

    assert not canary.exists()
    assert (project.repo / "wt" / ".git").read_text() == before


@pytest.mark.attempt(77)
@pytest.mark.parametrize("how", ["file", "link", "ident", "folder link"])
def test_settings_that_came_with_a_repository_are_known_however_they_are_stored(tmp_path: Path, how: str) -> None:
    theirs = build(tmp_path / "theirs", story("US-001"))
    repo = theirs.repo
    theirs.configure(agent={"command": ["sh", "-c", "evil # $Id$"]})
    if how == "link":
        (repo / "x.yaml").write_text((repo / ".ralphy" / "config.yaml").read_text())
        (repo / ".ralphy" / "config.yaml").unlink()
        (repo / ".ralphy" / "config.yaml").symlink_to("../x.yaml")
    if how == "ident":
        (repo / ".gitattributes").write_text("config.yaml ident\n")
    if how == "folder link":
        (repo / ".ralphy").rename(repo / "elsewhere")
        (repo / ".ralphy").symlink_to("elsewhere")
    theirs.git("add", "--all")
    theirs.git("commit", "--quiet", "--allow-empty", "-m", "feat: harmless")
    theirs.git("clone", "--quiet", str(repo), str(tmp_path / "mine"))
    mine = replace(theirs, repo=tmp_path / "mine")

    found = settings.load(mine.repo, None, env=mine.env)

    assert found.config.agent.command == ("claude",)
    assert "agent.command" in found.untrusted


@pytest.mark.attempt(78)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root's user id passes the kernel's check here")
def test_no_file_gets_capabilities(either: Box) -> None:
    code = (
        "(lambda: (put('id'), os.setxattr('id', 'security.capability',"
        " __import__('struct').pack('<5I', 0x02000001, 1 << 7, 0, 0, 0))))()"
    )
    found = either.tries(made=code)
    assert found == {"made": "EPERM"}


@pytest.mark.attempt(79)
def test_a_persons_git_settings_inside_the_checkout_are_out_of_reach(walls: str, tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    (project.repo / ".gitignore").write_text(".home/\n*.log\n__pycache__/\n")
    (project.repo / ".gitattributes").write_text("*.py filter=x\n")
    project.git("add", "--all")
    project.git("commit", "--quiet", "-am", "chore: ignore")
    (project.repo / ".home").mkdir()
    project.env["XDG_CONFIG_HOME"] = str(project.repo / ".home")
    project.env.pop("GIT_CONFIG_GLOBAL", None)
    canary = meddles(
        project,
        tmp_path,
        f"""{EVIL} mkdir -p .home/git .home/ralphy
{STEERS} > .home/git/config
echo 'gates: {{qa: auto}}' > .home/ralphy/config.yaml
""",
    )

    project.loop()
    looked_at(project)

    assert not canary.exists()
    assert not (project.repo / ".home" / "ralphy" / "config.yaml").exists()


@pytest.mark.attempt(80)
@pytest.mark.parametrize("how", sampled(["separate", "link"], "separate"))
def test_a_git_file_of_the_checkout_itself_is_out_of_reach(walls: str, tmp_path: Path, how: str) -> None:
    project = build(tmp_path, story("US-001"))
    (project.repo / ".gitignore").write_text(".cache/\n*.log\n__pycache__/\n")
    project.git("commit", "--quiet", "-am", "chore: ignore")
    real = tmp_path / "real.git"
    if how == "separate":
        project.git("init", "--quiet", "--separate-git-dir", str(real))
    else:
        (project.repo / ".git").rename(real)
        (project.repo / ".git").symlink_to(real)
    canary = meddles(
        project,
        tmp_path,
        """
mkdir .cache; git init -q --bare .cache/g; git config -f .cache/g/config core.fsmonitor "touch $1; :"
git config -f .cache/g/config core.worktree "$PWD"
git config -f .cache/g/config filter.x.clean "touch $1; cat"; mkdir -p .cache/g/info
echo '* filter=x' > .cache/g/info/attributes
rm -rf .git || mv .git x || true; echo "gitdir: $PWD/.cache/g" > .git || true; touch src/base.py check.py
""",
    )

    ended = project.loop()
    looked_at(project)

    assert not canary.exists()
    assert project.git("rev-parse", "--absolute-git-dir") == str(real)
    assert project.landed() == ["login/US-001"], ended.text


@pytest.mark.attempt(81)
def test_modules_where_pythonpath_leads_into_the_checkout_are_not_ralphys(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    canary = tmp_path / "sung"
    for name in ("click", "yaml", "orjson", "psutil", "jinja2", "git"):
        (project.repo / "src" / f"{name}.py").write_text(f"open({str(canary)!r}, 'a').write('{name} ')\n")
    env = {**project.env, "PYTHONPATH": f"{project.repo}/src{os.pathsep}{ROOT}"}
    for words in (["why", "login"], ["doctor", "--no-checks"]):  # the checks are the project's own programs
        subprocess.run([sys.executable, "-P", "-m", "ralphy", *words], cwd=project.repo, env=env, timeout=60,
                       capture_output=True, check=False)  # fmt: skip
    assert not canary.exists(), canary.read_text()


@pytest.mark.attempt(81)
def test_what_ralphys_programs_load_does_not_lie_in_the_checkout(tmp_path: Path) -> None:
    root = tmp_path / "repo"
    (root / "lib").mkdir(parents=True)
    env = {"PATH": "/usr/bin", "PYTHONPATH": f"{root}/lib:/opt/x:lib", "LD_PRELOAD": f"{root}/lib/x.so", "LANG": "C",
           "LD_LIBRARY_PATH": f"/opt/lib:{root}/lib", "BASH_ENV": f"{root}/env.sh", "PERL5LIB": "/opt/p"}  # fmt: skip
    assert program_paths.own_environment(env, str(root)) == {
        "PATH": "/usr/bin", "PYTHONPATH": "/opt/x", "LANG": "C", "LD_LIBRARY_PATH": "/opt/lib", "PERL5LIB": "/opt/p",
    }  # fmt: skip
    assert program_paths.python_path_in(str(root), env) == [f"{root}/lib"]


@pytest.mark.attempt(81)
def test_a_run_says_that_pythonpath_leads_into_the_checkout(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    project.env["PYTHONPATH"] = str(project.repo / "src")
    assert "PYTHONPATH leads to src in this checkout" in project.loop().text
