"""ACCEPTANCE.md: what it says, and what is wrong with it; what became of its tests in a run."""

from __future__ import annotations

import pytest

from ralphy.checks.listing import FAILED, PASSED, SKIPPED, Listing
from ralphy.errors import InvalidInput
from ralphy.pipeline.acceptance import GREEN, MISSING, RED, outcomes, read_acceptance, with_dropped
from tests.core.building import prd, story

FILE = """\
# Acceptance tests

## `tests/test_a.py`

- US-001.2: test_one, test_two
* `US-001.1`: test_two

````python
def test_one(): "```"
## no heading
def test_two(): ...
````

## tests/conftest.py
~~~
X = 1
~~~
"""
PATH = "tests/test_a.py"


def test_files_criteria_and_tests_are_read_and_nothing_in_a_fence_is_a_heading() -> None:
    found = read_acceptance(FILE)

    test, needed = found.files
    assert [(str(criterion), name) for criterion, name in test.tests] == [
        ("US-001.2", "test_one"), ("US-001.2", "test_two"), ("US-001.1", "test_two")]  # fmt: skip
    assert (test.path, test.story, needed.path, needed.text) == (PATH, "US-001", "tests/conftest.py", "X = 1\n")
    assert "## no heading" in test.text
    assert found.of({"US-002"}) == []
    assert [file.path for file in found.of({"US-001"})] == [PATH, "tests/conftest.py"]
    assert found.of({"US-001"}, ["US-001.1", "US-001.2"]) == []
    known = prd(story("US-001", acceptanceCriteria=["a", "b", "c"]))
    assert found.untested(known) == ["US-001.3"]


@pytest.mark.parametrize(
    "old, new, said",
    [
        ("tests/test_a.py", "/etc/x", "ACCEPTANCE.md:3: /etc/x is not a path of the repository"),
        ("tests/test_a.py", "a/../b", "not a path of the repository"),
        ("tests/test_a.py", ".git/hooks/x", "not a path of the repository"),
        ("tests/test_a.py", "tests/conftest.py", "names a file twice"),
        ("US-001.2: test_one", "test_one", "ACCEPTANCE.md:5: '- test_one, test_two' names no criterion and test"),
        ("test_one, test_two", "test_c", "ACCEPTANCE.md:5: test_c is not in tests/test_a.py"),
        ("`US-001.1`", "US-002.1", "tests of several stories"),
        ("~~~\nX = 1\n~~~", "", "tests/conftest.py has 0 blocks of code"),
        ("- US-001.2: test_one, test_two\n* `US-001.1`: test_two\n", "", "holds no tests"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_line(old: str, new: str, said: str) -> None:
    assert old in FILE
    with pytest.raises(InvalidInput) as error:
        read_acceptance(FILE.replace(old, new))
    assert said in str(error.value)


@pytest.mark.parametrize(
    "tests, is_green, said",
    [
        (
            {f"{PATH}::test_one": PASSED, f"{PATH}::test_two[1]": PASSED, f"{PATH}::test_two[2]": FAILED},
            False,
            [GREEN, RED],
        ),
        ({f"{PATH}::test_one": SKIPPED, "tests/test_other.py::test_two": PASSED}, True, [MISSING, MISSING]),
        ({f"{PATH}::test_one": PASSED}, False, [GREEN, MISSING]),
        ({"tests/test_other.py::test_two": PASSED}, False, [RED, RED]),
        ({"test_one": PASSED, "test_two": PASSED}, True, [GREEN, GREEN]),
        ({}, False, [RED, RED]),
        ({}, True, [GREEN, GREEN]),
    ],
    ids=["cases", "did not run", "one is gone", "the file is broken", "no paths", "red, no names", "green, no names"],
)
def test_what_each_test_said(tests: dict[str, str], is_green: bool, said: list[str]) -> None:
    found = outcomes(read_acceptance(FILE).files, Listing.of(tests) if tests else None, is_green=is_green)
    assert [one.outcome for one in found][:2] == said


def test_a_person_drops_the_tests_of_criteria_by_name_or_those_asked_about() -> None:
    before = prd(story("US-001", acceptanceCriteria=["a", "b"]))

    def dropped(answer: str) -> object:
        return with_dropped(before, answer, "what about US-001.1?").workflow.get("acceptance")

    assert dropped("drop US-001.2") == {"dropped": ["US-001.2"]}
    assert dropped("Drop it.") == {"dropped": ["US-001.1"]}
    assert dropped("drop US-009.1") is None
    assert dropped("keep US-001.1, do not drop it") is None
