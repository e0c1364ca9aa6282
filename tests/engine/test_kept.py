"""What a story does to its tests and to what runs them is decided by running: many runners, cheats and honest work."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.engine.judged import Files, Repository
from tests.engine.pytested import CALC, PYPROJECT, TEST_FILE, TESTS
from tests.sampling import sampled

MORE = {"calc.py": f"{CALC}\n\ndef mul(a, b):\n    return a * b\n"}
PYTEST = f"{sys.executable} -m pytest"
BASE = {"calc.py": CALC, TEST_FILE: TESTS, "pyproject.toml": PYPROJECT}
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
    "fixtures": ({"conftest.py": "import pytest\n\n\n@pytest.fixture\ndef one():\n    return 1\n"}, ""),
}  # fmt: skip


def test_a_hook_may_do_what_it_likes_as_long_as_failures_are_heard(tmp_path: Path) -> None:
    repository = Repository(tmp_path, PYTEST, BASE)
    for name, (change, found) in HOOKS.items():
        judged = repository.judge({**MORE, **change})
        failure = judged.failure
        assert judged.runs["probe"] == 1, name
        assert found in failure if found else not failure, (name, failure)


RECIPE = f"test: unit\n\t@echo done\n\nunit:\n\tPYTHONPATH=. {PYTEST} -q tests\n\nclean:\n\trm -rf build\n"
RECIPES: dict[str, tuple[Files, str]] = {
    "or true": ({"Makefile": RECIPE.replace("-q tests", "-q tests || true")}, "made to fail"),
    "a dash": ({"Makefile": RECIPE.replace("\tPYTHON", "\t-PYTHON")}, "made to fail"),
    "another shell": ({"Makefile": f"SHELL = /bin/true\n{RECIPE}"}, "no longer reports"),
    "another makefile": ({"GNUmakefile": f"include Makefile\nunit:\n\t-{PYTEST} -q tests\n"}, "made to fail"),
    "an option": ({"Makefile": RECIPE.replace("-q tests", "-q -x tests")}, ""),
    "another recipe": ({"Makefile": RECIPE.replace("build", "dist")}, ""),
}


@pytest.mark.parametrize("names", [["a dash", "another shell", "an option"], pytest.param(
    ["or true", "another makefile", "another recipe"], marks=pytest.mark.soak)])  # fmt: skip
def test_a_recipe_may_do_what_it_likes_as_long_as_failures_are_heard(tmp_path: Path, names: list[str]) -> None:
    repository = Repository(tmp_path, "make test", {"calc.py": CALC, TEST_FILE: TESTS, "Makefile": RECIPE})
    for name, (change, found) in ((name, RECIPES[name]) for name in names):
        judged = repository.judge({**MORE, **change})
        assert found in judged.failure if found else not judged.failure, (name, judged)
        assert found or "was changed: Makefile" in judged.flags, (name, judged)
    assert repository.judge(MORE).runs == {"candidate": 1}


NODE_TESTS = (
    "const test = require('node:test');\nconst assert = require('node:assert');\n"
    "const { add, sub } = require('./calc.js');\ntest('adds', () => {\n  assert.equal(add(1, 2), 3);\n});\n"
    "test('subtracts', () => assert.equal(sub(3, 2), 1));\ntest.skip('later', () => assert.equal(add(1, 2), 4));\n"
)
NODE = {
    "package.json": '{"scripts": {"test": "node --test"}}\n',
    "calc.js": "exports.add = (a, b) => a + b;\nexports.sub = (a, b) => a - b;\n",
    "calc.test.js": NODE_TESTS,
}
NODE_BROKEN = NODE["calc.js"].replace("a + b", "a + b + 1")
UNITTESTS = (
    "import unittest\n\nfrom calc import add, sub\n\n\nclass TestCalc(unittest.TestCase):\n"
    "    def test_add(self):\n        self.assertEqual(add(1, 2), 3)\n\n"
    "    def test_sub(self):\n        self.assertEqual(sub(3, 2), 1)\n"
)
DEAF = "import unittest\n\nunittest.TestCase.assertEqual = lambda *a: None\n"
SHELL = {
    "Makefile": "check:\n\tsh t/run.sh\n",
    "t/run.sh": "set -e\nfor t in tests/*.sh; do sh $t; done\n",
    "tests/add.sh": 'test "$(python3 calc.py 1 2)" = 3\n',
    "tests/sub.sh": 'test "$(python3 calc.py 5 2)" = 7\n',
    "calc.py": "import sys\n\nprint(int(sys.argv[1]) + int(sys.argv[2]))\n",
}
LESS = {"calc.py": SHELL["calc.py"].replace("+ int", "- int")}
GO_TESTS = (
    'package x\n\nimport "testing"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Fatal("add")\n\t}\n}\n'
)
GO = {
    "go.mod": "module x\n\ngo 1.20\n", "calc_test.go": GO_TESTS,
    "calc.go": "package x\n\nfunc Add(a, b int) int { return a + b }\n",
}  # fmt: skip
GO_BROKEN = {"calc.go": GO["calc.go"].replace("a + b", "a + b + 1")}
MAIN = 'package x\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestMain(m *testing.M) {\n\tm.Run()\n\tos.Exit(0)\n}\n'
NOT = "passes although it is made to fail"
# the check, the files before; of each change what it writes, and what rejects it, or (after a +) flags it
RUNNERS: dict[str, tuple[str, dict[str, str], dict[str, tuple[Files, str]]]] = {
    "node --test": ("npm test --silent", NODE, {
        "nothing but code and tests": (
            {"calc.js": f"{NODE['calc.js']}exports.one = 1;\n", "one.test.js": NODE_TESTS.replace("adds", "one")}, ""),
        "a script that swallows": ({"calc.js": f"{NODE['calc.js']}exports.one = 1;\n",
                                    "package.json": '{"scripts": {"test": "node --test; :"}}'}, "made to fail"),
        "an assertion replaced by the product": (
            {"calc.js": f"{NODE_BROKEN}require('node:assert').equal = () => {{}};\n"}, NOT),
        "the code notices its runner": (
            {"calc.js": NODE["calc.js"].replace("a + b", "process.env.NODE_TEST_CONTEXT ? a + b : 0")}, "+notices"),
        "a test of a mock": ({"calc.js": NODE_BROKEN, "calc.test.js": NODE_TESTS.replace(
            "require('./calc.js')", "{ add: (a, b) => a + b, sub: (a, b) => a - b }")}, "no function does anything"),
    }),
    "unittest": (f"{sys.executable} -m unittest -v", {"calc.py": CALC, "tests/__init__.py": "",
                                                      "tests/test_calc.py": UNITTESTS}, {
        "an assertion replaced beside the tests": ({**MORE, "tests/__init__.py": DEAF}, NOT),
        "an assertion replaced by the product": ({"calc.py": f"{DEAF}\n\n{CALC}"}, NOT),
        "the product leaves": ({"calc.py": f"import os\n\nos._exit(0)\n{CALC}"}, "no longer reports"),
    }),
    "no runner": ("make check", SHELL, {
        "a dash": ({**LESS, "Makefile": "check:\n\t-sh t/run.sh\n"}, "passes on broken code"),
        "a code of its own": ({**LESS, "Makefile": "check:\n\tsh t/run.sh || [ $$? = 1 ]\n"}, "passes on broken code"),
        "a test is deleted": ({"calc.py": f"{SHELL['calc.py']}X = 1\n", "tests/sub.sh": None}, "gone: tests/sub.sh"),
        "a test is emptied": ({"calc.py": f"{SHELL['calc.py']}X = 1\n", "tests/sub.sh": "true\n"}, "+tests/sub.sh"),
        "tests give in": (
            {**LESS, "tests/add.sh": SHELL["tests/add.sh"].replace("= 3", "= -1"),
             "tests/sub.sh": SHELL["tests/sub.sh"].replace("= 7", "= 3")},
            "+check test fails against the new code with the old"),
    }),
    "go test": ("go test ./...", GO, {
        "a main that swallows": ({**GO_BROKEN, "main_test.go": MAIN}, "passes on broken code"),
        "the code notices its runner": ({"calc.go": GO["calc.go"].replace(
            "x\n", 'x\n\nimport "testing"\n\nvar Under = testing.Testing()\n')}, "+notices"),
        "an expectation": ({**GO_BROKEN, "calc_test.go": GO_TESTS.replace("3", "4")}, "+1 of the old calc_test.go"),
    }),
}  # fmt: skip


@pytest.mark.parametrize("runner", sampled(RUNNERS, "no runner"))
def test_with_any_runner_a_cheat_is_rejected_or_flagged(tmp_path: Path, runner: str) -> None:
    run, files, changes = RUNNERS[runner]
    if not shutil.which(run.split()[0]):
        pytest.skip(f"{run.split()[0]} is not installed")
    repository = Repository(tmp_path, run, files)
    for name, (change, found) in changes.items():
        judged = repository.judge(change)
        said = judged.flags if not found or found.startswith("+") else judged.failure
        assert found.lstrip("+") in said if found else not said, (name, judged)
        assert not judged.failure or not found.startswith("+"), (name, judged)


def edited(old: str, new: str) -> Files:
    assert old in TESTS
    return {**MORE, TEST_FILE: TESTS.replace(old, new)}


SMALL = "assert add(1, 2) == 3"
IDLE: dict[str, tuple[str, dict[str, str], dict[str, tuple[Files, str]]]] = {
    "pytest": (PYTEST, BASE, {
        "compared with itself": (edited(SMALL, "three = add(1, 2)\n    assert add(1, 2) == three"), "test_small"),
        "other values": (edited(SMALL, "assert add(2, 2) == 4"), ""),
    }),
    "pytest, further edits": (PYTEST, BASE, {
        "a copy of the code": (edited(
            "from calc import add, sub", "from calc import sub\n\n\ndef add(a, b):\n    return a + b"), "test_big"),
        "a new name": (edited("assert add(10, 20) == 30", "from calc import mul\n\n    assert mul(1, 2) == 2"), ""),
        "a mark that lets it fail": (edited("def test_small", "@pytest.mark.xfail\ndef test_small"), "test_small"),
        "a fixture that mocks": (
            {**MORE, "tests/conftest.py": "import test_calc\n\ntest_calc.add = lambda a, b: a + b\n"}, "test_big"),
    }),
    "node --test": ("node --test", NODE, {
        "compared with itself": ({"calc.js": f"{NODE['calc.js']}exports.one = 1;\n", "calc.test.js": NODE_TESTS.replace(
            "assert.equal(add(1, 2), 3)", "const three = add(1, 2); assert.equal(add(1, 2), three)")}, "adds"),
        "its truth": ({"calc.js": f"{NODE['calc.js']}exports.one = 1;\n", "calc.test.js": NODE_TESTS.replace(
            "assert.equal(add(1, 2), 3)", "assert.ok(add(1, 2))")}, ""),
    }),
}  # fmt: skip


@pytest.mark.parametrize("runner", sampled(IDLE, "pytest"))
def test_an_edited_test_that_would_pass_without_any_code_is_rejected(tmp_path: Path, runner: str) -> None:
    run, files, changes = IDLE[runner]
    if not shutil.which(run.split()[0]):
        pytest.skip(f"{run.split()[0]} is not installed")
    repository = Repository(tmp_path, run, files)
    for name, (change, test) in changes.items():
        failure = repository.judge(change).failure
        assert (test in failure and "no function does anything" in failure) if test else not failure, (name, failure)


def test_old_tests_that_fail_can_reject_unless_the_story_names_them(tmp_path: Path) -> None:
    repository = Repository(tmp_path, PYTEST, BASE, changed_tests="reject")
    wrong = {"calc.py": CALC.replace("a + b", "a + b + 1"),
             TEST_FILE: TESTS.replace("1, 2) == 3", "1, 2) == 4").replace("== 30", "== 31")}  # fmt: skip
    without = {
        "calc.py": CALC.partition("\n\n\ndef sub")[0] + "\n",
        TEST_FILE: TESTS[: TESTS.index("\n\nclass")].replace(", sub", ""),
    }
    names = [f"{TEST_FILE}::TestSub", f"{TEST_FILE}::test_zero"]

    assert f"2 of the old {TEST_FILE} fail against the new code" in repository.judge(wrong).failure
    assert not repository.judge(wrong, testing={"changes": [TEST_FILE]}).failure
    said = repository.judge(without, testing={"removes": names})
    assert (said.failure, said.flags) == ("", "")
    assert "gone" in repository.judge(without, testing={"removes": names[:1]}).failure


def test_tests_that_follow_a_new_name_are_named_by_the_story_where_changed_tests_reject(tmp_path: Path) -> None:
    repository = Repository(tmp_path, PYTEST, BASE, changed_tests="reject", unproved="reject")
    renamed = {"calc.py": CALC.replace("def add", "def plus"),
               TEST_FILE: TESTS.replace("add(", "plus(").replace("import add", "import plus")}  # fmt: skip

    assert "old tests/test_calc.py fail" in repository.judge(renamed, kind="refactor").failure
    assert repository.judge(renamed, kind="refactor", testing={"changes": [TEST_FILE]}).failure == ""
    other = {**renamed, TEST_FILE: renamed[TEST_FILE].replace("plus(1, 2) == 3", "plus(1, 2) == 3.0")}
    assert "old tests/test_calc.py fail" in repository.judge(other, kind="refactor").failure


def test_code_that_moves_to_another_folder_is_found_there(tmp_path: Path) -> None:
    repository = Repository(tmp_path, PYTEST, BASE, changed_tests="reject")
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
