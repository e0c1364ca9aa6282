"""What runners print of their tests: by name where all are named, else by number."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralphy.checks.listing import PASSED, Listing
from ralphy.checks.narrowing import folder_of, narrowed
from ralphy.checks.runner_output import counts_tests_that_ran, failing_tests, read_output

NAMED = {
    "ctest": (
        "      Start  1: calc_test\n 1/10 Test  #1: calc_test ........................   Passed    0.00 sec\n"
        "      Start  2: fails\n 2/10 Test  #2: fails ............................***Failed    0.00 sec\n"
        " 3/10 Test  #3: skips ............................***Skipped   0.00 sec\n"
        " 4/10 Test  #4: off ..............................***Not Run (Disabled)   0.00 sec\n"
        " 5/10 Test  #5: never built ......................***Not Run   0.00 sec\n"
        "10/10 Test #10: slow one .........................***Timeout   1.01 sec\n\n"
        "33% tests passed, 3 tests failed out of 5\n\nThe following tests FAILED:\n\t  2 - fails (Failed)\n",
        {
            "calc_test": "passed",
            "fails": "failed",
            "skips": "skipped",
            "off": "skipped",
            "never built": "failed",
            "slow one": "failed",
        },
    ),
    "googletest": (
        "[==========] Running 3 tests from 1 test suite.\n[ RUN      ] Calc.Adds\n[       OK ] Calc.Adds (0 ms)\n"
        "[ RUN      ] Calc.Subs\ncalc_test.cpp:9: Failure\n[  FAILED  ] Calc.Subs (0 ms)\n[ RUN      ] Calc.Slow\n"
        "[  SKIPPED ] Calc.Slow (0 ms)\n[==========] 3 tests from 1 test suite ran. (0 ms total)\n"
        "[  PASSED  ] 1 test.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] Calc.Subs\n",
        {"Calc.Adds": "passed", "Calc.Subs": "failed", "Calc.Slow": "skipped"},
    ),
    "cargo": (
        "running 3 tests\ntest tests::adds ... ok\ntest tests::subs ... ok\ntest tests::slow ... ignored\n\n"
        "test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n"
        "   Doc-tests calc\nrunning 0 tests\ntest result: ok. 0 passed; 0 failed; 0 ignored; finished in 0.00s\n",
        {"tests::adds": "passed", "tests::subs": "passed", "tests::slow": "skipped"},
    ),
    "go -v": (
        "=== RUN   TestAdd\n=== RUN   TestAdd/small\n--- PASS: TestAdd (0.00s)\n    --- PASS: TestAdd/small (0.00s)\n"
        "=== RUN   TestSlow\n--- SKIP: TestSlow (0.00s)\nPASS\nok  \tcalc\t0.002s\n",
        {"TestAdd": "passed", "TestAdd/small": "passed", "TestSlow": "skipped"},
    ),
    "node": (
        "✔ adds (0.8ms)\n✖ subs (0.2ms)\n﹣ slow (0.1ms) # SKIP\nℹ tests 3\nℹ suites 0\nℹ pass 1\nℹ fail 1\n"
        "ℹ skipped 1\nℹ todo 0\nℹ duration_ms 44\n",
        {"adds": "passed", "subs": "failed", "slow": "skipped"},
    ),
    "node, piped": (
        "TAP version 13\n# Subtest: adds\nok 1 - adds\n  ---\n  duration_ms: 0.8\n  ...\n"
        "# Subtest: subs\nnot ok 2 - subs\n"
        "# Subtest: slow\nok 3 - slow # SKIP\n1..3\n# tests 3\n# suites 0\n# pass 1\n# fail 1\n# skipped 1\n# todo 0\n",
        {"adds": "passed", "subs": "failed", "slow": "skipped"},
    ),
    "node, with suites": (
        "▶ add\n  ✔ small (0.8ms)\n  ✔ big (0.1ms)\n▶ add (2ms)\n✔ alone (1ms)\nℹ tests 3\nℹ suites 1\nℹ pass 3\n"
        "ℹ fail 0\nℹ skipped 0\n",
        {"small": "passed", "big": "passed", "alone": "passed"},
    ),
    "node, newer, with suites": (
        "▶ add\n  ✔ small (0.8ms)\n✔ add (2ms)\nℹ tests 1\nℹ suites 1\nℹ pass 1\nℹ fail 0\nℹ skipped 0\n",
        {"small": "passed"},
    ),
    "node, with a test in a test": (
        "▶ add\n  ✔ small (0.8ms)\n✔ add (2ms)\nℹ tests 2\nℹ suites 0\nℹ pass 2\nℹ fail 0\nℹ skipped 0\n",
        {"small": "passed", "add": "passed"},
    ),
    "node, piped, with suites": (
        "TAP version 13\n# Subtest: add\n    # Subtest: small\n    ok 1 - small\n      ---\n      duration_ms: 0.8\n"
        "      ...\n    1..1\nok 1 - add\n  ---\n  duration_ms: 2.1\n  type: 'suite'\n  ...\n1..1\n# tests 1\n"
        "# suites 1\n# pass 1\n# fail 0\n# skipped 0\n",
        {"small": "passed"},
    ),
    "jest": (
        "PASS ./a.test.js\n  c\n    ✓ adds (2 ms)\n    ○ skipped slow\n\nTests:       1 skipped, 1 passed, 2 total\n",
        {"adds": "passed", "slow": "skipped"},
    ),
    "vitest": (
        " ✓ a.test.ts > calc > adds 1ms\n ↓ a.test.ts > calc > slow\n\n      Tests  1 passed | 1 skipped (2)\n",
        {"a.test.ts > calc > adds": "passed", "a.test.ts > calc > slow": "skipped"},
    ),
    "unittest -v": (
        "test_add (tests.test_calc.TestCalc.test_add) ... ok\ntest_sub (tests.test_calc.TestCalc) ... skipped 'slow'\n"
        "test_mul (tests.test_calc.TestCalc.test_mul)\nMultiplication: of two. ... ok\n"
        "\n----\nRan 3 tests in 0.000s\n\nOK (skipped=1)\n",
        {
            "tests/test_calc.py::TestCalc::test_add": "passed",
            "tests/test_calc.py::TestCalc::test_sub": "skipped",
            "tests/test_calc.py::TestCalc::test_mul": "passed",
        },
    ),
    "unittest -v, with parts that fail and a module that cannot be imported": (
        "test_add (tests.test_calc.TestCalc.test_add) ... ok\ntest_sub (tests.test_calc.TestCalc.test_sub) ... \n"
        "  test_sub (tests.test_calc.TestCalc.test_sub) (a=2) ... FAIL\n"
        "  test_sub (tests.test_calc.TestCalc.test_sub) (a=3) ... FAIL\n"
        "tests.test_new (unittest.loader._FailedTest.tests.test_new) ... ERROR\n"
        "\n----\nRan 3 tests in 0.000s\n\nFAILED (failures=2, errors=1)\n",
        {
            "tests/test_calc.py::TestCalc::test_add": "passed",
            "tests/test_calc.py::TestCalc::test_sub": "failed",
            "tests.test_new (unittest.loader._FailedTest.tests.test_new)": "failed",
        },
    ),
}
NUMBERED = {
    "jest of many files": ("PASS ./a.test.js\nTests:       4 passed, 4 total\n", {"passed": 4}),
    "vitest": (" ✓ a.test.ts (4 tests) 3ms\n      Tests  4 passed (4)\n", {"passed": 4}),
    "maven": (
        "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 1, Time elapsed: 0.02 s - in ATest\n"
        "[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1\n",
        {"passed": 2, "failed": 2, "skipped": 1},
    ),
    "unittest": ("..s\n----\nRan 3 tests in 0.000s\n\nOK (skipped=1)\n", {"passed": 2, "skipped": 1}),
    "pytest": ("..s [100%]\n2 passed, 1 skipped in 0.01s\n", {"passed": 2, "skipped": 1}),
    "node, cut": ("…\n✔ adds (0.8ms)\nℹ tests 3\nℹ pass 3\nℹ fail 0\nℹ skipped 0\n", {"passed": 3}),
    "cargo, one name twice": (
        "test t::a ... ok\ntest result: ok. 1 passed; 0 failed\n"
        "test t::a ... ok\ntest result: ok. 1 passed; 0 failed\n",
        {"passed": 2},
    ),
}


@pytest.mark.parametrize("runner", NAMED)
def test_tests_are_known_by_name(runner: str) -> None:
    found = read_output(NAMED[runner][0])
    assert found is not None
    assert found.tests == NAMED[runner][1]


def test_tests_are_known_by_number_and_other_output_tells_nothing() -> None:
    for output, counts in NUMBERED.values():
        found = read_output(output)
        assert found is not None, output
        assert (found.tests, found.counts) == ({}, counts)
    for output in ("", "all is well\n", "ok  \tcalc\t0.002s\n", "Found 0 errors.\n"):
        assert read_output(output) is None
    assert failing_tests(NAMED["ctest"][0]) == ("fails", "never built", "slow one")
    assert failing_tests(NAMED["googletest"][0]) == ("Calc.Subs",)


def test_a_check_that_runs_in_a_folder_names_its_tests_from_the_root() -> None:
    words = ["env", "-C", "back end", "python3", "-m", "pytest", "-q", "tests"]
    folder = folder_of(words)
    assert (folder, folder_of(["env", "A=1", "pytest"]), folder_of(["env", "-C", "x"])) == ("back end", "", "")
    listing = Listing.of({"tests/test_a.py::test_x": "skipped", "adds": "passed"}, {"tests/test_a.py::test_x": "slow"})
    below = listing.below(folder)
    assert dict(below.tests) == {"back end/tests/test_a.py::test_x": "skipped", "adds": "passed"}
    assert below.reasons == {"back end/tests/test_a.py::test_x": "slow"} and listing.below("") is listing
    is_there = {"back end/tests"}.__contains__
    alone = ["--maxfail=0", "--continue-on-collection-errors"]
    assert narrowed(words, ["back end/tests/test_a.py"], is_there) == [*words[:-1], *alone, "tests/test_a.py"]
    assert narrowed(words, ["tests/test_a.py"], is_there) is None  # it is not this check's
    node = narrowed(["node", "--test", "tests", "--test-reporter=tap"], ["tests/a.js"], {"node", "tests"}.__contains__)
    assert node == ["node", "--test", "--test-reporter=tap", "tests/a.js"]
    assert narrowed(["pytest", "-k", "slow", "slow", "-q"], ["a.py"], {"slow"}.__contains__) == [
        *("pytest", "-k", "slow", "-q"), *alone, "a.py"
    ]  # fmt: skip


@given(st.text())
def test_any_output_is_read_or_tells_nothing(output: str) -> None:
    found = read_output(output)
    assert found is None or found.collected >= 0


@pytest.mark.parametrize("line", ["\n", " " * 50 + "\n", "=== RUN"])
def test_a_megabyte_made_to_be_slow_comes_to_its_end(line: str) -> None:
    """A pattern that looks over many lines from each of them would take half an hour."""
    found = read_output(f"x{line * (1_000_000 // len(line))}\n--- PASS: TestLast\n")
    assert found and found.tests == {"TestLast": PASSED}
    assert counts_tests_that_ran(f"x{line * (1_000_000 // len(line))}\n--- PASS: TestLast\n")


def test_output_of_many_tests_is_read_at_once() -> None:
    """An expression that tries each way to split the white space would not come to an end."""
    block = "    ok {0} - small {0}\n      ---\n      duration_ms: 0.8\n      type: 'test'\n      ...\n"
    many = "".join(map(block.format, range(500)))
    found = read_output(f"{many}# tests 500\n# pass 500\n# fail 0\n")
    assert found is not None
    assert len(found.tests) == 500
