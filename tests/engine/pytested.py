"""A small real project whose check is pytest: what an agent does to its tests shows in what pytest then runs.

Where it does not matter who runs the tests, unittest does: it starts in a fifth of the time.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import indent
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
PYTEST = f"{sys.executable} -m pytest"
PYTESTS = {"calc.py": CALC, TEST_FILE: TESTS, "pyproject.toml": PYPROJECT}
UNITTESTS = """\
import unittest

from calc import add


class TestAdd(unittest.TestCase):
    def test_small(self):
        self.assertEqual(add(1, 2), 3)
        self.assertIsInstance(add(1, 2), int)

    def test_big(self):
        self.assertEqual(add(10, 20), 30)
"""
UNITTEST = f"{sys.executable} -m unittest -v"
UNITTESTED = {"calc.py": CALC, "tests/__init__.py": "", TEST_FILE: UNITTESTS}


def cases(head: str = "from calc import mul", **bodies: str) -> str:
    """A file of unittest: its imports, and the body of each test."""
    tests = "\n".join(f"    def test_{name}(self):\n{indent(body, ' ' * 8)}\n" for name, body in bodies.items())
    return f"import unittest\n\n{head}\n\n\nclass TestIt(unittest.TestCase):\n{tests}"


def pytested(
    tmp_path: Path, *stories: Act, run: str = PYTEST, files: Mapping[str, str] = PYTESTS, **settings: Any
) -> Project:
    """Seven tests, all green, and an agent that is yet to be told what to play."""
    checks = [{"name": "test", "run": run}]
    project = build(tmp_path, *(stories or (story("US-001"),)), **{"checks": checks, **settings})
    (project.repo / "tests").mkdir()
    for name, text in files.items():
        (project.repo / name).write_text(text)
    (project.repo / "check.py").unlink()
    project.commit("feat: a calculator")
    return project


def unittested(tmp_path: Path, *stories: Act, **settings: Any) -> Project:
    """The same with two tests of unittest."""
    return pytested(tmp_path, *stories, run=UNITTEST, files=UNITTESTED, **settings)


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
