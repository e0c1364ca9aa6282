"""Edited tests: whether their old versions are worth a run, and which of what fails there are theirs."""

from __future__ import annotations

import pytest

from ralphy.checks.failing_tests import failing_tests
from ralphy.testguard.edited_tests import is_edited, only_offers, theirs
from ralphy.testguard.text_test_parser import text_cases

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
    ],
    ids=["an expectation", "a value", "a name", "a line within", "an import", "one more test", "one more import"],
)
def test_what_is_only_added_is_no_edit(new: str, expected: bool) -> None:
    old_cases, new_cases = list(text_cases("a.test.js", JS)), list(text_cases("a.test.js", new))

    assert is_edited(JS, new, old_cases, new_cases) is expected


FIXTURE = "@pytest.fixture\ndef one():\n    return 1\n"


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        (FIXTURE, True),
        ("import os\n\n\ndef made():\n    return os\n", True),
        (FIXTURE.replace("fixture", "fixture(autouse=True)"), False),
        ("def pytest_configure(config):\n    pass\n", False),
        ("calc.add = len\n", False),
    ],
)
def test_what_a_conftest_offers_changes_no_test_that_is_there(added: str, expected: bool) -> None:
    assert only_offers(b"import pytest\n", f"import pytest\n\n\n{added}".encode()) is expected
    assert not only_offers(b"import pytest\nX = 1\n", f"import pytest\n\n\n{added}".encode())
