"""Which tests are meant by the names that runners print of those that fail."""

from __future__ import annotations

import pytest

from ralphy.checks.runner_output import failing_tests
from ralphy.testguard.kept.test_matching import written_in
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

    assert list(written_in(failing_tests(output), list(text_cases(path, text)))) == [path]


def test_a_failing_test_of_another_name_is_not_theirs() -> None:
    assert written_in(["add › subtracts", "TestSub", "sums::subtracts"], list(text_cases("a.test.js", JS))) == {}
