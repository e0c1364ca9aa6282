"""What runners print (tests/runner_outputs): which tests failed, which there were, and the first error with its place.

`expected.json` says it of each: `failing`, `tests` where all are named, else `counts`, and the line of the `error`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralphy.checks.first_error import first_error
from ralphy.checks.listing import PASSED, Listing
from ralphy.checks.narrowing import folder_of, narrowed
from ralphy.checks.runner_output import counts_tests_that_ran, failing_tests, read_output
from ralphy.prompts.budget import FAILURE_BYTES, digest_failure, excerpt

OUTPUTS = Path(__file__).parents[1] / "runner_outputs"
EXPECTED: dict[str, dict[str, Any]] = json.loads((OUTPUTS / "expected.json").read_text(encoding="utf-8"))


def output_of(name: str) -> str:
    return (OUTPUTS / f"{name}.txt").read_text(encoding="utf-8")


NODE = output_of("node-a-syntaxerror-as-tap")


def of(what: str) -> list[str]:
    return [name for name, expected in EXPECTED.items() if what in expected]


def test_each_output_is_expected_to_tell_something() -> None:
    assert {path.stem for path in OUTPUTS.glob("*.txt")} == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_the_failing_tests_are_named(name: str) -> None:
    output, names = output_of(name), tuple(EXPECTED[name].get("failing", ()))
    assert failing_tests(output) == failing_tests(output.replace("\n", "\r\n")) == names


@pytest.mark.parametrize("name", [*of("tests"), *of("counts")])
def test_tests_are_known_by_name_or_where_not_all_are_named_by_number(name: str) -> None:
    found, expected = read_output(output_of(name)), EXPECTED[name]
    assert found is not None
    assert found.tests == expected.get("tests", {})
    assert "tests" in expected or found.counts == expected["counts"]


@pytest.mark.parametrize("name", of("error"))
def test_the_first_error_is_told_with_its_place_and_survives_in_a_digest_between_much_else(name: str) -> None:
    output, line = output_of(name), EXPECTED[name]["error"]
    begin = "".join(f"compiling part {n}\n" for n in range(200))
    end = "".join(f"running part {n}\n" for n in range(3000))
    head = "TAP version 13\n" if output.startswith("TAP") else ""

    found = first_error(output)
    digest = digest_failure(["test"], f"{head}{begin}{output}{end}12 parts run", "test exit 1 (0.2 s): a")

    assert found is not None
    assert found.line == line
    place, _, said = line.rpartition(": ")
    assert (said or line) in digest
    assert place.removesuffix(":") in digest.replace('", line ', ":") or line in digest
    assert digest.endswith("12 parts run")
    assert len(digest.encode()) <= FAILURE_BYTES


def test_of_a_syntax_error_of_node_the_file_the_error_and_the_summary_survive() -> None:
    digest = digest_failure(["test"], NODE, "test exit 1 (0.2 s): /home/me/app/base.test.js", 900)

    for said in ("/home/me/app/base.js:2", "SyntaxError: Unexpected token '=>'", "exports.two = ( => 2;", "# pass 0"):
        assert said in digest


def test_a_stack_is_left_out_and_lines_are_cut() -> None:
    found = first_error(NODE + "x" * 9000)

    assert found is not None
    assert not [line for line in found.excerpt if "node:internal" in line]
    assert max(map(len, found.excerpt)) <= 300


def test_other_output_tells_nothing() -> None:
    for output in ("", "all is well\n", "ok  \tcalc\t0.002s\n", "Found 0 errors.\n"):
        assert read_output(output) is None
    for output in ("", "make: *** [Makefile:3: test] Error 1\n", "FAILED (failures=1)\n", "3 passed in 0.01s\n"):
        assert failing_tests(output) == ()
    assert first_error("all is well\n0 errors, 0 failed\nno errors\n") is None


def test_colours_do_not_matter_and_the_list_is_bounded() -> None:
    red = "\x1b[31mFAILED\x1b[0m tests/test_calc.py::\x1b[1mtest_adds\x1b[0m - \x1b[31massert 3 == 2\x1b[0m\n"
    assert failing_tests(red) == ("tests/test_calc.py::test_adds",)
    assert len(failing_tests("".join(f"FAILED t.py::test_{n}\n" for n in range(2000)))) == 500


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


@settings(deadline=None)
@given(st.text(max_size=300), st.integers(min_value=0, max_value=400))
def test_any_output_is_read_or_tells_nothing_and_fits(output: str, room: int) -> None:
    found = read_output(output)
    assert found is None or found.collected >= 0
    assert all(name and "\n" not in name for name in failing_tests(output))
    assert len(excerpt(output * 5, room).encode("utf-8", "replace")) <= room


@pytest.mark.parametrize("line", ["\n", " " * 50 + "\n", "=== RUN", "FAILED", "\u00d7 ", "1" * 1000])
def test_a_megabyte_made_to_be_slow_comes_to_its_end(line: str) -> None:
    """A pattern that looks over many lines from each of them would take half an hour."""
    slow = f"x{line * (1_000_000 // len(line))}\n"
    found = read_output(f"{slow}--- PASS: TestLast\n")
    assert found and found.tests == {"TestLast": PASSED}
    assert counts_tests_that_ran(f"{slow}--- PASS: TestLast\n")
    assert failing_tests(f"{slow}--- FAIL: TestLast\n") == ("TestLast",)


def test_output_of_many_tests_is_read_at_once() -> None:
    """An expression that tries each way to split the white space would not come to an end."""
    block = "    ok {0} - small {0}\n      ---\n      duration_ms: 0.8\n      type: 'test'\n      ...\n"
    many = "".join(map(block.format, range(500)))
    found = read_output(f"{many}# tests 500\n# pass 500\n# fail 0\n")
    assert found is not None
    assert len(found.tests) == 500
