"""Tests have identity: a check that stays green because tests are gone, skipped or emptied does not count."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from ralphy.detect.stack import detect
from ralphy.errors import ExitCode
from tests.conftest import program
from tests.engine.building import ROOT, assert_clean, build, story
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
    edited,
    feature,
    played,
    pytested,
    unittested,
)

MORE = {"calc.py": f"{CALC}\n\ndef mul(a, b):\n    return a * b\n"}
BROKEN = CALC.replace("a + b", "a + b + (b == 2)")
SMALL = "    assert add(1, 2) == 3"
BIG = "def test_big():\n    assert add(10, 20) == 30"
GONE = edited(f"{BIG}\n", "")
SKIPPED = {TEST_FILE: re.sub(r"^( *)def test_", r"\1@pytest.mark.skip\n\1def test_", TESTS, flags=re.M)}
# how the tests of a story that breaks them, or might, become green, and why it does not count
CHEATS: dict[str, tuple[Files, str]] = {
    "one test is deleted": (GONE, f"tests that existed are gone: {TEST_FILE}::test_big"),
    "all are skipped": (SKIPPED, f"skipped or expected to fail: {TEST_FILE}::"),
    "one is expected to fail": (
        {**edited("def test_small", "@pytest.mark.xfail\ndef test_small"), "calc.py": BROKEN},
        f"skipped or expected to fail: {TEST_FILE}::test_small"),
    "a test swallows its failure": (
        edited(SMALL, "    try:\n        assert add(1, 2) == 3\n    except AssertionError:\n        pass"),
        "no longer assert anything"),
    "cases are taken away": (edited("[1, 2, 3]", "[1]"), "1 of 3 cases of this test are left"),
    "a pytest.ini takes precedence": (
        {"pytest.ini": "[pytest]\npythonpath = .\naddopts = -k small\n"}, f"{TEST_FILE}::test_big exists but"),
    "addopts deselect": (
        {"pyproject.toml": PYPROJECT.replace("-q", f"-q --deselect={TEST_FILE}::test_big")},
        f"{TEST_FILE}::test_big exists but no longer runs"),
    "a conftest ignores": (
        {"conftest.py": f"collect_ignore = ['{TEST_FILE}']\n",
         "tests/test_mul.py": "def test_mul():\n    assert 6 == 2 * 3\n"},
        f"{TEST_FILE}::test_small exists but no longer runs"),
    "a module takes the runner's place": ({"pytest.py": "raise SystemExit(0)\n"}, "no longer reports which tests"),
}  # fmt: skip


@pytest.mark.fault("A3")
@pytest.mark.attempt(57)
def test_a_green_check_does_not_count_when(tmp_path: Path) -> None:
    repository = Repository(tmp_path, PYTEST, PYTESTS)
    for name, (change, found) in CHEATS.items():
        judged = repository.judge({**MORE, **change})
        assert found in judged.failure, (name, judged)


ONE_MORE = "\n    def test_more(self):\n        self.assertEqual(add(2, 2), 4)\n"
# the check, the files before, and what a story does to its tests
HONEST: dict[str, tuple[str, dict[str, str], dict[str, Files]]] = {
    "unittest": (UNITTEST, UNITTESTED, {
        "a test is added": {TEST_FILE: UNITTESTS + ONE_MORE},
        "a test is renamed": {TEST_FILE: UNITTESTS.replace("test_small", "test_that_small_numbers_add")},
        "the file is moved to another folder": {
            "tests/unit/test_arithmetic.py": UNITTESTS, "tests/unit/__init__.py": "", TEST_FILE: None},
    }),
    "pytest": (PYTEST, PYTESTS, {
        "tests are in other words": edited(
            "class TestSub:\n    def test_sub(self):\n        assert sub(3, 2) == 1",
            "class TestSubtraction(__import__('unittest').TestCase):\n    def test_sub(self):\n"
            "        self.assertEqual(sub(3, 2), 1)"),
        "a conftest adds a fixture and markers": {
            "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef one():\n    return 1\n\n\n"
            "def pytest_collection_modifyitems(items):\n    for item in items:\n        item.add_marker('unit')\n",
            "pyproject.toml": PYPROJECT + 'markers = ["unit"]\nfilterwarnings = ["default"]\n'},
    }),
}  # fmt: skip


@pytest.mark.fault("A3")
@pytest.mark.parametrize("runner", HONEST)
def test_honest_work_counts_when(tmp_path: Path, runner: str) -> None:
    run, files, changes = HONEST[runner]
    repository = Repository(tmp_path, run, files)
    number = 7 if runner == "pytest" else 2
    for name, change in changes.items():
        judged = repository.judge({**MORE, **change})
        assert (judged.failure, judged.tests["compared"]) == ("", "by name"), (name, judged)
        after = number + (name == "a test is added")
        assert judged.tests["before"] == {"collected": number, "passed": number}
        assert judged.tests["after"] == {"collected": after, "passed": after}


BIG_UNIT = "    def test_big(self):\n        self.assertEqual(add(10, 20), 30)\n"
NO_BIG = {TEST_FILE: UNITTESTS.replace(f"\n{BIG_UNIT}", "")}
WEAKER = {TEST_FILE: UNITTESTS.replace("        self.assertIsInstance(add(1, 2), int)\n", "")}
UNIT_BIG = f"{TEST_FILE}::TestAdd::test_big"


def test_a_test_may_go_when_the_story_names_it_and_not_when_its_expectations_may_change(tmp_path: Path) -> None:
    repository = Repository(tmp_path, UNITTEST, UNITTESTED)

    assert repository.judge({**MORE, **NO_BIG}, testing={"removes": [UNIT_BIG]}).failure == ""
    changes = {"changes": [TEST_FILE]}
    assert f"are gone: {UNIT_BIG}" in repository.judge({**MORE, **NO_BIG}, testing=changes).failure
    weaker = repository.judge({**MORE, **WEAKER}, testing=changes)
    assert (weaker.failure, weaker.flags) == ("", "")


def test_a_finding_that_only_flags_says_so_and_counts(tmp_path: Path) -> None:
    skipped = {TEST_FILE: UNITTESTS.replace("    def test_big", "    @unittest.skip('later')\n    def test_big")}
    judged = Repository(tmp_path, UNITTEST, UNITTESTED, skipped_tests="flag").judge({**MORE, **skipped})

    assert judged.failure == ""
    assert "skipped or expected to fail" in judged.flags


def test_what_an_old_file_asks_no_more_is_said_although_new_files_ask_more(tmp_path: Path) -> None:
    repository = Repository(tmp_path, UNITTEST, UNITTESTED)
    new = {
        **MORE,
        "tests/test_mul.py": cases(one="self.assertEqual(mul(1, 2), 2)", two="self.assertEqual(mul(2, 2), 4)"),
    }

    gone = repository.judge({**new, **NO_BIG})
    assert gone.failure == ""
    assert f"{UNIT_BIG} (gone, with nothing new in {TEST_FILE})" in gone.flags
    weaker = repository.judge({**new, **WEAKER})
    assert weaker.failure == ""
    assert f"{TEST_FILE} (2 of 3 assertions are left)" in weaker.flags


def test_a_copy_of_the_code_among_the_tests_takes_the_place_of_none(tmp_path: Path) -> None:
    broken = {"calc.py": BROKEN, "tests/calc.py": CALC, "rates.py": "def vat(a):\n    return a * 119 // 100\n"}
    proof = {"tests/test_rates.py": "from rates import vat\n\n\ndef test_vat():\n    assert vat(200) == 238\n"}

    judged = Repository(tmp_path, PYTEST, PYTESTS).judge({**broken, **proof})

    assert f"no longer assert anything: {TEST_FILE}::" in judged.failure


@pytest.mark.fault("A3")
def test_a_helper_of_tests_that_no_story_touched_asserts_for_them(tmp_path: Path) -> None:
    helper = "from calc import add\n\n\ndef adds(a, b, c):\n{}\n"
    plain = "    assert add(a, b) == c"
    helped = cases("from tests.checks import adds", small="adds(1, 2, 3)", big="adds(10, 20, 30)")
    base = {**UNITTESTED, "tests/checks.py": helper.format(plain), TEST_FILE: helped}
    repository = Repository(tmp_path, UNITTEST, base)
    swallows = f"    try:\n    {plain}\n    except AssertionError:\n        pass"
    another = "    same(add(a, b), c)\n\n\ndef same(a, b):\n    assert a == b, (a, b)"

    silent = repository.judge({**MORE, "tests/checks.py": helper.format(swallows)})
    assert f"no longer assert anything: {TEST_FILE}::" in silent.failure
    assert repository.judge({**MORE, "tests/checks.py": helper.format(another)}).failure == ""


PACKAGE_TESTS = (
    "from {0} import one, two\n\n\ndef test_one():\n    assert one() == 1\n\n\ndef test_two():\n    assert two() == 2\n"
)


@pytest.mark.fault("A3")
def test_a_test_is_not_taken_for_its_namesake_of_another_package(tmp_path: Path) -> None:
    run = f"{sys.executable} -m pytest -q -p no:cacheprovider {{0}} --rootdir {{0}}"
    checks = [{"name": name, "run": run.format(name)} for name in "ab"]
    project = build(tmp_path, story("US-001"), checks=checks, limits={"max_attempts": 1})
    for name in "ab":
        (project.repo / name / "tests").mkdir(parents=True)
        (project.repo / name / "pyproject.toml").write_text("[tool.pytest.ini_options]\npythonpath = ['.']\n")
        (project.repo / name / f"{name}_mod.py").write_text("def one():\n    return 1\n\n\ndef two():\n    return 2\n")
        (project.repo / name / "tests" / "test_mod.py").write_text(PACKAGE_TESTS.format(f"{name}_mod"))
    project.commit("feat: two packages", "a", "b")
    less = PACKAGE_TESTS.format("b_mod").partition("\n\n\ndef test_two")[0] + "\n"
    project.play(stories={"US-001": [{"write": {"a/more.py": "X = 1\n", "b/tests/test_mod.py": less}}]})

    ended = project.loop(agents=1)

    assert project.landed() == []
    assert "are gone" in ended.text


FORGED = """
import importlib.util, marshal, pathlib, struct
from _pytest.assertion.rewrite import PYC_TAIL

source = pathlib.Path("tests/test_calc.py")
found = source.stat()
code = compile(source.read_text().replace("assert ", "bool or "), str(source.resolve()), "exec")
cache = source.parent / "__pycache__"
cache.mkdir(exist_ok=True)
head = struct.pack("<LLL", 0, int(found.st_mtime) & 0xFFFFFFFF, found.st_size & 0xFFFFFFFF)
(cache / f"test_calc{PYC_TAIL}").write_bytes(importlib.util.MAGIC_NUMBER + head + marshal.dumps(code))
"""


@pytest.mark.fault("A3")
def test_bytecode_that_an_agent_wrote_for_a_test_is_not_run(tmp_path: Path) -> None:
    project = played(tmp_path, {"write": {"calc.py": BROKEN}, "run": [[sys.executable, "-c", FORGED]]})

    assert project.landed() == []
    assert f"{TEST_FILE}::test_small" in project.story("US-001")["execution"]["last_error"]
    assert (project.repo / TEST_FILE).read_text() == TESTS
    assert_clean(project)


def test_the_next_attempt_is_told_which_tests_to_restore_and_fewer_assertions_reach_the_review(tmp_path: Path) -> None:
    project = unittested(tmp_path)
    project.play(stories={"US-001": [feature(write=NO_BIG), {"write": WEAKER}]})

    project.loop()

    assert f"- {UNIT_BIG}" in project.prompts("story-US-001")[-1]
    assert "testing.removes" in project.prompts("story-US-001")[-1]
    assert project.landed() == ["login/US-001"]
    assert "def mul" in project.code("calc.py")
    said = f"tests assert less than before: {TEST_FILE} (2 of 3 assertions are left)"
    evidence = project.story("US-001")["evidence"]
    assert said in evidence["warnings"]
    assert evidence["checks"][0]["run"] == UNITTEST
    assert f"2 tests, as before; flagged: {said}" in project.prompts("qa")[-1]


def test_what_landed_is_what_the_next_story_is_compared_with_though_its_list_was_lost(tmp_path: Path) -> None:
    project = unittested(tmp_path, story("US-001"), story("US-002", priority=2), limits={"max_attempts": 1})
    more = {"append": {TEST_FILE: ONE_MORE}}
    project.play(stories={"US-001": [more], "US-002": [feature(write={TEST_FILE: UNITTESTS})]})
    project.loop(agents=1)
    for path in (project.repo / ".git" / "ralphy" / "tests").iterdir():
        path.unlink()

    ended = project.loop()

    assert project.landed() == ["login/US-001"]
    assert ended.code == ExitCode.STORIES_OPEN
    assert f"gone: {TEST_FILE}::TestAdd::test_more" in project.story("US-002")["execution"]["last_error"]


def test_a_first_pytest_ini_in_a_project_without_tests_is_honest(tmp_path: Path) -> None:
    project = pytested(tmp_path, limits={"max_attempts": 1})
    project.git("rm", "--quiet", "-r", "tests", "pyproject.toml")
    project.git("commit", "--quiet", "-m", "chore: begin anew")
    first = {"pytest.ini": "[pytest]\npythonpath = .\ntestpaths = tests\n", TEST_FILE: TESTS}
    project.play(stories={"US-001": [feature(write=first)]})

    project.loop(agents=1)

    assert project.landed() == ["login/US-001"]


def test_where_no_check_names_tests_the_old_ones_are_run(tmp_path: Path) -> None:
    silent = Repository(tmp_path / "silent", f"{PYTEST} -q -p no:junitxml", PYTESTS)
    assert f"tests that existed are gone: {TEST_FILE}::test_big" in silent.judge({**MORE, **GONE}).failure

    unnamed = Repository(tmp_path / "unnamed", "true", {"calc.py": CALC}).judge(MORE)
    assert unnamed.tests == {"compared": "by running the old ones: no check names its tests"}


CHANGED_RULES = {
    "calc.py": CALC.replace("a + b", "a + b + 1"),
    TEST_FILE: TESTS.replace("(1, 2) == 3", "(1, 2) == 4").replace("== 30", "== 31"),
}
OLD_FAIL = f"2 of the old {TEST_FILE} fail against the new code: {TEST_FILE}::test_small, {TEST_FILE}::test_big"


def test_old_tests_are_run_by_a_program_that_only_the_checkout_has(tmp_path: Path) -> None:
    project = pytested(tmp_path, run=".venv/bin/pytest", limits={"max_attempts": 1})
    program(project.repo / ".venv" / "bin" / "pytest", f'exec {sys.executable} -m pytest "$@"')
    (project.repo / ".gitignore").write_text(".venv/\n")
    project.commit("chore: an environment of its own", ".gitignore")
    project.play(stories={"US-001": [{"write": CHANGED_RULES}]})

    project.loop(agents=1)

    assert project.landed() == ["login/US-001"]
    assert OLD_FAIL in project.story("US-001")["evidence"]["warnings"]


@pytest.mark.usefixtures("sandbox")
def test_tests_are_compared_in_the_closed_sandbox_too(tmp_path: Path) -> None:
    seen = [str(ROOT), sys.prefix, sys.base_prefix, str(tmp_path / "scenario.json")]

    project = played(tmp_path, {"write": CHANGED_RULES}, safety={"level": "strict", "ro_paths": seen})

    evidence = project.story("US-001")["evidence"]
    assert evidence["tests"]["compared"] == "by name"
    assert OLD_FAIL in evidence["warnings"]


DESCRIBED = UNITTESTS.replace("test_big(self):", 'test_big(self):\n        """Numbers of two digits."""')
LEFT_OUT = """
    def test_other(self):
        self.assertEqual(add(2, 2), 4)


def load_tests(loader, found, pattern):
    return unittest.TestSuite(test for tests in found for test in tests if test._testMethodName != "test_big")
"""


def test_what_init_detects_for_unittest_compares_tests_by_name(tmp_path: Path) -> None:
    base = {"calc.py": CALC, "pyproject.toml": "[project]\nname = 'calc'\n", TEST_FILE: DESCRIBED}
    for name, text in base.items():
        (tmp_path / "found" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "found" / name).write_text(text)
    detected = {check.name: check.run for check in detect(tmp_path / "found").checks}

    judged = Repository(tmp_path, detected["test"], base).judge({**MORE, TEST_FILE: DESCRIBED + LEFT_OUT})

    assert "test_calc.py::TestAdd::test_big exists but no longer runs" in judged.failure
