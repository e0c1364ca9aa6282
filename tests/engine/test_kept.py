"""What a story does to its tests and to what runs them is decided by running: many runners, cheats and honest work."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.engine.judged import Files, Repository
from tests.engine.pytested import (
    CALC,
    PYPROJECT,
    PYTEST,
    PYTESTS,
    TEST_FILE,
    TESTS,
    UNITTEST,
    UNITTESTED,
    UNITTESTS,
    cases,
)

MORE = {"calc.py": f"{CALC}\n\ndef mul(a, b):\n    return a * b\n"}
REPORT = (
    "import pytest\n\n\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
    "    report = yield\n    {}\n    return report\n"
)
HOOKS: dict[str, tuple[Files, str]] = {
    "an outcome is set by another name": (
        {"tests/conftest.py": REPORT.format("vars(report)['out' + 'come'] = 'passed'")}, "made to fail"),
    "a test is replaced": (
        {"conftest.py": "def pytest_itemcollected(item):\n    item.obj = lambda **_: None\n"}, "made to fail"),
    "the runner leaves early": ({"conftest.py": "import atexit, os\n\natexit.register(os._exit, 0)\n"}, "made to fail"),
    "a report is kept": ({"conftest.py": REPORT.format("item.report = report")}, ""),
}  # fmt: skip


def test_a_hook_may_do_what_it_likes_as_long_as_failures_are_heard(tmp_path: Path) -> None:
    repository = Repository(tmp_path, PYTEST, PYTESTS)
    for name, (change, found) in HOOKS.items():
        judged = repository.judge({**MORE, **change})
        failure = judged.failure
        assert judged.runs["probe"] == 1, name
        assert found in failure if found else not failure, (name, failure)


ASKS_MUL = "\n\ndef test_mul():\n    from calc import mul\n    assert mul(2, 3) == 6\n"
BENDS = {  # what a file of tests does to all the others, beside a good test
    "an assertion is patched": "import unittest\n\nvars(unittest)['TestCase'].assertEqual = lambda *_: None\n",
    "an assertion is patched by a name made up of parts":
        "import unittest\n\nsetattr(unittest.TestCase, 'assert' + 'True', lambda *_: None)\n",
    "a failure is a test that is skipped":
        "import unittest\n\nunittest.TestCase.failureException = unittest.SkipTest\n",
    "the runner leaves well": "import importlib\n\nleave = getattr(importlib.import_module('o' + 's'), '_exit')\n"
        "getattr(importlib.import_module('at' + 'exit'), 'register')(leave, 0)\n",
    "the report is another one": "import importlib\n\njunit = importlib.import_module('_pytest.junit' + 'xml')\n"
        "junit._NodeReporter.append_failure = lambda self, report: None\n",
}  # fmt: skip


@pytest.mark.parametrize("unproved", ["flag", "off"])
def test_a_file_of_tests_that_keeps_failures_from_being_heard_is_rejected_in_any_words(
    tmp_path: Path, unproved: str
) -> None:
    repository = Repository(tmp_path, PYTEST, PYTESTS, unproved=unproved)
    for name, bends in BENDS.items():
        judged = repository.judge({**MORE, "tests/test_mul.py": bends + ASKS_MUL})
        assert "made to fail" in judged.failure or "test passes although" in judged.failure, (name, judged)
    honest = repository.judge({**MORE, "tests/test_mul.py": f"import unittest.mock{ASKS_MUL}"})
    asked = {"red_first": 1} if unproved == "flag" else {"probe": 1}
    assert (honest.failure, honest.runs) == ("", {"candidate": 1, **asked})


RECIPE = f"test: unit\n\t@echo done\n\nunit:\n\t{sys.executable} -m unittest -v\n\nclean:\n\trm -rf build\n"
RECIPES: dict[str, tuple[Files, str]] = {
    "or true": ({"Makefile": RECIPE.replace("-v", "-v || true")}, "made to fail"),
    "a dash": ({"Makefile": RECIPE.replace("unit:\n\t", "unit:\n\t-")}, "made to fail"),
    "another shell": ({"Makefile": f"SHELL = /bin/true\n{RECIPE}"}, "no longer reports"),
    "another makefile": (
        {"GNUmakefile": f"include Makefile\nunit:\n\t-{sys.executable} -m unittest -v\n"}, "made to fail"),
    "an option": ({"Makefile": RECIPE.replace("-v", "-v -f")}, ""),
    "another recipe": ({"Makefile": RECIPE.replace("build", "dist")}, ""),
}  # fmt: skip


def test_a_recipe_may_do_what_it_likes_as_long_as_failures_are_heard(tmp_path: Path) -> None:
    stops = "import os\n\n\ndef stop():\n    os._exit(0)\n"
    repository = Repository(tmp_path, "make test", {**UNITTESTED, "Makefile": RECIPE, "stop.py": stops})
    for name, (change, found) in RECIPES.items():
        judged = repository.judge({**MORE, **change})
        assert found in judged.failure if found else not judged.failure, (name, judged)
        assert found or "was changed: Makefile" in judged.flags, (name, judged)
    beside = repository.judge({**MORE, "stop.py": f"{stops}\n\ndef go():\n    return 1\n"})
    assert (beside.flags, beside.runs) == ("", {"candidate": 1})  # the word that ends a runner was there before


NODE = {
    "calc.js": "exports.add = (a, b) => a + b;\n",
    "calc.test.js": "const test = require('node:test');\nconst assert = require('node:assert');\n"
                    "const { add } = require('./calc.js');\n"
                    "test('adds small numbers', () => assert.equal(add(1, 2), 3));\n"
                    "test('adds big numbers', () => assert.equal(add(10, 20), 30));\n",
}  # fmt: skip
NODE_BROKEN = NODE["calc.js"].replace("a + b", "a + b + 1")


@pytest.mark.fault("A3")
@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_tests_of_node_are_known_by_what_it_prints(tmp_path: Path) -> None:
    repository = Repository(tmp_path, "node --test", NODE, unproved="flag")
    tests = NODE["calc.test.js"]
    more = {"calc.js": f"{NODE['calc.js']}exports.mul = (a, b) => a * b;\n"}
    mul = tests.partition("test('adds small")[0].replace("add", "mul") + (
        "test('multiplies', () => assert.equal(mul(2, 3), 6));\n"
    )

    skipped = repository.judge({"calc.js": NODE_BROKEN, "calc.test.js": tests.replace("test('adds", "test.skip('adds")})
    assert "skipped or expected to fail: adds" in skipped.failure
    turned = tests.replace("2), 3)", "2), 4)").replace("20), 30)", "20), 31)")
    said = "2 of the old calc.test.js fail against the new code: adds small numbers, adds big numbers"
    assert said in repository.judge({"calc.js": NODE_BROKEN, "calc.test.js": turned}).warnings
    assert repository.judge({**more, "calc.test.js": tests.replace("big", "large")}).failure == ""
    proved = repository.judge({**more, "mul.test.js": mul}).tests["red_first"]
    assert proved == {"number": 1, "tests": ["multiplies"]}


IDLE: dict[str, tuple[str, str]] = {  # what the assertion of a test becomes, and which test is named
    "compared with itself": ("add(1, 2), add(1, 2))", "test_small"),
    "other values": ("add(2, 2), 4)", ""),
}


def test_an_edited_test_that_would_pass_without_any_code_is_rejected(tmp_path: Path) -> None:
    repository = Repository(tmp_path, UNITTEST, UNITTESTED)
    for name, (asks, test) in IDLE.items():
        edit = UNITTESTS.replace("add(1, 2), 3)", asks).replace("        self.assertIsInstance(add(1, 2), int)\n", "")
        failure = repository.judge({**MORE, TEST_FILE: edit}).failure
        assert (test in failure and "no function does anything" in failure) if test else not failure, (name, failure)


def test_a_mark_by_which_an_old_test_may_fail_is_rejected(tmp_path: Path) -> None:
    marked = TESTS.replace("def test_small", "@pytest.mark.xfail\ndef test_small")
    failure = Repository(tmp_path, PYTEST, PYTESTS).judge({**MORE, TEST_FILE: marked}).failure
    assert "test_small" in failure and "no function does anything" in failure


def test_old_tests_that_fail_can_reject_unless_the_story_names_them(tmp_path: Path) -> None:
    named = "tests/test_sub.py::TestIt::test_sub"
    files = {**UNITTESTED, "tests/test_sub.py": cases("from calc import sub", sub="self.assertEqual(sub(3, 2), 1)")}
    repository = Repository(tmp_path, UNITTEST, files, changed_tests="reject")
    wrong = {"calc.py": CALC.replace("a + b", "a + b + 1"),
             TEST_FILE: UNITTESTS.replace("2), 3)", "2), 4)").replace("20), 30)", "20), 31)")}  # fmt: skip
    without = {"calc.py": CALC.partition("\n\n\ndef sub")[0] + "\n", "tests/test_sub.py": None}

    assert f"2 of the old {TEST_FILE} fail against the new code" in repository.judge(wrong).failure
    assert not repository.judge(wrong, testing={"changes": [TEST_FILE]}).failure
    said = repository.judge(without, testing={"removes": [named]})
    assert (said.failure, said.flags) == ("", "")
    assert "gone" in repository.judge(without).failure


def test_tests_that_follow_a_new_name_are_named_by_the_story_where_changed_tests_reject(tmp_path: Path) -> None:
    repository = Repository(tmp_path, UNITTEST, UNITTESTED, changed_tests="reject", unproved="reject")
    renamed = {"calc.py": CALC.replace("def add", "def plus"),
               TEST_FILE: UNITTESTS.replace("add(", "plus(").replace("import add", "import plus")}  # fmt: skip

    assert "old tests/test_calc.py fail" in repository.judge(renamed, kind="refactor").failure
    assert repository.judge(renamed, kind="refactor", testing={"changes": [TEST_FILE]}).failure == ""
    other = {**renamed, TEST_FILE: renamed[TEST_FILE].replace("plus(1, 2), 3)", "plus(1, 2), 3.0)")}
    assert "old tests/test_calc.py fail" in repository.judge(other, kind="refactor").failure


def test_code_that_moves_to_another_folder_is_found_there(tmp_path: Path) -> None:
    repository = Repository(tmp_path, PYTEST, PYTESTS, changed_tests="reject")
    settings = {"pyproject.toml": PYPROJECT.replace('["."]', '["src"]')}

    assert repository.judge({"calc.py": None, "src/calc.py": CALC, **settings}, kind="refactor").failure == ""


def test_where_no_test_is_named_a_story_names_what_it_edits(tmp_path: Path) -> None:
    tests = (
        "import sys\n\nsys.path.insert(0, '.')\nfrom calc import add, sub\n\n\n"
        "def test_add():\n    assert add(1, 2) == 3\n\n\n"
        "def test_sub():\n    assert sub(3, 2) == 1\n\n\ntest_add()\ntest_sub()\n"
    )
    base = {"calc.py": CALC, "tests/run_all.py": tests}
    repository = Repository(tmp_path, f"{sys.executable} tests/run_all.py", base, changed_tests="reject")
    change = {"calc.py": CALC.replace("a - b", "a - b + 1"), "tests/run_all.py": tests.replace("2) == 1", "2) == 2")}

    named = repository.judge(change, testing={"changes": ["tests/run_all.py::test_sub"]})
    other = repository.judge(change, testing={"changes": ["tests/run_all.py::test_add"]})

    assert named.failure == ""
    assert "fails against the new code" in other.failure
