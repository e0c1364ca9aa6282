"""Acceptance tests that are skipped until their code is there: a story may wake them, and not get rid of them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.engine.building import ONE_RUN, Act, Project, build, story
from tests.engine.pytested import feature, pytested
from tests.sampling import sampled

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


def played(tmp_path: Path, text: str, act: Act, **fields: Any) -> Project:
    """A project with a file of tests that are not awake yet, after its only story's only attempt."""
    project = pytested(tmp_path, story("US-001", **fields), limits={"max_attempts": 1})
    (project.repo / WORDS).write_text(text)
    project.git("add", "tests")
    project.git("commit", "--quiet", "-m", "test: how words are counted")
    project.play(stories={"US-001": [feature(**act)]})
    project.loop(**ONE_RUN)
    return project


CHEATS: dict[str, tuple[str, Act, str]] = {
    "the file is deleted": (IMPORTED, {"delete": [WORDS]}, f"tests that existed are gone: {PLACE}"),
    "the file is left out": (
        IMPORTED, {"write": {"tests/conftest.py": "collect_ignore = ['test_words.py']\n", "words.py": COUNTS}},
        f"{WORDS}::tests.test_words was skipped, and is no longer collected",
    ),
    "a conftest leaves an expected failure out": (
        MARKED, {"write": {"tests/conftest.py": CONFTEST}}, f"{PLACE} was skipped, and is no longer collected"),
    "the expectation gives in to the code": (
        IMPORTED, {"write": {"words.py": CHARACTERS, WORDS: IMPORTED.replace("== 2", "== 3")}},
        f"run now, but fail with their old text: {PLACE}",
    ),
    "an expected failure gives in to the code": (
        MARKED,
        {"write": {"words.py": CHARACTERS, WORDS: THREE}},
        f"run now, but fail with their old text: {PLACE}",
    ),
}  # fmt: skip


@pytest.mark.fault("A3")
@pytest.mark.parametrize("cheat", sampled(CHEATS, "the file is left out", "the expectation gives in to the code"))
def test_a_story_does_not_count_when(tmp_path: Path, cheat: str) -> None:
    text, act, found = CHEATS[cheat]

    project = played(tmp_path, text, act)

    assert found in project.story("US-001")["execution"]["last_error"]
    assert project.landed() == []


HONEST: dict[str, tuple[str, Act]] = {
    "the module comes": (IMPORTED, {"write": {"words.py": COUNTS}}),
    "the module comes and its tests move": (
        IMPORTED,
        {"write": {"words.py": COUNTS, "tests/unit/test_words.py": PLAIN},
         "delete": [WORDS]},
    ),
    "an expected failure passes, and its mark goes": (
        MARKED, {"write": {"words.py": COUNTS, WORDS: MARKED.replace("@pytest.mark.xfail(reason='US-001')\n", "")}}),
}  # fmt: skip


@pytest.mark.fault("A3")
@pytest.mark.parametrize("release", sampled(HONEST, "the module comes and its tests move"))
def test_a_story_counts_without_a_flag_when(tmp_path: Path, release: str) -> None:
    text, act = HONEST[release]

    project = played(tmp_path, text, act)

    assert project.story("US-001")["execution"].get("last_error") is None
    assert project.landed() == ["login/US-001"]
    assert "warnings" not in project.story("US-001")["evidence"]


def test_an_expectation_of_a_skipped_test_may_change_when_the_story_names_it(tmp_path: Path) -> None:
    act = {"write": {"words.py": CHARACTERS, WORDS: IMPORTED.replace("== 2", "== 3")}}

    project = played(tmp_path, IMPORTED, act, testing={"removes": [PLACE]})

    assert project.landed() == ["login/US-001"]


def test_a_skipped_test_that_expects_something_else_is_flagged_with_both_versions(tmp_path: Path) -> None:
    project = played(tmp_path, IMPORTED, {"write": {WORDS: IMPORTED.replace("== 2", "== 3")}})

    (said,) = project.story("US-001")["evidence"]["warnings"]
    assert "it said: words.count('a b') == 2; it says: words.count('a b') == 3" in said


def test_a_conftest_that_keeps_a_woken_test_silent_is_flagged(tmp_path: Path) -> None:
    hook = "import pytest\n\n\ndef pytest_runtest_setup(item):\n    'words' in item.nodeid and pytest.skip('later')\n"

    project = played(tmp_path, IMPORTED, {"write": {"words.py": CHARACTERS, "tests/conftest.py": hook}})

    warnings = project.story("US-001")["evidence"]["warnings"]
    assert [said for said in warnings if "tests/conftest.py skips tests now" in said]


UNITTEST = (
    "import unittest\n\nimport base\n\n\nclass TestBase(unittest.TestCase):\n    def test_one(self):\n"
    "        self.assertEqual(base.one(), 1)\n\n    @unittest.skip('later')\n    def test_two(self):\n"
    "        self.assertEqual(base.two(), 2)\n"
)
NODE = (
    "const test = require('node:test');\nconst assert = require('node:assert');\nconst base = require('./base.js');\n\n"
    "test('one', () => {\n  assert.equal(base.one(), 1);\n});\n"
    "test.skip('two', () => {\n  assert.equal(base.two(), 2);\n});\n"
)
RUNNERS = {
    "unittest": (
        f"{sys.executable} -m unittest -v", "test_base.py", UNITTEST, "    @unittest.skip('later')\n", "",
        {"base.py": "def one():\n    return 1\n"},
        {"base.py": "def one():\n    return 1\n\n\ndef two():\n    return NUMBER\n"},
    ),
    "node": (
        "node --test", "base.test.js", NODE, "test.skip(", "test(",
        {"base.js": "exports.one = () => 1;\n"}, {"base.js": "exports.one = () => 1;\nexports.two = () => NUMBER;\n"},
    ),
}  # fmt: skip


@pytest.mark.fault("A3")
@pytest.mark.parametrize("runner", sampled(RUNNERS, "unittest"))
def test_other_runners_tests_are_woken_in_their_old_wording(tmp_path: Path, runner: str) -> None:
    run, name, text, mark, plain, old, new = RUNNERS[runner]
    if not shutil.which(run.split()[0]):
        pytest.skip(f"{run.split()[0]} is not installed")
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": run}], limits={"max_attempts": 3})
    for path, content in {**old, name: text}.items():
        (project.repo / path).write_text(content)
    project.git("add", *old, name)
    project.git("commit", "--quiet", "-m", "feat: one")
    woken = text.replace(mark, plain)
    ((path, code),) = new.items()
    end = text.index(mark)
    three = woken.replace("two(), 2)", "two(), 3)")
    project.play(stories={"US-001": [
        {"write": {path: code.replace("NUMBER", "3"), name: text[:end]}},
        {"write": {path: code.replace("NUMBER", "3"), name: three}},
        {"write": {path: code.replace("NUMBER", "2"), name: woken}},
    ]})  # fmt: skip

    ended = project.loop()

    rejected = [line for line in ended.said if line.startswith("US-001 attempt") and "rejected" in line]
    assert "tests that existed are gone" in rejected[0]
    assert "run now, but fail with their old text" in rejected[1]
    assert project.landed() == ["login/US-001"]
