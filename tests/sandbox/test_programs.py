"""Ralphy's own programs are never taken from where an agent can write, whatever PATH says."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path

import pytest

from ralphy.errors import EnvironmentProblem
from ralphy.processes import program_paths
from tests.conftest import program
from tests.core.test_layers import MODULES, parsed
from tests.engine.building import Project, build, story, works

NAMES = {"git", "gh", "bwrap", "ssh", "python", "python3"}
# Plays the agent and the person of a demo, in a folder of their own.
PLAYED = ("ralphy/rehearsal/", "ralphy/demo/")


def planted(project: Project, tmp_path: Path) -> tuple[Path, str]:
    """(a file that grows when a planted program runs outside of the sandbox, a script that plants them)."""
    heard = tmp_path / "outside"
    project.env["PATH"] = f"{project.repo}/.venv/bin:.:{os.environ['PATH']}"
    outside = '[ "$(cat /proc/1/comm)" = bwrap ]'
    does = f'{outside} || echo "$0 $*" >> {heard}\nexec /usr/bin/"${{0##*/}}" "$@"'
    script = program(tmp_path / "planted", does)
    return heard, f"cd {project.repo}; mkdir -p .venv/bin; for p in git gh bwrap ssh; do cp {script} .venv/bin/$p; done"


@pytest.mark.attempt(22)
def test_a_git_that_an_agent_plants_on_path_is_not_run_by_ralphy(walls: str, tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"))
    (project.repo / ".gitignore").write_text(".venv/\n*.log\n__pycache__/\n")
    project.git("commit", "--quiet", "-am", "chore: ignore")
    heard, plant = planted(project, tmp_path)
    project.play(stories={"US-001": [works(run=[["sh", "-c", plant]])], "US-002": [works()]})

    project.loop()
    for words in (["status", "login"], ["status", "login"], ["attempts", "list", "login"], ["doctor"]):
        project.call(*words)

    assert (project.repo / ".venv" / "bin" / "git").exists() is (walls == "without")
    assert not heard.exists(), heard.read_text()
    assert project.landed() == ["login/US-001", "login/US-002"]


@pytest.mark.attempt(22)
def test_no_entry_that_leads_into_the_checkout_is_searched(tmp_path: Path) -> None:
    root, other = tmp_path / "repo", tmp_path / "other"
    tool = program(root / "bin" / "tool", "")
    other.mkdir()
    (tmp_path / "alias").symlink_to(root)
    (tmp_path / "link").symlink_to(root / "bin")
    (root / "out").symlink_to(other)
    (other / "tool").symlink_to(tool)
    inside = ["", ".", "bin", "repo/bin", root, f"{root}/bin", f"{root}/./bin/", f"{root}/out",
              f"{root}/bin/../../other", tmp_path / "alias" / "bin", tmp_path / "link"]  # fmt: skip
    path = os.pathsep.join(map(str, [*inside, other]))

    assert program_paths.own_path(path, str(root)) == str(other)
    assert program_paths.find("tool", {"PATH": path}, str(root)) is None, "a link into the checkout"
    assert program_paths.find("tool", {"PATH": path}, "") == f"{root}/bin/tool"


def started_by_name(module: str) -> list[str]:
    """Command lines in a module that begin with the bare name of one of Ralphy's own programs."""
    rows = [node.elts for node in ast.walk(parsed(module)) if isinstance(node, ast.Tuple | ast.List) and node.elts]
    lines = [row for row in rows if isinstance(row[0], ast.Constant) and row[0].value in NAMES and len(row) > 1]
    words = [row for row in lines if any(isinstance(w, ast.Starred) or _is_option(w) for w in row[1:])]
    looked_up = [node for node in ast.walk(parsed(module)) if isinstance(node, ast.Call)
                 and ast.unparse(node.func).endswith("which") and node.args
                 and isinstance(node.args[0], ast.Constant) and node.args[0].value in NAMES]  # fmt: skip
    return [*(f"line {row[0].lineno}" for row in words), *(f"line {call.lineno}" for call in looked_up)]


def _is_option(word: ast.expr) -> bool:
    return isinstance(word, ast.Constant) and isinstance(word.value, str) and word.value not in NAMES


@pytest.mark.attempt(22)
def test_nothing_is_started_by_its_bare_name() -> None:
    own = [module for module in MODULES if not module.startswith(PLAYED)]
    found = {module: lines for module in own if (lines := started_by_name(module))}
    assert found == {}


def in_its_venv(project: Project, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let this Ralphy run from the project's own environment; gives a module of it."""
    module = project.repo / ".venv" / "lib" / "click.py"
    module.parent.mkdir(parents=True)
    module.write_text("SOUND = 1\n")
    (project.repo / ".gitignore").write_text(".venv/\n*.log\n__pycache__/\n")
    project.git("commit", "--quiet", "-am", "chore: ignore")
    monkeypatch.setattr(sys, "prefix", str(project.repo / ".venv"))
    return module


@pytest.mark.attempt(23)
def test_a_ralphy_in_the_projects_environment_is_read_only_in_the_sandbox(
    sandbox: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = build(tmp_path, story("US-001"))
    module = in_its_venv(project, monkeypatch)
    project.play(stories={"US-001": [works(run=[["sh", "-c", "echo 'EVIL = 1' > .venv/lib/click.py; touch .venv/x"]])]})

    ended = project.loop()

    assert module.read_text() == "SOUND = 1\n"
    assert not (project.repo / ".venv" / "x").exists()
    assert "Ralphy itself runs from .venv in this checkout" in ended.text
    assert "pipx install" in ended.text
    assert project.landed() == ["login/US-001"]


@pytest.mark.attempt(23)
def test_strict_refuses_a_ralphy_that_agents_could_edit(
    sandbox: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = build(tmp_path, story("US-001"), safety={"level": "strict"})
    in_its_venv(project, monkeypatch)

    with pytest.raises(EnvironmentProblem, match="Ralphy itself runs from"):
        project.loop()
    assert project.journal("run") == []
