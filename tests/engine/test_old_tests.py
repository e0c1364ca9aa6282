"""Edited tests of any runner: their old versions are run against the new code, and what fails there is shown."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.engine.building import ONE_RUN, build, story
from tests.engine.judged import Files, Repository
from tests.engine.pytested import CALC, TEST_FILE, TESTS, UNITTESTED, UNITTESTS, cases

UNITTEST = f"{sys.executable} -m unittest discover -s tests -t ."
MORE = {"calc.py": CALC.replace("a + b", "a + b + 1")}
TWICE = {"calc.py": f"{CALC}\n\ndef twice(a):\n    return add(a, a)\n"}
TURNED = UNITTESTS.replace("2), 3)", "2), 4)").replace("20), 30)", "20), 31)")
ADDED = f"import sys\n{UNITTESTS}\n    def test_none(self):\n        self.assertEqual(add(0, 0), 0)\n"
FAIL = f"of the old {TEST_FILE} fail against the new code: "
# what a story writes, what is flagged of it, and whether old tests are run for that
EDITS: dict[str, tuple[Files, str, bool]] = {
    "a test that now expects the opposite": (
        {**MORE, TEST_FILE: TURNED},
        f"2 {FAIL}{TEST_FILE}::TestAdd::test_big, {TEST_FILE}::TestAdd::test_small", True),
    "one that moved as well": ({**MORE, "tests/test_sums.py": TURNED, TEST_FILE: None}, f"2 {FAIL}", True),
    "an honest edit": ({**TWICE, TEST_FILE: UNITTESTS.replace("20), 30)", "2), 12)")}, "", True),
    "tests that were only added": ({**TWICE, TEST_FILE: ADDED}, "", True),
    "a file that moved as it was": ({**TWICE, "tests/test_sums.py": UNITTESTS, TEST_FILE: None}, "", True),
}  # fmt: skip


def test_what_fails_of_the_old_version_of_an_edited_test_is_shown(tmp_path: Path) -> None:
    repository = Repository(tmp_path, UNITTEST, UNITTESTED)
    for name, (change, flags, is_asked) in EDITS.items():
        judged = repository.judge(change)
        assert judged.failure == "", (name, judged)
        assert flags in judged.flags if flags else judged.flags == "", (name, judged)
        assert ("old_tests" in judged.runs) is is_asked, (name, judged)

    for field in ("changes", "removes"):
        named = repository.judge({**MORE, TEST_FILE: TURNED}, testing={field: [f"{TEST_FILE}::TestAdd::test_small"]})
        assert named.flags == f"1 {FAIL}{TEST_FILE}::TestAdd::test_big"


def test_old_tests_are_run_where_a_recipe_calls_pytest(tmp_path: Path) -> None:
    recipe = f"test:\n\t@cd . && {sys.executable} -m pytest -q -p no:cacheprovider tests\n"
    repository = Repository(tmp_path, "make test", {"calc.py": CALC, "conftest.py": "", TEST_FILE: TESTS,
                                                    "Makefile": recipe})  # fmt: skip

    judged = repository.judge(
        {**MORE, TEST_FILE: TESTS.replace("(1, 2) == 3", "(1, 2) == 4").replace("== 30", "== 31")}
    )

    assert (judged.failure, f"2 {FAIL}{TEST_FILE}::test_small, {TEST_FILE}::test_big" in judged.warnings) == ("", True)


def test_nothing_is_written_through_a_link_that_took_the_place_of_a_test(tmp_path: Path) -> None:
    checks = [{"name": "test", "run": f"{sys.executable} -m unittest discover -v -s tests -t ."}]
    project = build(tmp_path, story("US-001"), checks=checks, limits={"max_attempts": 1},
                    verify={"removed_tests": "flag"})  # fmt: skip
    theirs = {"node_modules/__init__.py": "", "node_modules/theirs.py": TURNED}
    for name, text in {**UNITTESTED, **theirs, ".gitignore": "node_modules\n"}.items():
        (project.repo / name).parent.mkdir(parents=True, exist_ok=True)
        (project.repo / name).write_text(text)
    project.git("add", "--force", *UNITTESTED, ".gitignore")
    project.git("commit", "--quiet", "-m", "feat: a calculator")
    project.play(stories={"US-001": [{"write": MORE, "run": f"ln -sf ../node_modules/theirs.py {TEST_FILE}"}]})

    project.loop(**ONE_RUN)

    assert any(
        said.startswith(f"2 of the old {TEST_FILE} fail") for said in project.story("US-001")["evidence"]["warnings"]
    )
    assert (project.repo / "node_modules" / "theirs.py").read_text() == TURNED


PYTEST = f"{sys.executable} -m pytest -q -p no:cacheprovider tests"
PATCH = "import calc\n\n_add = calc.add\ncalc.add = lambda a, b: _add(a, b) - 1\n"
FIXTURE = "import pytest\n\n\n@pytest.fixture\ndef three():\n    return 3\n"
BESIDE: dict[str, tuple[Files, str]] = {
    "a conftest": (
        {**MORE, "conftest.py": PATCH},
        f"2 tests fail against the new code with the old conftest.py: {TEST_FILE}::test_small, {TEST_FILE}::test_big",
    ),
    "a fixture": ({"calc.py": f"{CALC}\n\nTHREE = 3\n", "tests/conftest.py": FIXTURE}, ""),
}


def test_what_stands_beside_the_tests_is_put_back_as_well(tmp_path: Path) -> None:
    repository = Repository(tmp_path, PYTEST, {"calc.py": CALC, "conftest.py": "", TEST_FILE: TESTS})
    for name, (change, said) in BESIDE.items():
        judged = repository.judge(change)
        assert judged.failure == "", (name, judged)
        assert said in judged.flags if said else judged.flags == "", (name, judged)


def test_what_stands_beside_the_tests_of_any_runner_is_put_back_as_well(tmp_path: Path) -> None:
    reads = cases("from pathlib import Path\n\nfrom calc import add",
                  bill="self.assertEqual(Path('tests/bill.txt').read_text(), f'sum {add(1, 2)}')")  # fmt: skip
    files = {**UNITTESTED, "tests/test_bill.py": reads, "tests/bill.txt": "sum 3"}
    repository = Repository(tmp_path, f"{UNITTEST} -v", files)

    judged = repository.judge({**MORE, TEST_FILE: TURNED, "tests/bill.txt": "sum 4"})

    said = "1 tests fail against the new code with the old tests/bill.txt: tests/test_bill.py::TestIt::test_bill"
    assert (judged.failure, f"2 {FAIL}" in judged.flags, said in judged.warnings) == ("", True, True)

    big = {"calc.py": CALC.replace("a + b", "a + b + (a == 10)"),
           TEST_FILE: UNITTESTS.replace("20), 30)", "20), 31)").replace("2), 3)", "2), 1 + 2)")}  # fmt: skip
    named = repository.judge(big, testing={"changes": [f"{TEST_FILE}::TestAdd::test_big"]})
    assert (named.failure, named.flags) == ("", "")  # the other edited test passes as it was
