"""A check that ran no tests: all of it has to say so."""

from __future__ import annotations

import pytest

from ralphy.checks.listing import Listing
from ralphy.checks.runner_output import ran_none

UNITTEST = "\n-----\nRan 0 tests in 0.000s\n\n"
RAN = "\n-----\nRan 2 tests in 0.000s\n\n"
PYTEST = ("python", "-m", "pytest")
SCRIPT = ("sh", "run-tests.sh")

CASES: dict[str, tuple[tuple[str, ...], int | None, str, Listing | None, bool]] = {
    "pytest that is quiet": (PYTEST, 5, "", None, True),
    "pytest of a folder of programs": ((".venv/bin/pytest", "-q"), 5, "", Listing(), True),
    "pytest by a script": (SCRIPT, 5, "===== no tests ran in 0.51s =====\n", Listing(), True),
    "pytest by a script, its code ignored": (SCRIPT, 0, "no tests ran in 0.51s\n", None, True),
    "unittest before Python 3.12": (SCRIPT, 0, f"{UNITTEST}OK\n", None, True),
    "unittest since Python 3.12": (SCRIPT, 5, f"{UNITTEST}NO TESTS RAN\n", None, True),
    "two empty suites": (SCRIPT, 5, f"{UNITTEST}NO TESTS RAN\n{UNITTEST}NO TESTS RAN\n", None, True),
    "a code of 5 without words": (SCRIPT, 5, "", None, False),
    "a name that has pytest in it": (("sh", "run-pytest.sh"), 5, "", None, False),
    "another code": (SCRIPT, 1, f"{UNITTEST}OK\n", None, False),
    "stopped": (PYTEST, None, UNITTEST, None, False),
    "green without words": (PYTEST, 0, "", None, False),
    "a second suite ran": (SCRIPT, 0, f"{UNITTEST}OK\n{RAN}OK\n", None, False),
    "a first suite ran": (SCRIPT, 5, f"{RAN}FAILED (failures=1)\n{UNITTEST}NO TESTS RAN\n", None, False),
    "a class could not be set up": (SCRIPT, 5, f"{UNITTEST}FAILED (errors=1)\n", None, False),
    "another runner named what failed": (SCRIPT, 5, f"--- FAIL: TestIt (0.00s)\n{UNITTEST}NO TESTS RAN\n", None, False),
    "another runner counts what failed": (SCRIPT, 5, f"Tests:       3 failed, 3 total\n{UNITTEST}", None, False),
    "pytest with a code of a plug-in's": (PYTEST, 5, "=== 1 failed in 0.01s ===\n", None, False),
    "the report knows of tests": (PYTEST, 5, "", Listing.of({"tests/test_a.py::test_b": "failed"}), False),
}


@pytest.mark.parametrize("case", CASES)
def test_a_check_ran_no_tests_only_if_all_of_it_says_so(case: str) -> None:
    argv, code, output, listing, expected = CASES[case]

    assert ran_none(argv, code, output, listing) is expected
