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
THREE = "import words\n\n\ndef test_count():\n    assert words.count('a b') == 3\n"
PLAIN = IMPORTED.replace("= pytest.importorskip('words')", "= __import__('words')")
COUNTS = "def count(text):\n    return len(text.split())\n"
CHARACTERS = "def count(text):\n    return len(text)\n"
CONFTEST = "def pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if 'words' not in i.nodeid]\n"
GIVES_IN = {"words.py": CHARACTERS, WORDS: IMPORTED.replace("== 2", "== 3")}
HOOK = "import pytest\n\n\ndef pytest_runtest_setup(item):\n    'words' in item.nodeid and pytest.skip('later')\n"
# the tests that are there; of each change what it writes, and why it does not count ("" if it does, without a flag)
CHANGES: dict[str, tuple[str, dict[str, tuple[Files, str]]]] = {
    "an import": (IMPORTED, {
        "the file is deleted": ({WORDS: None}, f"tests that existed are gone: {PLACE}"),
        "the file is left out": (
            {"tests/conftest.py": "collect_ignore = ['test_words.py']\n", "words.py": COUNTS},
            f"{WORDS}::tests.test_words was skipped, and is no longer collected"),
        "the expectation gives in to the code": (GIVES_IN, f"run now, but fail with their old text: {PLACE}"),
        "the module comes": ({"words.py": COUNTS}, ""),
        "the module comes and its tests move": (
            {"words.py": COUNTS, "tests/unit/test_words.py": PLAIN, WORDS: None}, ""),
    }),
    "a mark": (MARKED, {
        "a conftest leaves it out": (
            {"tests/conftest.py": CONFTEST}, f"{PLACE} was skipped, and is no longer collected"),
        "the expectation gives in to the code": (
            {"words.py": CHARACTERS, WORDS: THREE}, f"run now, but fail with their old text: {PLACE}"),
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


def test_an_expectation_of_a_skipped_test_may_change_when_the_story_names_it_or_with_a_flag(tmp_path: Path) -> None:
    repository = skipped_by(tmp_path, IMPORTED)
    more = {"calc.py": f"{CALC}ONE = 1\n"}

    assert repository.judge({**more, **GIVES_IN}, testing={"removes": [PLACE]}).failure == ""
    (said,) = repository.judge({**more, WORDS: IMPORTED.replace("== 2", "== 3")}).warnings
    assert "it said: words.count('a b') == 2; it says: words.count('a b') == 3" in said
    silent = repository.judge({**more, "words.py": CHARACTERS, "tests/conftest.py": HOOK})
    assert "tests/conftest.py skips tests now" in silent.flags


UNITTEST = (
    "import unittest\n\nimport base\n\n\nclass TestBase(unittest.TestCase):\n    def test_one(self):\n"
    "        self.assertEqual(base.one(), 1)\n\n    @unittest.skip('later')\n    def test_two(self):\n"
    "        self.assertEqual(base.two(), 2)\n"
)
MARK = "    @unittest.skip('later')\n"


@pytest.mark.fault("A3")
def test_other_runners_tests_are_woken_in_their_old_wording(tmp_path: Path) -> None:
    one = "def one():\n    return 1\n"
    repository = Repository(tmp_path, f"{sys.executable} -m unittest -v", {"base.py": one, "test_base.py": UNITTEST})
    two, three = (f"{one}\n\ndef two():\n    return {number}\n" for number in (2, 3))
    woken = UNITTEST.replace(MARK, "")

    gone = repository.judge({"base.py": three, "test_base.py": UNITTEST[: UNITTEST.index(MARK)]})
    assert "tests that existed are gone" in gone.failure
    gives_in = repository.judge({"base.py": three, "test_base.py": woken.replace("two(), 2)", "two(), 3)")})
    assert "run now, but fail with their old text" in gives_in.failure
    assert repository.judge({"base.py": two, "test_base.py": woken}).failure == ""
