"""The names of failing tests, out of what real runners print."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphy.checks.runner_output import failing_tests

PYTEST = """\
F.F.E                                                                    [100%]
=================================== FAILURES ===================================
___________________________________ test_adds __________________________________
E       assert 3 == 2
------------------------------ Captured log call -------------------------------
ERROR    root:test_calc.py:3 a message that is no test
ERROR a message of the program under test
FAILED to connect
=========================== short test summary info ============================
FAILED tests/test_calc.py::test_adds - assert 3 == 2
FAILED tests/test_calc.py::TestSub::test_param[a b-1] - AssertionError: x
FAILED tests/test_calc.py::TestSub::test_param[a c-1]
FAILED README.md::README.md
ERROR tests/test_db.py::test_rows - RuntimeError: no database
ERROR tests/test_broken.py - ModuleNotFoundError: No module named 'nope'
FAILED tests/test_calc.py::test_adds - assert 3 == 2
4 failed, 2 passed, 2 errors in 0.12s
"""
PYTEST_NAMES = (
    "tests/test_calc.py::test_adds",
    "tests/test_calc.py::TestSub::test_param[a b-1]",
    "tests/test_calc.py::TestSub::test_param[a c-1]",
    "README.md::README.md",
    "tests/test_db.py::test_rows",
    "tests/test_broken.py",
)
UNITTEST = """\
FE
======================================================================
ERROR: test_opens (test_calc.TestCalc.test_opens)
----------------------------------------------------------------------
Traceback (most recent call last):
ValueError: x

======================================================================
FAIL: test_adds (test_calc.TestCalc.test_adds)
----------------------------------------------------------------------
AssertionError: 3 != 2

----------------------------------------------------------------------
Ran 2 tests in 0.001s

FAILED (failures=1, errors=1)
"""
GO = """\
--- FAIL: TestAdd (0.00s)
    --- FAIL: TestAdd/two_and_three (0.00s)
        add_test.go:9: got 6
--- FAIL: TestSub (0.01s)
FAIL
FAIL\texample.org/calc\t0.003s
ok  \texample.org/other\t0.002s
FAIL
"""
GO_BUILD = """\
# example.org/calc [example.org/calc.test]
./add.go:3:1: syntax error
FAIL\texample.org/calc [build failed]
FAIL
"""
CARGO = """\
running 4 tests
test tests::it_adds ... FAILED
test tests::it_subtracts ... ok
test src/lib.rs - add (line 3) ... FAILED
test tests::slow - should panic ... FAILED

failures:

---- tests::it_adds stdout ----
thread 'tests::it_adds' panicked at src/lib.rs:9:9

failures:
    tests::it_adds

test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
"""
JEST = """\
FAIL src/sum.test.js
  sum
    ✕ adds 1 + 2 (3 ms)
    ✓ subtracts

  ● sum › adds 1 + 2

    expect(received).toBe(expected) // Object.is equality

  ● Console

    console.log

Summary of all failing tests
FAIL src/sum.test.js
  ● sum › adds 1 + 2

Test Suites: 1 failed, 1 total
Tests:       1 failed, 1 passed, 2 total
"""
VITEST = """\
 RUN  v1.6.0 /app

 ❯ src/sum.test.ts (2 tests | 1 failed) 5ms
   × sum > adds 3ms
     → expected 4 to be 3

 FAIL  src/sum.test.ts > sum > adds
AssertionError: expected 4 to be 3

 FAIL  src/broken.test.ts [ src/broken.test.ts ]
Error: Cannot find module

 Test Files  2 failed (2)
      Tests  1 failed | 1 passed (2)
"""
TAP = """\
TAP version 13
# Subtest: sum
    # Subtest: adds
    not ok 1 - adds two
      ---
      error: 'x'
      ...
    1..1
not ok 1 - sum
ok 2 - sub
not ok 3 without a dash
not ok 4 - later # TODO not there yet
1..4
# fail 2
"""
NODE = """\
▶ sum
  ✖ adds (1.2ms)
  ✔ subtracts (0.1ms)
✖ sum (2.5ms)
ℹ fail 1

✖ failing tests:

✖ adds (1.2ms)
"""


@pytest.mark.parametrize(
    "output, names",
    [
        pytest.param(PYTEST, PYTEST_NAMES, id="pytest"),
        pytest.param(
            UNITTEST,
            ("test_opens (test_calc.TestCalc.test_opens)", "test_adds (test_calc.TestCalc.test_adds)"),
            id="unittest",
        ),
        pytest.param(GO, ("TestAdd", "TestAdd/two_and_three", "TestSub"), id="go"),
        pytest.param(GO_BUILD, ("example.org/calc [build failed]",), id="go build"),
        pytest.param(CARGO, ("tests::it_adds", "src/lib.rs - add (line 3)", "tests::slow - should panic"), id="cargo"),
        pytest.param(JEST, ("sum › adds 1 + 2",), id="jest"),
        pytest.param(
            VITEST,
            ("sum > adds", "src/sum.test.ts > sum > adds", "src/broken.test.ts [ src/broken.test.ts ]"),
            id="vitest",
        ),
        pytest.param(TAP, ("adds two", "sum", "without a dash"), id="tap"),
        pytest.param(NODE, ("adds", "sum"), id="node"),
        pytest.param("", (), id="nothing"),
        pytest.param("make: *** [Makefile:3: test] Error 1\n", (), id="make"),
        pytest.param("FAILED (failures=1)\n", (), id="unittest's last line"),
        pytest.param("3 passed in 0.01s\n", (), id="green"),
    ],
)
def test_the_failing_tests_are_named(output: str, names: tuple[str, ...]) -> None:
    assert failing_tests(output) == names
    assert failing_tests(output.replace("\n", "\r\n")) == names


def test_colours_do_not_matter_and_the_list_is_bounded() -> None:
    red = "\x1b[31mFAILED\x1b[0m tests/test_calc.py::\x1b[1mtest_adds\x1b[0m - \x1b[31massert 3 == 2\x1b[0m\n"
    assert failing_tests(red) == ("tests/test_calc.py::test_adds",)

    assert len(failing_tests("".join(f"FAILED t.py::test_{n}\n" for n in range(2000)))) == 500


@settings(deadline=None)
@given(st.text())
def test_no_output_breaks_the_reader(output: str) -> None:
    assert all(name and "\n" not in name for name in failing_tests(output))


@pytest.mark.parametrize("line", ["\n", " " * 50 + "\n", "FAILED", "\u00d7 ", "1" * 1000])
def test_a_megabyte_made_to_be_slow_comes_to_its_end(line: str) -> None:
    """A pattern that looks over many lines from each of them would take half an hour."""
    assert failing_tests(f"x{line * (1_000_000 // len(line))}\n--- FAIL: TestLast\n") == ("TestLast",)
