"""Tests that are made to fail, and twins of tests that fail beside them."""

from __future__ import annotations

import pytest

from ralphy.checks.listing import FAILED, PASSED, SKIPPED
from ralphy.testguard.spoiled_tests import silent_twins, with_twin
from ralphy.testguard.test_files import WrittenTest

PLAIN = b"def test_a():\n    assert one()\n\n\n@marked\ndef test_b(given):\n    pass"
METHOD = b"class TestIt(TestCase):\n\tdef test_a(self):\n\t\tself.fail()\n\n\tdef other(self):\n\t\tpass\n"
MARKED = b"class TestIt:\n    @marked(1)\n    async def test_a(self, given):\n        assert given\n"
YIELDS = b"def test_a():\n    yield 1\n"
# a file of tests, the twin that stands in it, and its text
TWINS = [
    (PLAIN, "test_a_made_to_fail", b"\ndef test_a_made_to_fail():\n    return _must_fail()\n"),
    (METHOD, "TestIt.test_a_made_to_fail", b"\n\tdef test_a_made_to_fail(self):\n\t    return _must_fail(self)\n"),
    (MARKED, "TestIt.test_a_made_to_fail",
     b"\n    @marked(1)\n    async def test_a_made_to_fail(self, given):\n        return _must_fail(self)\n"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "name", "text"), TWINS)
def test_a_twin_stands_behind_its_test_and_no_other_line_changes(data: bytes, name: str, text: bytes) -> None:
    found, twin = with_twin("tests/test_a.py", data)
    assert twin == WrittenTest("tests/test_a.py", name)
    before, mark, after = found.partition(text)
    assert mark
    assert (before + after).startswith(data)


@pytest.mark.parametrize(("path", "data"), [("tests/a.py", YIELDS), ("tests/a.py", b"def"), ("a.test.js", PLAIN)])
def test_a_file_without_a_test_that_can_fail_at_once_has_no_twin(path: str, data: bytes) -> None:
    assert with_twin(path, data) == (data, None)


@pytest.mark.parametrize(
    ("twin", "test", "is_silent"),
    [(FAILED, FAILED, False), (PASSED, FAILED, True), (SKIPPED, FAILED, True), (SKIPPED, SKIPPED, False)],
)
def test_a_twin_is_silent_where_it_passes_or_is_skipped_alone(twin: str, test: str, is_silent: bool) -> None:
    name = "tests/test_a.py::test_a_made_to_fail"
    outcomes = {"tests/test_a.py::test_a": test, name: twin}
    twins = [WrittenTest("tests/test_a.py", "test_a_made_to_fail")]
    assert silent_twins(outcomes, twins) == ([name] if is_silent else [])
