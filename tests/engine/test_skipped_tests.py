"""Acceptance tests that are skipped until their code is there: a story may wake them, and not get rid of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.engine.judged import Files, Repository
from tests.engine.pytested import CALC, PYPROJECT, TEST_FILE, TESTS

WORDS, PLACE = "tests/test_words.py", "tests/test_words.py::test_count"
IMPORTED = (
    "import pytest\n\nwords = pytest.importorskip('words')\n\n\ndef test_count():\n    assert words.count('a b') == 2\n"
    "\n\ndef test_none():\n    assert words.count('') == 0\n"
)
MARKED = (
    "import pytest\n\n\n@pytest.mark.xfail(reason='US-001')\ndef test_count():\n    import words\n\n"
    "    assert words.count('a b') == 2\n"
)
PLAIN = IMPORTED.replace("= pytest.importorskip('words')", "= __import__('words')")
COUNTS = "def count(text):\n    return len(text.split())\n"
CONFTEST = "def pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if 'words' not in i.nodeid]\n"
# the tests that are there; of each change what it writes, and why it does not count ("" if it does, without a flag)
CHANGES: dict[str, tuple[str, dict[str, tuple[Files, str]]]] = {
    "an import": (IMPORTED, {
        "the file is deleted": ({WORDS: None}, "tests that existed are gone"),
        "the file is left out": (
            {"tests/conftest.py": "collect_ignore = ['test_words.py']\n", "words.py": COUNTS},
            f"{WORDS}::tests.test_words exists but no longer runs"),
        "the module comes": ({"words.py": COUNTS}, ""),
        "the module comes and its tests move": (
            {"words.py": COUNTS, "tests/unit/test_words.py": PLAIN, WORDS: None}, ""),
    }),
    "a mark": (MARKED, {
        "a conftest leaves it out": (
            {"tests/conftest.py": CONFTEST}, f"{PLACE} exists but no longer runs"),
        "it passes, and its mark goes": (
            {"words.py": COUNTS, WORDS: MARKED.replace("@pytest.mark.xfail(reason='US-001')\n", "")}, ""),
    }),
}  # fmt: skip


def skipped_by(tmp_path: Path, text: str) -> Repository:
    base = {"calc.py": CALC, TEST_FILE: TESTS, "pyproject.toml": PYPROJECT, WORDS: text}
    return Repository(tmp_path, f"{sys.executable} -m pytest", base)


@pytest.mark.fault("A3")
@pytest.mark.parametrize("how", CHANGES)
def test_skipped_tests_may_be_woken_and_not_got_rid_of(tmp_path: Path, how: str) -> None:
    text, changes = CHANGES[how]
    repository = skipped_by(tmp_path, text)
    for name, (change, found) in changes.items():
        judged = repository.judge({"calc.py": f"{CALC}ONE = 1\n", **change})
        assert found in judged.failure if found else (judged.failure, judged.flags) == ("", ""), (name, judged)


UNITTEST = (
    "import unittest\n\nimport base\n\n\nclass TestBase(unittest.TestCase):\n    def test_one(self):\n"
    "        self.assertEqual(base.one(), 1)\n\n    @unittest.skip('later')\n    def test_two(self):\n"
    "        self.assertEqual(base.two(), 2)\n"
)
MARK = "    @unittest.skip('later')\n"


@pytest.mark.fault("A3")
def test_a_skipped_test_of_another_runner_may_be_woken_and_not_deleted(tmp_path: Path) -> None:
    one = "def one():\n    return 1\n"
    repository = Repository(tmp_path, f"{sys.executable} -m unittest -v", {"base.py": one, "test_base.py": UNITTEST})
    two = f"{one}\n\ndef two():\n    return 2\n"

    gone = repository.judge({"base.py": two, "test_base.py": UNITTEST[: UNITTEST.index(MARK)]})
    assert "tests that existed are gone" in gone.failure
    assert repository.judge({"base.py": two, "test_base.py": UNITTEST.replace(MARK, "")}).failure == ""
