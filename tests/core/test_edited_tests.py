"""Edited tests: whether their old versions are worth a run, and which of what fails there are theirs."""

from __future__ import annotations

import pytest

from ralphy.checks.runner_output import failing_tests
from ralphy.testguard.kept.edited_tests import is_edited, only_adds, theirs
from ralphy.testguard.read.text_test_parser import text_cases

JS = """\
import { add } from "../add.js";
describe("add", () => {
  test("adds", () => {
    const two = 2;
    expect(add(two, 2)).toBe(4);
  });
});
"""
GO = "package a\n\nfunc TestAdd(t *testing.T) {\n\tif Add(2, 2) != 4 {\n\t\tt.Fatal()\n\t}\n}\n"
RUST = "#[test]\nfn adds() {\n    assert_eq!(add(2, 2), 4);\n}\n"

# what a runner prints of a failing test, and the file that it is written in
PRINTED = {
    "jest": ("  ● add › adds\n\n    expect(received)\n", "tests/add.test.js", JS),
    "vitest": (" FAIL  tests/add.test.js > add > adds\n", "tests/add.test.js", JS),
    "node --test": ("▶ add\n  ✖ adds (1.2ms)\n▶ add (2ms)\n", "tests/add.test.js", JS),
    "TAP": ("not ok 1 - adds\n", "tests/add.test.js", JS),
    "go test": ("--- FAIL: TestAdd (0.00s)\n    add_test.go:5:\nFAIL\n", "add_test.go", GO),
    "a part of go test": ("    --- FAIL: TestAdd/small (0.00s)\n", "add_test.go", GO),
    "cargo test": ("test adds ... FAILED\n", "tests/add.rs", RUST),
    "cargo test in a module": ("test sums::adds ... FAILED\n", "tests/add.rs", RUST),
}


@pytest.mark.parametrize("printed", PRINTED)
def test_a_failing_test_is_known_by_the_name_that_its_runner_prints(printed: str) -> None:
    output, path, text = PRINTED[printed]

    assert list(theirs(failing_tests(output), list(text_cases(path, text)))) == [path]


def test_a_failing_test_of_another_name_is_not_theirs() -> None:
    assert theirs(["add › subtracts", "TestSub", "sums::subtracts"], list(text_cases("a.test.js", JS))) == {}


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (JS.replace("toBe(4)", "toBe(5)"), True),
        (JS.replace("two = 2", "two = 3"), True),
        (JS.replace('"adds"', '"sums"'), True),
        (JS.replace("    expect", "    two += 1;\n    expect"), True),
        (JS.replace("../add.js", "../sum.js"), True),
        (JS.replace("  });\n});", '  });\n  test("more", () => { expect(add(1, 1)).toBe(2); });\n});'), False),
        (f"import fs from 'fs';\n{JS}\n", False),
        (f"import a from 'assert';\na.equal = () => {{}};\n{JS}\n", True),
    ],
    ids=[
        "an expectation",
        "a value",
        "a name",
        "a line within",
        "an import",
        "one more test",
        "one more import",
        "a line for all",
    ],
)
def test_what_is_only_added_is_no_edit(new: str, expected: bool) -> None:
    old_cases, new_cases = list(text_cases("a.test.js", JS)), list(text_cases("a.test.js", new))

    assert is_edited(JS, new, old_cases, new_cases) is expected


FIXTURE = "@pytest.fixture\ndef one():\n    return 1\n"
OLD = """\
import pytest

from calc import add

CASES = ["small"]


def test_add(db):
    assert add(1, 2) == 3


class TestCalc:
    def test_type(self):
        assert self.kind
"""
NEW_TEST = "@pytest.mark.parametrize('n', [1])\ndef test_more(n):\n    assert n\n"


@pytest.mark.parametrize(
    "added",
    [
        FIXTURE,
        "import os\n\n\ndef made():\n    return os\n",
        NEW_TEST,
        "LARGE = [10, 20]\n",
        "class TestMore:\n    size = 1\n\n    def setup_method(self):\n        pass\n\n    def test_it(self): ...\n",
    ],
)
def test_what_is_offered_changes_no_test_that_is_there(added: str) -> None:
    for old in (OLD, "import pytest\n"):
        assert only_adds(old.encode(), f"{old}\n\n{added}".encode())
        assert not only_adds(f"{old}X = 1\n".encode(), f"{old}\n\n{added}".encode())


@pytest.mark.parametrize(
    "added",
    [
        FIXTURE.replace("fixture", "fixture(autouse=True)"),
        FIXTURE.replace("fixture", "fixture(**options)"),
        FIXTURE.replace("one", "db"),
        FIXTURE.replace("@pytest.fixture", "@everywhere"),
        "def pytest_configure(config):\n    pass\n",
        "def setup_module():\n    pass\n",
        "pytestmark = pytest.mark.slow\n",
        "from mocks import add\n",
        "from mocks import *\n",
        "import mocks as add\n",
        "CASES = []\n",
        "calc.add = len\n",
        "X = setattr(calc, 'add', len)\n",
        "def test_add():\n    pass\n",
        "class TestCalc:\n    pass\n",
        "class Made:\n    calc.add = len\n    mocks.put()\n",
        "if True:\n    add = len\n",
    ],
)
def test_an_addition_that_may_reach_the_tests_that_are_there_is_an_edit(added: str) -> None:
    assert not only_adds(OLD.encode(), f"{OLD}\n\n{added}".encode())


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("import add\n", "import add, mul\n", True),
        ("from calc import add\n", "from calc import mul\n", False),
        ("assert self.kind\n", "assert self.kind\n\n    def test_size(self):\n        assert 1\n", True),
        ("assert self.kind\n", "assert self.kind\n\n    def kind(self):\n        return 1\n", False),
        ("assert self.kind\n", "assert self.kind\n\n    def setUp(self):\n        pass\n", False),
        ("assert self.kind\n", "assert self\n", False),
        ("class TestCalc:", "@pytest.mark.skip\nclass TestCalc:", False),
        ("class TestCalc:", "class TestCalc(Base):", False),
        ("def test_add(db):", "async def test_add(db):", False),
        ("def test_add(db):\n    assert add(1, 2) == 3\n", "class test_add:\n    pass\n", False),
    ],
)
def test_a_module_of_tests_may_gain_imports_and_members(old: str, new: str, expected: bool) -> None:
    assert old in OLD
    assert only_adds(OLD.encode(), OLD.replace(old, new).encode()) is expected


def test_a_first_conftest_may_offer_fixtures() -> None:
    assert only_adds(b"", f"import pytest\n\n\n{FIXTURE}".encode())
    assert not only_adds(b"", b"import calc as pytest\n")


def test_statements_in_another_order_are_an_edit() -> None:
    assert not only_adds(b"X = 1\nX = 2\n", b"X = 2\nX = 1\n")
    assert not only_adds(b"class T(Base):\n    a = 1\n", b"class T(Base):\n    a = 1\n\n    def test_b(self): pass\n")
    assert not only_adds(b"X = (\n", b"X = (\n")
