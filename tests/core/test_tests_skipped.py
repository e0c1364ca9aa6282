"""Tests that are skipped or expected to fail exist: what a story may do to them, and what it may not.

Each row is a story: the files of tests before and after it, and what the runner said of them (None: it names no tests).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from ralphy.checks.listing import Listing
from ralphy.testguard.findings import Kind
from ralphy.testguard.kept.test_matching import Sources
from ralphy.testguard.kept.tests_kept import compare
from ralphy.testguard.read.silencers import skips_others
from ralphy.testguard.read.test_parser import Case, functions_of, parsed, python_cases
from ralphy.testguard.read.text_test_parser import text_cases

Files = Mapping[str, str]
Told = Mapping[str, str]

WORDS, OTHER = "tests/test_words.py", "tests/test_other.py"
ALONE = f"{OTHER}::test_other"
RAN = {ALONE: "passed"}
OTHER_FILE = {OTHER: "def test_other():\n    assert other() == 1\n"}
COUNT = "def test_count():\n    assert words.count('a b') == 2\n"
SIZE = "def test_size():\n    assert words.size('ab') == 2\n"
IMPORTED = f"import pytest\n\nwords = pytest.importorskip('toy.words')\n\n\n{COUNT}\n\n{SIZE}"
WHOLE = {f"{WORDS}::tests.test_words": "skipped"}
BOTH = {f"{WORDS}::test_count": "passed", f"{WORDS}::test_size": "passed"}


@dataclass(frozen=True, slots=True)
class Change:
    """A story's change of the tests."""

    old: str
    new: str | None
    before: Told | None
    after: Told | None
    path: str = WORDS
    elsewhere: tuple[tuple[str, str], ...] = ()
    removes: tuple[str, ...] = ()

    def findings(self) -> list[tuple[Kind, str]]:
        old, new = {self.path: self.old}, dict(self.elsewhere)
        new |= {self.path: self.new} if self.new is not None else {}
        changed = frozenset(path for path in {**old, **new} if old.get(path) != new.get(path))
        sources = Sources(_cases(old) if self.old != self.new else [], _cases(new) if changed else [], changed)
        before, after = (None if told is None else Listing.of({**RAN, **told}) for told in (self.before, self.after))
        return [(found.kind, found.what) for found in compare(before, after, sources, self.removes)]


def _cases(files: Files) -> list[Case]:
    found: list[Case] = []
    for path, text in files.items():
        tree = parsed(text.encode()) if path.endswith(".py") else None
        found += python_cases(path, tree, functions_of([tree])) if tree else text_cases(path, text)
    return found


def marked(mark: str, test: str = COUNT) -> str:
    return f"import pytest\nimport unittest\n\n\n@{mark}\n{test}"


SKIP, XFAIL = "pytest.mark.skip(reason='later')", "pytest.mark.xfail(reason='later')"
SKIPPED, EXPECTED = {f"{WORDS}::test_count": "skipped"}, {f"{WORDS}::test_count": "xfailed"}
PASSED = {f"{WORDS}::test_count": "passed"}
BODY = "def test_count():\n    pytest.skip('later')\n    assert words.count('a b') == 2\n"
INSIDE = "def test_count():\n    words = pytest.importorskip('toy.words')\n    assert words.count('a b') == 2\n"
CLASS = "import unittest\n\n\n@unittest.skip('later')\nclass TestWords(unittest.TestCase):\n" \
        "    def test_count(self):\n        self.assertEqual(words.count('a b'), 2)\n"  # fmt: skip
IN_CLASS = {f"{WORDS}::TestWords::test_count": "skipped"}
SET_UP = CLASS.replace("@unittest.skip('later')\n", "").replace(
    "    def test_count",
    "    def setUp(self):\n        if words is None:\n            self.skipTest('')\n\n    def test_count",
)
RAISES = (
    f"try:\n    import toy.words as words\nexcept ImportError:\n    raise SkipTest from None\n\n\n{COUNT}\n\n{SIZE}"
)
NODE = "test.js"
NODE_SKIP = "test('adds', () => {\n  assert.equal(add(1, 1), 2);\n});\ntest.skip('subtracts', () => {\n" \
            "  assert.equal(sub(3, 1), 2);\n});\n"  # fmt: skip
NODE_TOLD = {"adds": "passed", "subtracts": "skipped"}
GO = "func TestAdd(t *testing.T) {\n\tassert.Equal(t, 2, add(1, 1))\n}\n\nfunc TestSub(t *testing.T) {\n" \
     '\tt.Skip("later")\n\tassert.Equal(t, 2, sub(3, 1))\n}\n'  # fmt: skip
RUST = "#[test]\nfn adds() {\n    assert_eq!(add(1, 1), 2);\n}\n\n#[test]\n#[ignore]\nfn subtracts() {\n" \
       "    assert_eq!(sub(3, 1), 2);\n}\n"  # fmt: skip
JEST = NODE_SKIP.replace("test.skip", "it.skip")


def gone(text: str, begin: str) -> str:
    return text[: text.index(begin)]


CHEATS: dict[str, tuple[Change, Kind]] = {
    "a file that is skipped as a whole is deleted": (Change(IMPORTED, None, WHOLE, {}), Kind.REMOVED),
    "a test of a skipped file is deleted": (Change(IMPORTED, IMPORTED.replace(SIZE, ""), WHOLE, WHOLE), Kind.REMOVED),
    "a test of a skipped file is deleted when it would run": (
        Change(IMPORTED, IMPORTED.replace(SIZE, ""), WHOLE, PASSED), Kind.REMOVED),
    "a test of a skipped file is emptied": (
        Change(IMPORTED, IMPORTED.replace("assert words.size('ab') == 2", "pass"), WHOLE, BOTH), Kind.EMPTIED),
    "a test of a skipped file asks something else": (
        Change(IMPORTED, IMPORTED.replace("== 2", "== 3"), WHOLE, WHOLE), Kind.REWORDED),
    "another module is imported, which never comes": (
        Change(IMPORTED, IMPORTED.replace("toy.words", "toy.wordz"), WHOLE, WHOLE), Kind.SKIPPED),
    "a skipped file is renamed away": (
        Change(IMPORTED, None, WHOLE, {}, elsewhere=(("tests/words.txt", IMPORTED),)), Kind.REMOVED),
    "a skipped file is not collected any more": (Change(IMPORTED, IMPORTED, WHOLE, {}), Kind.RUNNER),
    "a marked test is deleted": (Change(marked(SKIP), "import pytest\n", SKIPPED, {}), Kind.REMOVED),
    "a marked test is emptied": (
        Change(marked(SKIP), marked(SKIP, "def test_count():\n    pass\n"), SKIPPED, SKIPPED), Kind.EMPTIED),
    "a marked test is emptied and unmarked": (
        Change(marked(SKIP), "def test_count():\n    pass\n", SKIPPED, PASSED), Kind.EMPTIED),
    "a marked test holds what is always so": (
        Change(marked(SKIP), marked(SKIP, "def test_count():\n    assert True\n"), SKIPPED, SKIPPED), Kind.EMPTIED),
    "a skip becomes an expected failure": (Change(marked(SKIP), marked(XFAIL), SKIPPED, EXPECTED), Kind.SKIPPED),
    "an expected failure becomes a skip": (Change(marked(XFAIL), marked(SKIP), EXPECTED, SKIPPED), Kind.SKIPPED),
    "a strict expected failure becomes a lax one": (
        Change(marked("pytest.mark.xfail(strict=True)"), marked("pytest.mark.xfail"), EXPECTED, EXPECTED),
               Kind.SKIPPED),
    "a condition becomes one that is always so": (
        Change(marked("pytest.mark.skipif(not words, reason='')"), marked("pytest.mark.skipif(True, reason='')"),
               SKIPPED, SKIPPED), Kind.SKIPPED),
    "a named mark gets another condition": (
        Change(f"later = pytest.mark.skipif(not words, reason='')\n\n\n@later\n{COUNT}",
               f"later = pytest.mark.skipif(True, reason='')\n\n\n@later\n{COUNT}", SKIPPED, SKIPPED), Kind.SKIPPED),
    "an expected failure is deleted": (Change(marked(XFAIL), "", EXPECTED, {}), Kind.REMOVED),
    "an expected failure is not selected any more": (Change(marked(XFAIL), marked(XFAIL), EXPECTED, {}), Kind.RUNNER),
    "a marked test gets a name that is not collected": (
        Change(marked(SKIP), marked(SKIP, COUNT.replace("test_count", "check_count")), SKIPPED, {}), Kind.REMOVED),
    "a test that skips in its body is deleted": (Change(BODY, "", SKIPPED, {}), Kind.REMOVED),
    "a test that skips in its body loses the rest": (
        Change(BODY, BODY.replace("    assert words.count('a b') == 2\n", ""), SKIPPED, SKIPPED), Kind.EMPTIED),
    "a test that skips in its body asks something else": (
        Change(BODY, BODY.replace("== 2", "== 1"), SKIPPED, SKIPPED), Kind.REWORDED),
    "an import within a test becomes a skip": (
        Change(INSIDE, INSIDE.replace("importorskip('toy.words')", "skip('later')"), SKIPPED, SKIPPED), Kind.SKIPPED),
    "one of a skipped test's cases is taken away": (
        Change(marked(f"{SKIP}\n@pytest.mark.parametrize('n', [1, 2])"),
               marked(f"{SKIP}\n@pytest.mark.parametrize('n', [1])"),
               {f"{WORDS}::test_count[1]": "skipped", f"{WORDS}::test_count[2]": "skipped"},
               {f"{WORDS}::test_count[1]": "skipped"}), Kind.REMOVED),
    "a set-up skips its class in another way": (
        Change(SET_UP, SET_UP.replace("words is None", "True"), IN_CLASS, IN_CLASS), Kind.SKIPPED),
    "a module that raises asks for another import": (
        Change(RAISES, RAISES.replace("toy.words", "toy.wordz"), WHOLE, WHOLE), Kind.SKIPPED),
    "a module that raises loses a test": (Change(RAISES, RAISES.replace(COUNT, ""), WHOLE, WHOLE), Kind.REMOVED),
    "a skipped class of unittest is deleted": (Change(CLASS, "", IN_CLASS, {}), Kind.REMOVED),
    "a skipped class of unittest is emptied": (
        Change(CLASS, CLASS.replace("self.assertEqual(words.count('a b'), 2)", "pass"), IN_CLASS, IN_CLASS),
               Kind.EMPTIED),
    "a skipped test of node is deleted": (
        Change(NODE_SKIP, gone(NODE_SKIP, "test.skip"), NODE_TOLD, {"adds": "passed"}, NODE), Kind.REMOVED),
    "a skipped test of node is emptied": (
        Change(NODE_SKIP, NODE_SKIP.replace("assert.equal(sub(3, 1), 2);", ""), NODE_TOLD, NODE_TOLD, NODE),
               Kind.EMPTIED),
    "a skipped test of node becomes one to do": (
        Change(NODE_SKIP, NODE_SKIP.replace("test.skip", "test.todo"), NODE_TOLD, NODE_TOLD, NODE), Kind.SKIPPED),
    "a skipped test of jest asks something else": (
        Change(JEST, JEST.replace("sub(3, 1), 2", "sub(3, 1), 1"), NODE_TOLD, NODE_TOLD, "sum.test.js"), Kind.REWORDED),
    "a skipped test of jest is deleted where no test is named": (
        Change(JEST, gone(JEST, "it.skip"), None, None, "sum.test.js"), Kind.REMOVED),
    "a skipped test of go is deleted": (
        Change(GO, gone(GO, "func TestSub"), {"TestAdd": "passed", "TestSub": "skipped"}, {"TestAdd": "passed"},
               "sum_test.go"), Kind.REMOVED),
    "a skipped test of go is emptied where no test is named": (
        Change(GO, GO.replace("\tassert.Equal(t, 2, sub(3, 1))\n", ""), None, None, "sum_test.go"), Kind.EMPTIED),
    "an ignored test of rust is deleted": (
        Change(RUST, gone(RUST, "#[test]\n#[ignore]"), {"adds": "passed", "subtracts": "skipped"}, {"adds": "passed"},
               "src/lib.rs"), Kind.REMOVED),
    "a marked test is deleted where no test is named": (Change(marked(SKIP), "", None, None), Kind.REMOVED),
    "a skipped file is deleted where no test is named": (Change(IMPORTED, None, None, None), Kind.REMOVED),
    "a test that a setting leaves out is deleted": (
        Change(f"{COUNT}\n\n{marked('pytest.mark.slow', SIZE)}", COUNT, PASSED, PASSED), Kind.FEWER),
}  # fmt: skip


@pytest.mark.fault("A3")
@pytest.mark.parametrize("cheat", CHEATS)
def test_a_test_that_did_not_run_is_missed_when(cheat: str) -> None:
    change, kind = CHEATS[cheat]

    assert kind in [found for found, _ in change.findings()], change.findings()


HONEST: dict[str, Change] = {
    "the module comes, and the file runs": Change(IMPORTED, IMPORTED, WHOLE, BOTH),
    "the module comes, and the import is plain now": Change(
        IMPORTED, IMPORTED.replace("words = pytest.importorskip('toy.words')", "from toy import words"), WHOLE, BOTH),
    "a skipped file gets one test more": Change(
        IMPORTED, f"{IMPORTED}\n\ndef test_more():\n    assert words.more()\n", WHOLE, WHOLE),
    "a skipped file moves": Change(
        IMPORTED, None, WHOLE, {"tests/unit/test_words.py::tests.unit.test_words": "skipped"},
        elsewhere=(("tests/unit/test_words.py", IMPORTED),)),
    "a skipped file moves and runs": Change(
        IMPORTED, None, WHOLE, {name.replace("tests/", "tests/unit/"): "passed" for name in BOTH},
        elsewhere=(("tests/unit/test_words.py", IMPORTED),)),
    "a mark is removed": Change(marked(SKIP), COUNT, SKIPPED, PASSED),
    "a mark is removed and the test renamed": Change(
        marked(SKIP), COUNT.replace("test_count", "test_words_are_counted"), SKIPPED,
        {f"{WORDS}::test_words_are_counted": "passed"}),
    "an expected failure passes and its mark is removed": Change(marked(XFAIL), COUNT, EXPECTED, PASSED),
    "an expected failure passes and keeps its mark": Change(marked(XFAIL), marked(XFAIL), EXPECTED, PASSED),
    "a skip says better why": Change(marked(SKIP), marked("pytest.mark.skip(reason='needs US-002')"), SKIPPED, SKIPPED),
    "a skip in the body is removed": Change(BODY, COUNT, SKIPPED, PASSED),
    "a skip in the body becomes a mark's absence and another name": Change(
        BODY, COUNT.replace("test_count", "test_two"), SKIPPED, {f"{WORDS}::test_two": "passed"}),
    "a skipped test asks for more": Change(
        marked(SKIP), marked(SKIP, f"{COUNT}    assert words.count('') == 0\n"), SKIPPED, SKIPPED),
    "a skipped test is named by the story": Change(
        marked(SKIP), "", SKIPPED, {}, removes=(f"{WORDS}::test_count",)),
    "a skipped file is named by the story": Change(IMPORTED, None, WHOLE, {}, removes=(WORDS,)),
    "a skipped class of unittest runs": Change(
        CLASS, CLASS.replace("@unittest.skip('later')\n", ""), IN_CLASS, {f"{WORDS}::TestWords::test_count": "passed"}),
    "a set-up that skipped its class lets it run": Change(
        CLASS.replace("@unittest.skip('later')\n", ""), CLASS.replace("@unittest.skip('later')\n", "") + "\n",
        {f"{WORDS}::TestWords::setUpClass": "skipped"}, {f"{WORDS}::TestWords::test_count": "passed"}),
    "a skipped test without a word goes": Change(
        marked(SKIP, "def test_count():\n    pass\n"), COUNT.replace("test_count", "test_two"), None, None),
    "a skipped test of node runs": Change(
        NODE_SKIP, NODE_SKIP.replace("test.skip", "test"), NODE_TOLD, dict.fromkeys(NODE_TOLD, "passed"), NODE),
    "a skipped test of go runs": Change(
        GO, GO.replace('\tt.Skip("later")\n', ""), {"TestAdd": "passed", "TestSub": "skipped"},
        {"TestAdd": "passed", "TestSub": "passed"}, "sum_test.go"),
    "an ignored test of rust runs": Change(
        RUST, RUST.replace("#[ignore]\n", ""), {"adds": "passed", "subtracts": "skipped"},
        {"adds": "passed", "subtracts": "passed"}, "src/lib.rs"),
    "a skipped test moves to another file": Change(
        f"{COUNT}\n\n{marked(SKIP, SIZE)}", COUNT, {**PASSED, f"{WORDS}::test_size": "skipped"},
        {**PASSED, "tests/test_sizes.py::test_size": "skipped"}, elsewhere=(("tests/test_sizes.py", marked(SKIP,
               SIZE)),)),
    "nothing changes": Change(marked(SKIP), marked(SKIP), SKIPPED, SKIPPED),
}  # fmt: skip


@pytest.mark.parametrize("release", HONEST)
def test_a_test_that_did_not_run_is_not_missed_when(release: str) -> None:
    assert HONEST[release].findings() == []


@pytest.mark.parametrize(
    ("text", "skips"),
    [
        (
            "def pytest_collection_modifyitems(items):\n    items[0].add_marker(pytest.mark.skip(reason='later'))\n",
            True,
        ),
        ("@pytest.fixture(autouse=True)\ndef later(request):\n    pytest.skip('later')\n", True),
        ("def pytest_runtest_setup(item):\n    item.add_marker(pytest.mark.xfail)\n", True),
        ("@pytest.fixture\ndef one():\n    return 1\n", False),
        ("def pytest_collection_modifyitems(items):\n    items[0].add_marker('unit')\n", False),
        ("def", False),
    ],
)
def test_a_conftest_may_skip_tests_of_other_files(text: str, skips: bool) -> None:
    assert bool(skips_others(parsed(text.encode()))) is skips


def test_both_versions_of_a_skipped_test_are_shown() -> None:
    ((kind, what),) = Change(marked(SKIP), marked(SKIP, COUNT.replace("== 2", "== 3")), SKIPPED, SKIPPED).findings()

    assert kind is Kind.REWORDED
    assert "it said: words.count('a b') == 2; it says: words.count('a b') == 3" in what

    two = COUNT + "    assert words.count('') == 0\n"
    same = COUNT + "    assert words.count('a b') == 2\n"
    ((_, what),) = Change(marked(SKIP, two), marked(SKIP, same), SKIPPED, SKIPPED).findings()
    assert what.endswith("(it said: words.count('') == 0; it says: )")
