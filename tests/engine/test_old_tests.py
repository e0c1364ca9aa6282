"""Edited tests of any runner: their old versions are run against the new code, and what fails there is shown."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.engine.building import ONE_RUN, Project, assert_clean, build, story
from tests.engine.pytested import CALC, TEST_FILE, TESTS
from tests.sampling import sampled

UNITTESTS = """\
import unittest

from calc import add


class TestAdd(unittest.TestCase):
    def test_small(self):
        self.assertEqual(add(1, 2), 3)

    def test_big(self):
        self.assertEqual(add(10, 20), 30)
"""
NODE_TESTS = """\
const { test, describe } = require("node:test");
const assert = require("node:assert");
const { add } = require("../calc.js");

describe("add", () => {
  test("of small numbers", () => {
    assert.strictEqual(add(1, 2), 3);
  });
  test("of big numbers", () => {
    assert.strictEqual(add(10, 20), 30);
  });
});
"""
NODE_CALC = "exports.add = (a, b) => a + b;\n"
NODE_FILE = "tests/calc.test.js"
MORE = {"calc.py": CALC.replace("a + b", "a + b + 1")}
NODE_MORE = {"calc.js": NODE_CALC.replace("a + b", "a + b + 1")}


def after_attempt(
    tmp_path: Path,
    run: str,
    files: dict[str, str],
    write: dict[str, str],
    *,
    delete: str = "",
    testing: dict[str, Any] | None = None,
) -> tuple[Project, str]:  # fmt: skip
    """A project with this check and these files, after an attempt that wrote others; and what was said."""
    checks = [{"name": "test", "run": run}]
    project = build(tmp_path, story("US-001", testing=testing or {}), checks=checks, limits={"max_attempts": 1})
    for name, text in files.items():
        (project.repo / name).parent.mkdir(exist_ok=True)
        (project.repo / name).write_text(text)
    project.git("add", *files)
    project.git("commit", "--quiet", "-m", "feat: a calculator")
    project.play(stories={"US-001": [{"write": write, **({"delete": [delete]} if delete else {})}]})
    return project, project.loop(**ONE_RUN).text


def warnings_of(project: Project) -> list[str]:
    evidence: dict[str, Any] = project.story("US-001")["evidence"]
    return list(evidence.get("warnings", ()))


@pytest.mark.parametrize(
    "words",
    sampled(["-m unittest discover -v -s tests -t .", "-m unittest discover -s tests -t ."],
            "-m unittest discover -s tests -t ."),
)  # fmt: skip
def test_a_test_of_unittest_that_now_expects_the_opposite_is_shown(tmp_path: Path, words: str) -> None:
    now = UNITTESTS.replace("test_small", "test_little").replace("2), 3)", "2), 4)").replace("20), 30)", "20), 31)")
    files = {"calc.py": CALC, "tests/__init__.py": "", TEST_FILE: UNITTESTS}

    project, _ = after_attempt(tmp_path, f"{sys.executable} {words}", files, {**MORE, TEST_FILE: now})

    assert project.landed() == ["login/US-001"]
    assert warnings_of(project)[-1] == (
        f"2 of the old {TEST_FILE} fail against the new code: "
        f"{TEST_FILE}::TestAdd::test_big, {TEST_FILE}::TestAdd::test_small"
    )
    assert_clean(project)


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_a_test_of_node_that_now_expects_the_opposite_is_shown(tmp_path: Path) -> None:
    now = NODE_TESTS.replace("2), 3)", "2), 4)").replace("20), 30)", "20), 31)").replace("of big", "of great")
    files = {"calc.js": NODE_CALC, NODE_FILE: NODE_TESTS}

    project, _ = after_attempt(tmp_path, "node --test tests/", files, {**NODE_MORE, NODE_FILE: now})

    assert project.landed() == ["login/US-001"]
    said = f"2 of the old {NODE_FILE} fail against the new code: of small numbers, of big numbers"
    assert said in warnings_of(project)
    assert_clean(project)


def test_old_tests_are_run_where_a_recipe_calls_pytest(tmp_path: Path) -> None:
    recipe = f"test:\n\t@cd . && {sys.executable} -m pytest -q -p no:cacheprovider tests\n"
    files = {"calc.py": CALC, "conftest.py": "", TEST_FILE: TESTS, "Makefile": recipe}
    now = TESTS.replace("(1, 2) == 3", "(1, 2) == 4").replace("== 30", "== 31")

    project, _ = after_attempt(tmp_path, "make test", files, {**MORE, TEST_FILE: now})

    assert project.landed() == ["login/US-001"]
    assert (f"2 of the old {TEST_FILE} fail against the new code: {TEST_FILE}::test_small, {TEST_FILE}::test_big"
            in warnings_of(project))  # fmt: skip


def test_a_check_is_not_run_again_for_tests_that_were_only_added(tmp_path: Path) -> None:
    files = {"calc.py": CALC, "tests/__init__.py": "", TEST_FILE: UNITTESTS}
    added = f"{UNITTESTS}\n    def test_none(self):\n        self.assertEqual(add(0, 0), 0)\n"
    feature = {"calc.py": f"{CALC}\n\ndef twice(a):\n    return add(a, a)\n", TEST_FILE: f"import sys\n{added}"}

    project, said = after_attempt(tmp_path, f"{sys.executable} -m unittest discover -v -s tests -t .", files, feature)

    assert project.landed() == ["login/US-001"]
    assert "old versions" not in said
    assert warnings_of(project) == []


def test_an_honest_edit_of_a_test_is_no_warning(tmp_path: Path) -> None:
    files = {"calc.py": CALC, "tests/__init__.py": "", TEST_FILE: UNITTESTS}
    feature = {
        "calc.py": f"{CALC}\n\ndef twice(a):\n    return add(a, a)\n",
        TEST_FILE: UNITTESTS.replace("20), 30)", "2), 12)"),
    }

    project, said = after_attempt(tmp_path, f"{sys.executable} -m unittest discover -v -s tests -t .", files, feature)

    assert "check test is run on the old versions of the tests that were edited" in said
    assert warnings_of(project) == []


def test_a_test_that_moved_to_another_file_and_now_expects_the_opposite_is_shown(tmp_path: Path) -> None:
    now = UNITTESTS.replace("2), 3)", "2), 4)").replace("20), 30)", "20), 31)")
    files = {"calc.py": CALC, "tests/__init__.py": "", TEST_FILE: UNITTESTS}
    write = {**MORE, "tests/test_sums.py": now}

    project = after_attempt(tmp_path, f"{sys.executable} -m unittest discover -v -s tests -t .", files, write,
                            delete=TEST_FILE)[0]  # fmt: skip

    assert project.landed() == ["login/US-001"]
    assert any(said.startswith(f"2 of the old {TEST_FILE} fail") for said in warnings_of(project))
    assert_clean(project)


def test_a_test_file_that_moved_as_it_was_is_not_run_again(tmp_path: Path) -> None:
    files = {"calc.py": CALC, "tests/__init__.py": "", TEST_FILE: UNITTESTS}
    write = {"calc.py": f"{CALC}\n\ndef twice(a):\n    return add(a, a)\n", "tests/test_sums.py": UNITTESTS}

    project, said = after_attempt(tmp_path, f"{sys.executable} -m unittest discover -v -s tests -t .", files, write,
                                  delete=TEST_FILE)  # fmt: skip

    assert project.landed() == ["login/US-001"]
    assert "old versions" not in said


def with_dependencies(tmp_path: Path, start: str, files: dict[str, str], act: dict[str, Any]) -> tuple[Project, str]:
    """A project of unittest after an attempt, and what was said; a copy of its code has a link to its dependencies."""
    checks = [{"name": "test", "run": f"{sys.executable} -m unittest discover -v -s {start} -t ."}]
    project = build(tmp_path, story("US-001"), checks=checks, limits={"max_attempts": 1},
                    verify={"removed_tests": "flag"})  # fmt: skip
    theirs = {"node_modules/__init__.py": "", "node_modules/theirs.py": TURNED}
    for name, text in {**files, **theirs, ".gitignore": "node_modules\n"}.items():
        (project.repo / name).parent.mkdir(parents=True, exist_ok=True)
        (project.repo / name).write_text(text)
    project.git("add", "--force", *files, ".gitignore")
    project.git("commit", "--quiet", "-m", "feat: a calculator")
    project.play(stories={"US-001": [act]})
    return project, project.loop(**ONE_RUN).text


TURNED = UNITTESTS.replace("2), 3)", "2), 4)").replace("20), 30)", "20), 31)")


def test_nothing_is_written_through_a_link_that_took_the_place_of_a_test(tmp_path: Path) -> None:
    files = {"calc.py": CALC, "tests/__init__.py": "", TEST_FILE: UNITTESTS}
    act = {"write": MORE, "run": f"ln -sf ../node_modules/theirs.py {TEST_FILE}"}

    project, _ = with_dependencies(tmp_path, "tests", files, act)

    assert any(said.startswith(f"2 of the old {TEST_FILE} fail") for said in warnings_of(project))
    assert (project.repo / "node_modules" / "theirs.py").read_text() == TURNED


def test_nothing_is_written_through_a_link_that_took_the_place_of_a_folder(tmp_path: Path) -> None:
    old = "node_modules/test_calc.py"
    files = {"calc.py": CALC, "tests/__init__.py": "", old: UNITTESTS}
    act = {"write": {**MORE, TEST_FILE: TURNED}, "delete": [old]}

    project, said = with_dependencies(tmp_path, ".", files, act)

    assert project.landed() == ["login/US-001"]
    assert "check test is run on the old versions of the tests that were edited" in said
    assert old not in project.code_files()


@pytest.mark.parametrize("field", sampled(["removes", "changes"], "changes"))
def test_tests_that_the_story_names_are_not_spoken_of(tmp_path: Path, field: str) -> None:
    now = UNITTESTS.replace("2), 3)", "2), 4)").replace("20), 30)", "20), 31)")
    files = {"calc.py": CALC, "tests/__init__.py": "", TEST_FILE: UNITTESTS}

    project, _ = after_attempt(tmp_path, f"{sys.executable} -m unittest discover -v -s tests -t .", files,
                               {**MORE, TEST_FILE: now},
                               testing={field: [f"{TEST_FILE}::TestAdd::test_small"]})  # fmt: skip

    assert f"1 of the old {TEST_FILE} fail against the new code: {TEST_FILE}::TestAdd::test_big" in warnings_of(project)


PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider --doctest-modules calc.py tests"
BILLED = {
    "calc.py": CALC, "conftest.py": "", TEST_FILE: TESTS, "tests/data/bill.txt": "sum 3\n",
    "tests/test_bill.py": "from pathlib import Path\n\nfrom calc import add\n\n\ndef test_bill():\n"
                          "    assert Path(__file__).with_name('data').joinpath('bill.txt').read_text() == "
                          "f'sum {add(1, 2)}\\n'\n",
}  # fmt: skip
PATCH = "import calc\n\n_add = calc.add\ncalc.add = lambda a, b: _add(a, b) - 1\n"
FIXTURE = "import pytest\n\n\n@pytest.fixture\ndef three():\n    return 3\n"
NOW = TESTS.replace("== 3\n", "== 4\n").replace("== 30", "== 31")
BESIDE = {
    "expected data": (
        {**MORE, "tests/data/bill.txt": "sum 4\n", TEST_FILE: NOW},
        f"2 of the old {TEST_FILE} fail against the new code: {TEST_FILE}::test_small, {TEST_FILE}::test_big; "
        "1 tests fail against the new code with the old tests/data/bill.txt: tests/test_bill.py::test_bill",
    ),
    "a conftest": (
        {**MORE, "conftest.py": PATCH},
        "3 tests fail against the new code with the old conftest.py: tests/test_bill.py::test_bill, "
        f"{TEST_FILE}::test_small, {TEST_FILE}::test_big",
    ),
    "a new conftest": (
        {**MORE, "tests/conftest.py": PATCH},
        "3 tests fail against the new code with the old tests/conftest.py: tests/test_bill.py::test_bill, "
        f"{TEST_FILE}::test_small, {TEST_FILE}::test_big",
    ),
    "a fixture": ({"calc.py": f"{CALC}\n\nTHREE = 3\n", "tests/conftest.py": FIXTURE}, ""),
    "code with doctests": (
        {"calc.py": MORE["calc.py"].replace("2) == 3", "2) == 4"), "tests/data/bill.txt": "sum 4\n",
         TEST_FILE: NOW},
        f"2 of the old {TEST_FILE} fail",
    ),
}  # fmt: skip


@pytest.mark.parametrize("edit", sampled(BESIDE, "expected data", "a fixture"))
def test_what_stands_beside_the_tests_is_put_back_as_well(tmp_path: Path, edit: str) -> None:
    write, said = BESIDE[edit]
    doctested = CALC.replace(
        "    return a + b", '    """Both.\n\n    >>> add(1, 2) == 3\n    True\n    """\n    return a + b'
    )
    files = {**BILLED, "calc.py": doctested} if edit == "code with doctests" else BILLED
    if edit == "code with doctests":
        write = {**write, "calc.py": doctested.replace("return a + b", "return a + b + 1").replace("== 3", "== 4")}

    project, _ = after_attempt(tmp_path, PYTEST, files, write)

    assert project.landed() == ["login/US-001"]
    assert said in "; ".join(warnings_of(project))
    assert bool(said) or warnings_of(project) == []
    assert_clean(project)


def test_what_stands_beside_the_tests_of_any_runner_is_put_back_as_well(tmp_path: Path) -> None:
    runs = f"{sys.executable} -m unittest discover -v -s tests -t ."
    using = UNITTESTS.replace("2), 3)", "2), THREE)").replace(
        "import add\n", "import add\nfrom tests.data import THREE\n"
    )
    small = using.partition("    def test_big")[0]
    files = {"calc.py": CALC, "tests/__init__.py": "", "tests/data.py": "THREE = 3\n", TEST_FILE: small}

    project, _ = after_attempt(tmp_path, runs, files, {**MORE, "tests/data.py": "THREE = 4\n"})

    assert (f"1 tests fail against the new code with the old tests/data.py: {TEST_FILE}::TestAdd::test_small"
            in warnings_of(project))  # fmt: skip
