"""A first night with the free stand-in: its stories have tests, so that nothing in it is flagged."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.engine.building import Project, build, story
from tests.engine.pytested import pytested

UNITTEST = "import unittest\n\nimport calc\n\n\nclass TestAdd(unittest.TestCase):\n    def test_add(self):\n"
FILES = {
    "python": {
        "calc.py": "def add(a, b):\n    return a + b\n",
        "tests/__init__.py": "",
        "tests/test_calc.py": f"{UNITTEST}        self.assertEqual(calc.add(1, 2), 3)\n",
    },
    "node": {
        "package.json": json.dumps({"scripts": {"test": "node --test"}}),
        "calc.js": "function add(a, b) {\n  return a + b;\n}\nexports.add = add;\n",
        "test/calc.test.js": """const test = require("node:test");
const assert = require("node:assert");
const { add } = require("../calc.js");

test("add", () => {
  assert.equal(add(1, 2), 3);
});
""",
    },
}


def assert_nothing_flagged(project: Project) -> None:
    project.play()
    project.loop(agents=1)
    assert project.landed() == ["login/US-001"]
    evidence = project.story("US-001")["evidence"]
    assert evidence.get("warnings", []) == []
    assert evidence["tests"]["red_first"]["tests"]


def test_in_a_project_with_pytest(tmp_path: Path) -> None:
    assert_nothing_flagged(pytested(tmp_path, story("US-001"), verify={"unproved": "flag"}))


@pytest.mark.parametrize(
    ("which", "run"),
    [
        ("python", f"{sys.executable} -m unittest discover -v"),
        pytest.param("node", "node --test", marks=[pytest.mark.soak, pytest.mark.skipif(
            not shutil.which("node"), reason="node is not installed")]),
    ],
)  # fmt: skip
def test_in_a_project_with_another_runner(which: str, run: str, tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": run}], verify={"unproved": "flag"})
    for name, text in FILES[which].items():
        (project.repo / name).parent.mkdir(exist_ok=True)
        (project.repo / name).write_text(text)
    (project.repo / "check.py").unlink()
    shutil.rmtree(project.repo / "src")
    project.commit("feat: a calculator")
    assert_nothing_flagged(project)
