"""Tests have identity: a check that stays green because tests are gone, skipped or emptied does not count."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from ralphy.detect.stack import detect
from ralphy.errors import ExitCode
from tests.engine.building import ROOT, Act, assert_clean, build, story
from tests.engine.pytested import CALC, PYPROJECT, TEST_FILE, TESTS, edited, feature, played, pytested
from tests.sampling import sampled

BROKEN = CALC.replace("a + b", "a + b + (b == 2)")
SMALL = "    assert add(1, 2) == 3"
SWALLOWED = "    try:\n        assert add(1, 2) == 3\n    except AssertionError:\n        pass"
OTHER = {"tests/test_mul.py": "def test_mul():\n    assert 6 == 2 * 3\n"}
CHEATS: dict[str, tuple[Act, str]] = {
    "all tests of a file are deleted, others are there": (
        {"write": {"tests/test_mul.py": "def test_mul():\n    assert True\n"}, "cheat": {"delete_tests": [TEST_FILE]}},
        f"tests that existed are gone: {TEST_FILE}::TestSub::test_sub, {TEST_FILE}::test_big",
    ),
    "one test is deleted": (
        {"write": edited("def test_big():\n    assert add(10, 20) == 30\n", "")},
        f"tests that existed are gone: {TEST_FILE}::test_big",
    ),
    "a test is renamed so that it is not collected": (
        {"write": edited("def test_types", "def _test_types")},
        f"{TEST_FILE}::test_types",
    ),
    "all are skipped": (
        {"cheat": {"skip_tests": True}},
        f"skipped or expected to fail: {TEST_FILE}::",
    ),
    "one is expected to fail": (
        {"write": {**edited("def test_small", "@pytest.mark.xfail\ndef test_small"), "calc.py": BROKEN}},
        f"skipped or expected to fail: {TEST_FILE}::test_small",
    ),
    "assertions are emptied": ({"cheat": {"empty_tests": True}}, f"no longer assert anything: {TEST_FILE}::test_small"),
    "a test returns first": (
        {"write": edited(SMALL, f"    return\n{SMALL}")},
        f"no longer assert anything: {TEST_FILE}::test_small",
    ),
    "a test swallows its failure": (
        {
            "write": edited(
                "    assert add(1, 2) == 3",
                "    try:\n        assert add(1, 2) == 3\n    except AssertionError:\n        pass",
            )
        },
        "no longer assert anything",
    ),
    "a test becomes a lambda": (
        {"write": edited(f"def test_small():\n{SMALL}", "test_small = lambda: None")},
        f"tests that existed are gone: {TEST_FILE}::test_small (a test of that name runs",
    ),
    "a test that passes is expected to fail": (
        {"write": edited("def test_small", "@pytest.mark.xfail\ndef test_small")},
        f"skipped or expected to fail: {TEST_FILE}::test_small",
    ),
    "a file of tests is too large to be read": (
        {
            "run": [
                "sh",
                "-c",
                f"{{ sed 's/ assert.*/ pass/' {TEST_FILE}; head -c 2100000 /dev/zero | tr '\\0' '#'; }} "
                f"> huge.py && mv huge.py {TEST_FILE}",
            ]
        },
        f"tests that existed are gone: {TEST_FILE}::test_small",
    ),
    "cases are taken away": ({"write": edited("[1, 2, 3]", "[1]")}, "1 of 3 cases of this test are left"),
    "a pytest.ini takes precedence": (
        {"write": {"pytest.ini": "[pytest]\npythonpath = .\nfilterwarnings = ignore\n"}},
        "pytest.ini overrides pyproject.toml",
    ),
    "addopts deselect": (
        {"write": {"pyproject.toml": PYPROJECT.replace("-q", f"-q --deselect={TEST_FILE}::test_big")}},
        f"{TEST_FILE}::test_big exists but no longer runs",
    ),
    "a conftest ignores": (
        {"write": OTHER, "cheat": {"ignore_by_conftest": [TEST_FILE]}},
        f"{TEST_FILE}::test_small exists but no longer runs",
    ),
    "a conftest rewrites outcomes": (
        {"cheat": {"fake_report": True}},
        f"{TEST_FILE}::test_small passes although it is made to fail",
    ),
    "a conftest ends the runner": ({"cheat": {"leave_early": True}}, "test passes although its tests are made to fail"),
    "a module takes the runner's place": (
        {"cheat": {"shadow_runner": True}},
        "no longer reports which tests",
    ),
}


@pytest.mark.fault("A3")
@pytest.mark.parametrize(
    "cheat",
    sampled(
        CHEATS,
        "one is expected to fail",
        "a test swallows its failure",
        "addopts deselect",
        "a conftest rewrites outcomes",
        "a module takes the runner's place",
    ),
)
@pytest.mark.attempt(57)
def test_a_green_check_does_not_count_when(tmp_path: Path, cheat: str) -> None:
    act, found = CHEATS[cheat]

    project = played(tmp_path, {**feature(), **act})

    assert project.landed() == []
    assert found in project.story("US-001")["execution"]["last_error"]
    assert (project.repo / TEST_FILE).read_text() == TESTS
    assert_clean(project)


HELPED = {
    "tests/__init__.py": "",
    "tests/checks.py": "from calc import add\n\n\ndef adds(a, b, c):\n    assert add(a, b) == c\n",
}
HELPERS = {
    "is emptied": ("    pass\n", False),
    "swallows": ("    try:\n        assert add(a, b) == c\n    except AssertionError:\n        pass\n", False),
    "calls another": ("    same(add(a, b), c)\n\n\ndef same(a, b):\n    assert a == b, (a, b)\n", True),
}


@pytest.mark.fault("A3")
@pytest.mark.parametrize("helper", sampled(HELPERS, "swallows", "calls another"))
def test_a_helper_of_tests_that_no_story_touched_asserts_for_them(tmp_path: Path, helper: str) -> None:
    body, counts = HELPERS[helper]
    project = pytested(tmp_path, limits={"max_attempts": 1})
    text = edited(SMALL, "    adds(1, 2, 3)")[TEST_FILE].replace(
        "import pytest", "import pytest\n\nfrom tests.checks import adds"
    )
    for name, written in {**HELPED, TEST_FILE: text}.items():
        (project.repo / name).write_text(written)
    project.git("add", "tests")
    project.git("commit", "--quiet", "-m", "test: a helper")
    now = HELPED["tests/checks.py"].replace("    assert add(a, b) == c\n", body)
    project.play(stories={"US-001": [feature(write={"tests/checks.py": now})]})

    ended = project.loop()

    assert project.landed() == (["login/US-001"] if counts else [])
    assert (f"no longer assert anything: {TEST_FILE}::test_small" in ended.text) is not counts


PACKAGE_TESTS = (
    "from {0} import one, two\n\n\ndef test_one():\n    assert one() == 1\n\n\ndef test_two():\n    assert two() == 2\n"
)
PACKAGES = {
    "is deleted": (
        {"b/tests/test_mod.py": PACKAGE_TESTS.format("b_mod").partition("\n\n\ndef test_two")[0] + "\n"},
        "are gone",
    ),
    "is skipped": (
        {
            "b/tests/test_mod.py": PACKAGE_TESTS.format("b_mod").replace(
                "def test_two", "import pytest\n\n\n@pytest.mark.skip\ndef test_two"
            )
        },
        "are skipped",
    ),
    "is left out": (
        {
            "b/conftest.py": "collect_ignore = ['tests/test_mod.py']\n",
            "b/tests/test_x.py": "def test_x():\n    assert int('1')\n",
        },
        "no longer runs",
    ),
}


@pytest.mark.fault("A3")
@pytest.mark.parametrize("change", sampled(PACKAGES, "is deleted"))
def test_a_test_is_not_taken_for_its_namesake_of_another_package(tmp_path: Path, change: str) -> None:
    write, found = PACKAGES[change]
    checks = [
        {"name": name, "run": f"{sys.executable} -m pytest -q -p no:cacheprovider {name} --rootdir {name}"}
        for name in "ab"
    ]
    project = build(tmp_path, story("US-001"), checks=checks, limits={"max_attempts": 1})
    for name in "ab":
        (project.repo / name / "tests").mkdir(parents=True)
        (project.repo / name / "pyproject.toml").write_text("[tool.pytest.ini_options]\npythonpath = ['.']\n")
        (project.repo / name / f"{name}_mod.py").write_text("def one():\n    return 1\n\n\ndef two():\n    return 2\n")
        (project.repo / name / "tests" / "test_mod.py").write_text(PACKAGE_TESTS.format(f"{name}_mod"))
    project.git("add", "a", "b")
    project.git("commit", "--quiet", "-m", "feat: two packages")
    project.play(stories={"US-001": [{"write": {"a/more.py": "X = 1\n", **write}}]})

    ended = project.loop()

    assert project.landed() == []
    assert found in ended.text


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


HONEST: dict[str, dict[str, Any]] = {
    "no test changes": {},
    "a test is added": {"append": {TEST_FILE: "\n\ndef test_more():\n    assert add(2, 2) == 4\n"}},
    "a test is renamed": {"write": edited("test_small", "test_that_small_numbers_add")},
    "a test is edited with the feature": {"write": edited("add(1, 2) == 3", "add(1, 3) == 4")},
    "the file is moved to another folder": {
        "write": {"tests/unit/test_arithmetic.py": TESTS, "tests/unit/__init__.py": ""}, "delete": [TEST_FILE],
    },
    "tests are merged": {
        "write": edited(
            "def test_small():\n    assert add(1, 2) == 3\n\n\ndef test_big():\n    assert add(10, 20) == 30",
            "def test_numbers():\n    assert add(1, 2) == 3\n    assert add(10, 20) == 30",
        )
    },
    "tests are parametrised": {
        "write": edited(
            "def test_small():\n    assert add(1, 2) == 3\n\n\ndef test_big():\n    assert add(10, 20) == 30",
            '@pytest.mark.parametrize("a, b, c", [(1, 2, 3), (10, 20, 30)])\n'
            "def test_adding(a, b, c):\n    assert add(a, b) == c",
        )
    },
    "a test moves into a class": {
        "write": edited(f"def test_small():\n{SMALL}", f"class TestAdd:\n    def test_small(self):\n    {SMALL}")
    },
    "a fixture takes the set-up": {
        "write": edited(
            "def test_small():\n    assert add(1, 2) == 3",
            "@pytest.fixture\ndef three():\n    return add(1, 2)\n\n\ndef test_small(three):\n    assert three == 3",
        )
    },
    "a helper takes the assertion": {
        "write": edited(
            "def test_small():\n    assert add(1, 2) == 3",
            "def adds(a, b, c):\n    assert add(a, b) == c\n\n\ndef test_small():\n    adds(1, 2, 3)",
        )
    },
    "tests are in other words": {
        "write": edited("class TestSub:\n    def test_sub(self):\n        assert sub(3, 2) == 1",
                        "class TestSubtraction(__import__('unittest').TestCase):\n    def test_sub(self):\n"
                        "        self.assertEqual(sub(3, 2), 1)")
    },
    "tests are shared by a class of another file": {
        "write": {
            **edited("class TestSub:\n    def test_sub(self):\n        assert sub(3, 2) == 1",
                     "from shared import Subtracting\n\n\nclass TestSub(Subtracting):\n    pass"),
            "tests/shared.py": "from calc import sub\n\n\nclass Subtracting:\n    def test_sub(self):\n"
            "        assert sub(3, 2) == 1\n",
        }
    },
    "a test is expected to fail elsewhere": {
        "write": edited("def test_big", "@pytest.mark.xfail(bool(sub.__doc__), reason='no')\ndef test_big")
    },
    "cases get other values": {"write": edited("[1, 2, 3]", "[4, 5, 6, 7]")},
    "a conftest adds a fixture and markers": {
        "write": {
            "tests/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef one():\n    return 1\n\n\n"
            "def pytest_collection_modifyitems(items):\n    for item in items:\n        item.add_marker('unit')\n",
            "pyproject.toml": PYPROJECT + 'markers = ["unit"]\nfilterwarnings = ["default"]\n',
        }
    },
}  # fmt: skip


@pytest.mark.fault("A3")
@pytest.mark.parametrize(
    "release",
    sampled(
        HONEST,
        "the file is moved to another folder",
        "a helper takes the assertion",
        "a conftest adds a fixture and markers",
    ),
)
def test_honest_work_counts_when(tmp_path: Path, release: str) -> None:
    project = played(tmp_path, {**feature(), **HONEST[release]})

    assert project.story("US-001")["execution"].get("last_error") is None
    assert project.landed() == ["login/US-001"]
    assert project.story("US-001")["evidence"]["tests"]["compared"] == "by name"


def test_the_evidence_says_how_many_tests_there_were_and_are(tmp_path: Path) -> None:
    project = played(tmp_path, feature(**HONEST["a test is added"]))

    evidence = project.story("US-001")["evidence"]
    assert evidence["tests"]["before"] == {"collected": 7, "passed": 7}
    assert evidence["tests"]["after"] == {"collected": 8, "passed": 8}
    assert evidence["checks"][0]["run"].endswith("-m pytest")


def test_a_test_may_go_when_the_story_names_it(tmp_path: Path) -> None:
    gone = {"write": edited("def test_big():\n    assert add(10, 20) == 30\n", "")}

    project = played(tmp_path, feature(**gone), removes=(f"{TEST_FILE}::test_big",))

    assert project.landed() == ["login/US-001"]


def test_a_test_whose_expectations_may_change_may_not_go(tmp_path: Path) -> None:
    gone = {"write": edited("def test_big():\n    assert add(10, 20) == 30\n", "")}
    weaker = {"write": edited("    assert isinstance(add(1, 2), int)\n", "")}
    testing = {"testing": {"changes": [TEST_FILE]}}
    project = pytested(tmp_path, story("US-001", **testing), limits={"max_attempts": 2})
    project.play(stories={"US-001": [feature(**gone), weaker]})

    ended = project.loop()

    assert f"tests that existed are gone: {TEST_FILE}::test_big" in ended.text
    assert "warnings" not in project.story("US-001")["evidence"]


def test_the_next_attempt_is_told_which_tests_to_restore_and_goes_on_from_the_work(tmp_path: Path) -> None:
    project = pytested(tmp_path)
    gone = {"write": edited("def test_big():\n    assert add(10, 20) == 30\n", "")}
    project.play(stories={"US-001": [feature(**gone), {"write": {TEST_FILE: TESTS}}]})

    project.loop()

    assert f"- {TEST_FILE}::test_big" in project.prompts("story-US-001")[-1]
    assert "testing.removes" in project.prompts("story-US-001")[-1]
    assert project.landed() == ["login/US-001"]
    assert "def mul" in project.code("calc.py")


def test_a_flagged_finding_passes_and_stands_in_the_evidence(tmp_path: Path) -> None:
    project = played(tmp_path, feature(cheat={"skip_tests": True}), verify={"skipped_tests": "flag"})

    assert project.landed() == ["login/US-001"]
    assert any("skipped or expected to fail" in said for said in project.story("US-001")["evidence"]["warnings"])


def test_fewer_assertions_are_flagged(tmp_path: Path) -> None:
    weaker = edited("    assert isinstance(add(1, 2), int)\n", "")

    project = played(tmp_path, feature(write=weaker))

    assert project.landed() == ["login/US-001"]
    said = f"tests assert less than before: {TEST_FILE}::test_types"
    project.loop()
    assert said in project.story("US-001")["evidence"]["warnings"]
    assert f"7 tests, as before; flagged: {said}" in project.prompts("qa")[-1]


def test_what_landed_is_what_the_next_story_is_compared_with(tmp_path: Path) -> None:
    project = pytested(tmp_path, story("US-001"), story("US-002", priority=2), limits={"max_attempts": 1})
    more = {"append": {TEST_FILE: "\n\ndef test_more():\n    assert add(2, 2) == 4\n"}}
    project.play(stories={"US-001": [more], "US-002": [feature(write={TEST_FILE: TESTS})]})

    ended = project.loop()

    assert project.landed() == ["login/US-001"]
    assert ended.code == ExitCode.STORIES_OPEN
    assert f"gone: {TEST_FILE}::test_more" in project.story("US-002")["execution"]["last_error"]


def test_a_first_pytest_ini_in_a_project_without_tests_is_honest(tmp_path: Path) -> None:
    project = pytested(tmp_path, limits={"max_attempts": 1})
    project.git("rm", "--quiet", "-r", "tests", "pyproject.toml")
    project.git("commit", "--quiet", "-m", "chore: begin anew")
    first = {"pytest.ini": "[pytest]\npythonpath = .\ntestpaths = tests\n", TEST_FILE: TESTS}
    project.play(stories={"US-001": [feature(write=first)]})

    project.loop()

    assert project.landed() == ["login/US-001"]


def test_a_lost_list_of_tests_is_made_again_before_a_story(tmp_path: Path) -> None:
    project = pytested(tmp_path, story("US-001"), story("US-002", priority=2))
    project.loop(runs=49)
    for path in (project.repo / ".git" / "ralphy" / "tests").iterdir():
        path.unlink()
    project.play(stories={"US-002": [feature(cheat={"skip_tests": True})]})

    project.loop(runs=49)

    assert project.landed() == ["login/US-001"]
    assert "skipped" in project.story("US-002")["execution"]["last_error"]


def test_pytest_is_asked_wherever_in_the_check_it_is_called(tmp_path: Path) -> None:
    project = pytested(tmp_path, run="make test", limits={"max_attempts": 1})
    (project.repo / "Makefile").write_text(f"test:\n\t@{sys.executable} -m pytest\n")
    project.git("add", "Makefile")
    project.git("commit", "--quiet", "-m", "chore: make")
    project.play(stories={"US-001": [feature(cheat={"skip_tests": True})]})

    project.loop()

    assert project.landed() == []
    assert "skipped" in project.story("US-001")["execution"]["last_error"]


NODE_TESTS = """\
import { test } from 'node:test'
import assert from 'node:assert'
import { add } from './calc.mjs'
test('adds small numbers', () => { assert.equal(add(1, 2), 3) })
test('adds big numbers', () => { assert.equal(add(10, 20), 30) })
"""
NODE_CHANGES = {
    "a test is deleted": (
        NODE_TESTS.replace("test('adds big numbers', () => { assert.equal(add(10, 20), 30) })\n", ""),
        "tests that existed are gone: adds big numbers",
    ),
    "a test is skipped": (
        NODE_TESTS.replace("test('adds big numbers'", "test.skip('adds big numbers'"),
        "skipped or expected to fail: adds big numbers",
    ),
    "a test is emptied": (
        NODE_TESTS.replace("assert.equal(add(10, 20), 30)", ""),
        "no longer assert anything: calc.test.mjs::adds big numbers",
    ),
    "a test is renamed": (NODE_TESTS.replace("big", "large"), ""),
    "a test is added": (NODE_TESTS + "test('adds none', () => { assert.equal(add(0, 0), 0) })\n", ""),
}


@pytest.mark.fault("A3")
@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
@pytest.mark.parametrize("change", sampled(NODE_CHANGES, "a test is skipped", "a test is renamed"))
def test_tests_of_node_are_known_by_what_it_prints(tmp_path: Path, change: str) -> None:
    text, found = NODE_CHANGES[change]
    checks = [{"name": "test", "run": "node --test"}]
    project = build(tmp_path, story("US-001"), checks=checks, limits={"max_attempts": 1})
    (project.repo / "calc.mjs").write_text("export const add = (a, b) => a + b\n")
    (project.repo / "calc.test.mjs").write_text(NODE_TESTS)
    project.git("add", "calc.mjs", "calc.test.mjs")
    project.git("commit", "--quiet", "-m", "feat: a calculator")
    more = {"calc.mjs": "export const add = (a, b) => b + a\n", "calc.test.mjs": text}
    project.play(stories={"US-001": [{"write": more}]})

    project.loop()

    if found:
        assert found in project.story("US-001")["execution"]["last_error"]
    assert project.landed() == ([] if found else ["login/US-001"])


def test_where_pytest_may_not_report_tests_are_compared_by_their_text_and_number(tmp_path: Path) -> None:
    run = f"{sys.executable} -m pytest -q -p no:junitxml"
    gone = {"write": edited("def test_big():\n    assert add(10, 20) == 30\n", "")}

    project = played(tmp_path, feature(**gone), run=run)

    assert project.landed() == []
    assert f"tests that existed are gone: {TEST_FILE}::test_big" in project.story("US-001")["execution"]["last_error"]


def test_the_evidence_says_that_no_check_names_its_tests(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"))
    project.loop()

    evidence = project.story("US-001")["evidence"]
    assert evidence["tests"] == {"compared": "by their text: no check names its tests"}


CHANGED_RULES = {
    "calc.py": CALC.replace("a + b", "a + b + 1"),
    TEST_FILE: TESTS.replace("(1, 2) == 3", "(1, 2) == 4").replace("== 30", "== 31"),
}
OLD_FAIL = f"2 of the old {TEST_FILE} fail against the new code: {TEST_FILE}::test_small, {TEST_FILE}::test_big"


def test_what_fails_of_the_old_version_of_an_edited_test_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    project = played(tmp_path, {"write": CHANGED_RULES})

    assert project.landed() == ["login/US-001"]
    assert OLD_FAIL in project.story("US-001")["evidence"]["warnings"]
    assert list(temporary.iterdir()) == []
    assert_clean(project)


def test_old_tests_are_run_by_a_program_that_only_the_checkout_has(tmp_path: Path) -> None:
    project = pytested(tmp_path, run=".venv/bin/pytest", limits={"max_attempts": 1})
    program = project.repo / ".venv" / "bin" / "pytest"
    program.parent.mkdir(parents=True)
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m pytest "$@"\n')
    program.chmod(0o755)
    (project.repo / ".gitignore").write_text(".venv/\n")
    project.git("add", ".gitignore")
    project.git("commit", "--quiet", "-m", "chore: an environment of its own")
    project.play(stories={"US-001": [{"write": CHANGED_RULES}]})

    project.loop()

    assert project.landed() == ["login/US-001"]
    assert OLD_FAIL in project.story("US-001")["evidence"]["warnings"]


UNITTESTS = """\
import unittest

from calc import add


class TestAdd(unittest.TestCase):
    def test_small(self):
        self.assertEqual(add(1, 2), 3)

    def test_big(self):
        \"\"\"Numbers of two digits.\"\"\"
        self.assertEqual(add(10, 20), 30)
"""


LEFT_OUT = """

def load_tests(loader, found, pattern):
    return unittest.TestSuite(test for tests in found for test in tests if test._testMethodName != "{}")
"""


@pytest.mark.parametrize("left_out", sampled(["test_small", "test_big"], "test_big"))
def test_what_init_detects_for_unittest_compares_tests_by_name(tmp_path: Path, left_out: str) -> None:
    project = pytested(tmp_path, limits={"max_attempts": 1})
    (project.repo / "pyproject.toml").write_text("[project]\nname = 'calc'\n")
    (project.repo / TEST_FILE).write_text(UNITTESTS)
    project.git("commit", "--quiet", "--all", "-m", "test: without pytest")
    detected = {check.name: check.run for check in detect(project.repo).checks}
    project.configure(checks=[{"name": "test", "run": detected["test"]}], limits={"max_attempts": 1})
    another = "\n    def test_other(self):\n        self.assertEqual(add(2, 2), 4)\n"
    project.play(stories={"US-001": [feature(write={TEST_FILE: UNITTESTS + another + LEFT_OUT.format(left_out)})]})

    ended = project.loop()

    assert project.landed() == []
    assert f"test_calc.py::TestAdd::{left_out} exists but no longer runs" in ended.text


@pytest.mark.usefixtures("sandbox")
def test_tests_are_compared_in_the_closed_sandbox_too(tmp_path: Path) -> None:
    seen = [str(ROOT), sys.prefix, sys.base_prefix, str(tmp_path / "scenario.json")]

    project = played(tmp_path, {"write": CHANGED_RULES}, safety={"level": "strict", "ro_paths": seen})

    evidence = project.story("US-001")["evidence"]
    assert evidence["tests"]["compared"] == "by name"
    assert OLD_FAIL in evidence["warnings"]


def test_an_edited_test_whose_old_version_passes_is_not_spoken_of(tmp_path: Path) -> None:
    more = edited("    assert add(1, 2) == 3", "    assert add(1, 2) == 3\n    assert add(1, 3) == 4")

    project = played(tmp_path, feature(write=more), run=f"{sys.executable} -m pytest -q tests")

    assert project.landed() == ["login/US-001"]
    assert "warnings" not in project.story("US-001")["evidence"]
