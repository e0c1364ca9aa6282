"""Ralphy starts fast: what a command does not need is not loaded."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.conftest import Call, Make
from tests.engine.building import PATIENCE_S, ROOT, Project, story

HEAVY = {"jsonschema", "git", "jinja2", "watchfiles", "rich", "yaml", "asyncio", "psutil", "requests"}
PROBE = (
    "import sys; from ralphy.cli.main import main; code = main(sys.argv[1:]);"
    "sys.stderr.write('\\n' + ' '.join(sys.modules)); sys.exit(code)"
)


def loaded(project: Project, *words: str) -> set[str]:
    """The modules that a call had loaded when it ended; ralphy's own by their full names."""
    ended = subprocess.run(
        [sys.executable, "-P", "-c", PROBE, *words], cwd=project.repo, env={**project.env, "PYTHONPATH": str(ROOT)},
        capture_output=True, encoding="utf-8", timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    names = ended.stderr.splitlines()[-1].split()
    return {name if name.startswith("ralphy") else name.partition(".")[0] for name in names}


@pytest.fixture
def started(made: Make) -> tuple[Project, Call]:
    return made(*(story(f"US-{n:03}", priority=n) for n in range(1, 201)))


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("-h",)])
def test_help_loads_no_command(started: tuple[Project, Call], words: tuple[str, ...]) -> None:
    modules = loaded(started[0], *words)
    assert modules & HEAVY == set()
    own = {name.removeprefix("ralphy.").partition(".")[0] for name in modules if name.startswith("ralphy.")}
    assert own <= {"cli", "text", "errors"}


def test_a_first_status_loads_nothing_heavy_but_the_readers_of_settings_and_stories(
    started: tuple[Project, Call],
) -> None:
    assert loaded(started[0], "status") & HEAVY <= {"yaml", "jsonschema", "psutil"}


@pytest.mark.parametrize("words", [("status",), ("status", "--json"), ("status", "login"), ("--json", "status")])
def test_a_later_status_reads_the_view_alone(started: tuple[Project, Call], words: tuple[str, ...]) -> None:
    project, call = started
    call("status")
    modules = loaded(project, *words)
    assert modules & {*HEAVY, "pathlib", "subprocess"} == set()
    assert {name for name in modules if name.startswith("ralphy.engine")} == set()


def test_why_loads_no_templates_or_watchers(started: tuple[Project, Call]) -> None:
    assert loaded(started[0], "why") & HEAVY <= {"yaml", "jsonschema", "psutil"}


def test_the_list_of_stories_does_not_load_the_ledger(started: tuple[Project, Call]) -> None:
    assert "git" not in loaded(started[0], "story", "list")
