"""A small real project whose check is pytest: what an agent does to its tests shows in what pytest then runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from tests.engine.building import ONE_RUN, Act, Project, build, story

CALC = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n"
TESTS = """\
import pytest

from calc import add, sub


def test_small():
    assert add(1, 2) == 3


def test_big():
    assert add(10, 20) == 30


def test_types():
    with pytest.raises(TypeError):
        add(1, None)
    assert isinstance(add(1, 2), int)


class TestSub:
    def test_sub(self):
        assert sub(3, 2) == 1


@pytest.mark.parametrize("n", [1, 2, 3])
def test_zero(n):
    assert sub(n, n) == 0
"""
PYPROJECT = '[tool.pytest.ini_options]\npythonpath = ["."]\ntestpaths = ["tests"]\naddopts = "-q -p no:cacheprovider"\n'
TEST_FILE = "tests/test_calc.py"


def pytested(tmp_path: Path, *stories: Act, run: str = "", **settings: Any) -> Project:
    """Seven tests, all green, and an agent that is yet to be told what to play."""
    command = run or f"{sys.executable} -m pytest"
    checks = [{"name": "test", "run": command}]
    project = build(tmp_path, *(stories or (story("US-001"),)), **{"checks": checks, **settings})
    repo = project.repo
    (repo / "tests").mkdir()
    for name, text in {"calc.py": CALC, TEST_FILE: TESTS, "pyproject.toml": PYPROJECT}.items():
        (repo / name).write_text(text)
    (repo / "check.py").unlink()
    project.commit("feat: a calculator")
    return project


def played(tmp_path: Path, act: Act, **settings: Any) -> Project:
    """The project after its only story's only attempt, which was this act; nothing was run after it."""
    project = pytested(tmp_path, story("US-001"), limits={"max_attempts": 1}, **settings)
    project.play(stories={"US-001": [act]})
    project.loop(**ONE_RUN)
    return project


def feature(**more: Any) -> Act:
    """The act of an agent that adds a function; `more` is what it does to the tests on the way."""
    return {"append": {"calc.py": "\n\ndef mul(a, b):\n    return a * b\n"}, **more}


def edited(old: str, new: str, text: str = TESTS) -> dict[str, str]:
    """The file of the tests with one part in another form."""
    assert old in text
    return {TEST_FILE: text.replace(old, new)}
