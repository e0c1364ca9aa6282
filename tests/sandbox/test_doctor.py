"""`ralphy doctor` starts nothing that an agent could have written."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.conftest import program
from tests.engine.building import Project, build, story


def doctor(project: Project) -> str:
    return project.call("doctor")[1]


@pytest.mark.attempt(24)
def test_the_interpreter_of_a_check_is_looked_up_and_not_run(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": ".venv/bin/python -m pytest -q"}])
    program(project.repo / ".venv" / "bin" / "python", f"echo ran > {tmp_path}/canary")
    doctor(project)
    assert not (tmp_path / "canary").exists()


@pytest.mark.attempt(24)
def test_nor_is_what_a_modules_search_path_in_the_repository_would_run(tmp_path: Path) -> None:
    check = f"{sys.executable} -m no_such_module"
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": check}])
    (project.repo / "sitecustomize.py").write_text(f"open({str(tmp_path / 'canary')!r}, 'w')")
    project.env["PYTHONPATH"] = "."
    doctor(project)
    assert not (tmp_path / "canary").exists()


@pytest.mark.attempt(24)
@pytest.mark.parametrize("command", [["./agent"], ["sh", "agent"], ["sh", "./agent", "--now"]], ids=" ".join)
def test_an_agents_program_of_the_repository_is_not_asked_for_its_version(tmp_path: Path, command: list[str]) -> None:
    project = build(tmp_path, story("US-001"), agent={"command": command})
    program(project.repo / "agent", f"echo ran > {tmp_path}/canary")
    doctor(project)
    assert not (tmp_path / "canary").exists()
