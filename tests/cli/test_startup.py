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


def test_help_loads_no_command(started: tuple[Project, Call]) -> None:
    modules = loaded(started[0], "--help")
    assert modules & HEAVY == set()
    own = {name.removeprefix("ralphy.").partition(".")[0] for name in modules if name.startswith("ralphy.")}
    assert own <= {"cli", "text", "errors"}


# What only a run needs: lanes, their sandbox, readers of what checks and tests say.
OF_A_RUN = (
    *("ralphy.lanes", "ralphy.sandbox", "ralphy.engine.lane_use", "ralphy.engine.runs", "ralphy.checks.runner_output"),
    *("ralphy.testguard.hollow", "ralphy.testguard.hunks", "ralphy.detect", "ralphy.forge"),
)


def test_status_loads_the_reader_of_the_configuration_and_nothing_of_a_run(started: tuple[Project, Call]) -> None:
    modules = loaded(started[0], "status", "--json")
    assert modules & HEAVY <= {"yaml", "jsonschema", "psutil"}
    assert {name for name in modules if name.startswith(OF_A_RUN)} <= {"ralphy.lanes", "ralphy.lanes.lanes_folder"}
