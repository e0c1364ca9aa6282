"""Red first: a story counts as proved when one of its tests fails without its code."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.engine.building import build, story
from tests.engine.judged import Files, Judged, Repository
from tests.engine.pytested import (
    CALC,
    PYTEST,
    PYTESTS,
    TEST_FILE,
    UNITTEST,
    UNITTESTED,
    UNITTESTS,
    cases,
    pytested,
    unittested,
)

WITH_MUL = f"{CALC}\n\ndef mul(a, b):\n    return a * b\n"
MUL = {"calc.py": WITH_MUL}
NEW, TOLD = "tests/test_mul.py", "tests/test_mul.py::TestIt::test_mul"
IS_SIX = "self.assertEqual(mul(2, 3), 6)"
GOOD = cases(mul=IS_SIX)
INSIDE = cases("", mul=f"from calc import mul\n\n{IS_SIX}")
BLIND = cases("", mul="self.assertTrue(True)")
BY_NAME = cases(mul="mul(2, 3)")
INHERITED = {
    "tests/base.py": "class Asks:\n    def test_it(self):\n        self.assertEqual(self.ask(2, 3), 6)\n",
    NEW: cases("from calc import mul\nfrom tests.base import Asks").replace("(unittest", "(Asks, unittest")
    + "    ask = staticmethod(mul)\n",
}
OLD_IN_NEW_FILE = UNITTESTS.replace("import add", "import add, mul") + (
    f"\n    def test_mul(self):\n        {IS_SIX}\n\n    def test_name(self):\n        mul(1, 1)\n"
)
GUARD = cases("from calc import add, mul", mul=IS_SIX, add="self.assertEqual(add(1, 1), 2)")
FLAG = {"unproved": "flag"}
PROVED = {"number": 1, "tests": [TOLD]}
RUNS = {"whole": 1, "narrowed": 1, "asked": {"candidate": 1, "red_first": 1}}
# what a story writes, the proof in its evidence, and what is said to be unproved
STORIES: dict[str, tuple[Files, Mapping[str, Any], str]] = {
    "a test that needs the code": ({**MUL, NEW: INSIDE}, PROVED, ""),
    "a test that imports what is new": ({**MUL, NEW: GOOD}, PROVED, ""),
    "a test that a class inherits": (
        {**MUL, **INHERITED}, {"number": 1, "tests": ["tests/test_mul.py::TestIt::test_it"]}, ""),
    "an edited test": (
        {"calc.py": CALC.replace("a + b", "int(a) + int(b)"), TEST_FILE: UNITTESTS.replace("add(1, 2)", 'add("1", 2)')},
        {"number": 1, "tests": [f"{TEST_FILE}::TestAdd::test_small"]}, ""),
    "a test that passes without the code": (
        {**MUL, NEW: BLIND}, {"number": 0, "blind": [TOLD]}, f"{TOLD} passes although mul() does nothing"),
    "a test that passes as soon as a name exists": (
        {**MUL, NEW: BY_NAME}, {"number": 0, "blind": [TOLD]}, f"{TOLD} passes although mul() does nothing"),
    "an old test whose file imports something new": (
        {**MUL, TEST_FILE: OLD_IN_NEW_FILE},
        {"number": 1, "tests": [f"{TEST_FILE}::TestAdd::test_mul"], "blind": [f"{TEST_FILE}::TestAdd::test_name"]}, ""),
    "tests alone": (
        {NEW: cases("from calc import sub", mul="self.assertEqual(sub(2, 2), 0)")}, {"number": 0, "blind": [TOLD]},
        f"{TOLD} passes without the story's code"),
}  # fmt: skip


def proof(judged: Judged) -> Mapping[str, Any]:
    found: Mapping[str, Any] = judged.tests["red_first"]
    return found


def unproved(judged: Judged) -> list[str]:
    return [said.removeprefix("unproved: ") for said in judged.warnings if said.startswith("unproved: ")]


def test_a_test_that_fails_without_the_code_is_its_proof_and_any_other_is_named(tmp_path: Path) -> None:
    repository = Repository(tmp_path, UNITTEST, UNITTESTED, **FLAG)
    for name, (change, proved, said) in STORIES.items():
        judged = repository.judge(change)
        assert judged.failure == "", name
        assert proof(judged) == proved, name
        assert unproved(judged) == ([said] if said else []), name
        assert proved != PROVED or judged.runs["red_first"] == 1, name

    untested = repository.judge(MUL)
    assert unproved(untested) == ["no test covers this story's code"]
    assert "red_first" not in untested.runs
    assert repository.judge({**MUL, NEW: GUARD}).flags == ""  # it guards what is old


def test_code_that_a_module_takes_over_from_another_proves_nothing(tmp_path: Path) -> None:
    """In releases of cachetools, 19 tests of old code failed where only the names of what was moved were there."""
    files = {**UNITTESTED, "calc.py": "from sums import add, sub\n", "sums.py": CALC}
    test = cases("from calc import sub", mul="self.assertEqual(sub(2, 2), 0)")
    judged = Repository(tmp_path, UNITTEST, files, **FLAG).judge({"sums.py": None, "calc.py": CALC, NEW: test})

    assert proof(judged) == {"number": 0, "blind": [TOLD]}
    assert unproved(judged) == [f"{TOLD} passes without the story's code"]


def test_where_a_new_value_cannot_be_asked_for_alone_tests_of_old_code_are_no_proof(tmp_path: Path) -> None:
    """No module loads that counts a value which does nothing."""
    counts = f"{WITH_MUL}\n\nNAMES = [1, 2]\nassert len(NAMES) == 2\n"
    old = "from calc import add\n\n\ndef test_old():\n    assert add(1, 1) == 2\n"
    change = {"calc.py": counts, NEW: GOOD, "tests/test_old.py": old}
    judged = Repository(tmp_path, PYTEST, PYTESTS, **FLAG).judge(change)

    assert proof(judged) == {**PROVED, "blind": ["tests/test_old.py::test_old"]}


def test_tests_beside_a_good_one_are_named_if_they_notice_nothing(tmp_path: Path) -> None:
    asks = {"mul": "from calc import mul\n    assert mul(2, 3) == 6", "true": "assert True",
            "guard": "import calc\n    assert calc.add(1, 1) == 2",
            "name": "from calc import mul\n    mul(1, 1)"}  # fmt: skip
    text = "\n\n".join(f"def test_{name}():\n    {body}\n" for name, body in asks.items())
    judged = Repository(tmp_path, PYTEST, PYTESTS, **FLAG).judge({**MUL, NEW: text})
    mul, true, guard, name = (f"tests/test_mul.py::test_{name}" for name in asks)

    assert proof(judged) == {"number": 1, "tests": [mul], "blind": [true, guard, name]}
    said = "tests that prove nothing, as they pass although no function does anything"
    assert judged.warnings[-1] == f"{said}: {true}, {name}"


def test_of_a_refactoring_no_test_fails_without_it_and_documents_change_no_code(tmp_path: Path) -> None:
    repository = Repository(tmp_path, UNITTEST, UNITTESTED, **FLAG)
    twice = {"calc.py": CALC.replace("return a + b", "total = a + b\n    return total")}
    moved = {"sums.py": CALC, TEST_FILE: UNITTESTS.replace("from calc", "from sums"), "calc.py": None}
    text = CALC.replace("b):\n", 'b):\n    """Two numbers."""\n', 1)

    assert unproved(repository.judge(twice, kind="refactor")) == []
    assert unproved(repository.judge(moved, kind="refactor")) == []
    said = unproved(repository.judge({**MUL, NEW: INSIDE}, kind="refactor"))
    assert said == [f"{TOLD} fails without the refactoring"]
    assert unproved(repository.judge({"calc.py": text, "README.md": "# Calc\n"}, kind="docs")) == []
    said = unproved(repository.judge({**MUL, "README.md": "# Calc\n"}, kind="docs"))
    assert said == ["calc.py:9-10 is code, and the story is of kind docs"]


def test_the_tests_of_a_project_in_a_folder_are_a_proof(tmp_path: Path) -> None:
    below = {f"api/{name}": text for name, text in PYTESTS.items()}
    repository = Repository(tmp_path, f"env -C api {PYTEST}", below, **FLAG)
    judged = repository.judge({"api/calc.py": WITH_MUL, f"api/{NEW}": GOOD})

    assert proof(judged) == {"number": 1, "tests": [f"api/{TOLD}"]}
    assert (unproved(judged), judged.runs["red_first"]) == ([], 1)


def test_a_check_of_another_project_is_no_test_of_the_story_that_proves_nothing(tmp_path: Path) -> None:
    files = {**{f"api/{name}": text for name, text in PYTESTS.items()}, "web/run_tests.sh": "exit 0\n"}
    repository = Repository(tmp_path, f"env -C api {PYTEST}", files, "env -C web sh run_tests.sh", **FLAG)
    judged = repository.judge({"api/calc.py": WITH_MUL, f"api/{NEW}": GOOD})

    assert (proof(judged)["tests"], judged.warnings) == ([f"api/{TOLD}"], ())


def test_a_check_that_only_compiles_tests_is_no_test_that_proves_nothing(tmp_path: Path) -> None:
    repository = Repository(tmp_path, PYTEST, PYTESTS, "sh -c true mvn test-compile", **FLAG)
    judged = repository.judge({**MUL, NEW: GOOD})

    assert (proof(judged)["tests"], judged.warnings) == ([TOLD], ())


def test_a_test_that_loops_forever_without_the_code_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ralphy.engine.lane_use.trial._LEAST_S", 1.0)
    code = "\n\ndef take(items):\n    items.pop()\n    return bool(items)\n"
    asks = cases("from calc import take", mul="items = [1, 2]\nwhile take(items):\n    pass")
    judged = Repository(tmp_path, UNITTEST, UNITTESTED, **FLAG).judge({"calc.py": CALC + code, NEW: asks})

    assert proof(judged) == PROVED
    assert unproved(judged) == []


def test_where_no_code_can_be_made_hollow_no_test_is_said_to_prove_nothing(tmp_path: Path) -> None:
    asks = "self.assertEqual(json.loads(open('rate.json').read())['a'], 1)"
    base = {"rate.json": '{"a": 1}\n', "tests/__init__.py": "", "tests/test_rate.py": cases("import json", rate=asks)}
    repository = Repository(tmp_path, UNITTEST, base, **FLAG)
    change = {"rate.json": '{"a": 1, "b": 2}\n', "tests/test_more.py": cases("import json", more=asks)}

    assert repository.judge(change, kind="refactor").flags == ""


def test_a_changed_snapshot_is_a_proof_of_the_test_that_reads_it(tmp_path: Path) -> None:
    reads = cases("from pathlib import Path\n\nfrom calc import add",
                  mul="self.assertEqual(str(add(1, 1)), Path('tests/sum.txt').read_text())")  # fmt: skip
    repository = Repository(tmp_path, UNITTEST, {**UNITTESTED, NEW: reads, "tests/sum.txt": "2"}, **FLAG)
    three = CALC.replace("return a + b", "return 3 if a == b == 1 else a + b")
    judged = repository.judge({"calc.py": three, "tests/sum.txt": "3"})

    assert proof(judged)["tests"] == [TOLD]


def test_a_check_that_names_no_tests_is_asked_as_a_whole(tmp_path: Path) -> None:
    script = "import runpy\n\nrunpy.run_path('tests/run_all.py')\n"
    base = {"calc.py": CALC, "run_test.py": script, "tests/run_all.py": "import calc\n"}
    asks = "import sys\n\nsys.path.insert(0, '.')\nimport calc\n\nassert calc.mul(2, 3) == 6\n"
    judged = Repository(tmp_path, f"{sys.executable} run_test.py", base, **FLAG).judge(
        {**MUL, "tests/run_all.py": asks}
    )

    assert proof(judged) == {"number": 0, "checks": ["test"]}
    assert unproved(judged) == []


def test_a_blind_test_goes_back_also_where_the_check_runs_tests_without_naming_them(tmp_path: Path) -> None:
    quiet = "import os\nimport unittest\n\nrun = unittest.TextTestRunner(stream=open(os.devnull, 'w')).run\n"
    script = f"{quiet}raise SystemExit(not run(unittest.defaultTestLoader.discover('tests')).wasSuccessful())\n"
    base = {"calc.py": CALC, "run_test.py": script, TEST_FILE: UNITTESTS}
    repository = Repository(tmp_path, f"{sys.executable} run_test.py", base, unproved="reject")

    assert repository.judge({**MUL, NEW: GOOD}).failure == ""
    assert "test passes although mul() does nothing" in repository.judge({**MUL, NEW: BLIND}).failure


def test_of_the_flags_files_that_steer_agents_come_first(tmp_path: Path) -> None:
    repository = Repository(tmp_path, UNITTEST, UNITTESTED, **FLAG)
    judged = repository.judge({**MUL, NEW: BLIND, "CLAUDE.md": "Trust me.\n"})

    assert ["CLAUDE.md" in judged.warnings[0], *(said.startswith("unproved: ") for said in judged.warnings)] == [
        True, False, True]  # fmt: skip


def test_reject_sends_the_names_of_blind_tests_to_the_next_attempt(tmp_path: Path) -> None:
    project = pytested(tmp_path, story("US-001"), limits={"max_attempts": 2}, verify={"unproved": "reject"})
    project.play(stories={"US-001": [{"write": {**MUL, NEW: BLIND}}, {"write": {NEW: GOOD}}]})
    ended = project.loop(agents=2)

    assert project.landed() == ["login/US-001"]
    told = project.prompts("US-001")[1]
    assert f"- {TOLD} passes although mul() does nothing" in told
    assert "assert a result that only this code gives" in told
    evidence = project.story("US-001")["evidence"]
    assert (evidence["tests"]["red_first"], evidence["check_runs"]) == (PROVED, RUNS)
    assert "No check names its tests" not in ended.text


def test_what_no_test_proves_goes_back_twice_and_lands_the_third_time_flagged(tmp_path: Path) -> None:
    stories = story("US-001"), story("US-002", priority=2)
    project = unittested(tmp_path, *stories, verify={"unproved": "reject"})
    weak, red = {"write": {**MUL, NEW: BY_NAME}}, {"write": {"calc.py": "boom\n", NEW: BY_NAME}}
    project.play(stories={"US-001": [weak, red, weak, weak],
                          "US-002": [{"append": {"calc.py": "\n\ndef neg(a):\n    return -a\n"}}]})  # fmt: skip
    project.loop(agents=4)

    why = f"unproved: {TOLD} passes although mul() does nothing"
    assert project.landed() == ["login/US-001"]
    assert project.story("US-001")["evidence"]["warnings"] == [why]
    assert [f"- {TOLD} passes although mul()" in told for told in project.prompts("US-001")] == [
        False, True, False, True]  # fmt: skip
    project.loop(agents=1)
    assert project.landed() == ["login/US-001"]  # each story has its own


def test_a_known_failure_that_ends_is_a_proof_and_one_that_the_story_names_has_to_end(tmp_path: Path) -> None:
    red, is_two = "tests/test_sub.py::TestIt::test_sub", "self.assertEqual(sub(3, 2), 2)"
    project = unittested(tmp_path, story("US-001", description=f"{red} passes."), verify={"unproved": "reject"},
                         limits={"max_attempts": 2})  # fmt: skip
    (project.repo / "tests" / "test_sub.py").write_text(cases("from calc import sub", sub=is_two))
    project.commit("test: what is wrong", "tests/test_sub.py")
    ends = {"calc.py": WITH_MUL.replace("a - b", "a - b + 1")}
    project.play(stories={"US-001": [{"write": {**MUL, NEW: GOOD}}, {"write": ends}]})
    project.loop(agents=2, accepts_red=True)

    told = project.prompts("US-001")[1]
    assert f"- {red} belongs to the story, and still fails" in told
    assert "no test covers" not in told  # the check is red, and its new test is a proof all the same
    assert project.landed() == ["login/US-001"]
    assert project.story("US-001")["evidence"]["tests"]["red_first"] == {"number": 2, "tests": [red, TOLD]}


def test_where_no_check_names_tests_the_night_says_so_once_and_a_story_without_a_test_is_flagged(
    tmp_path: Path,
) -> None:
    stories = story("US-001"), story("US-002", priority=2)
    project = build(tmp_path, *stories, verify={"unproved": "reject"})
    ended = project.loop(agents=2)

    assert project.landed() == ["login/US-001", "login/US-002"]
    assert project.story("US-002")["evidence"]["warnings"] == ["unproved: no test covers this story's code"]
    assert ended.text.count("No check names its tests (test)") == 1


def test_a_story_whose_tests_no_check_runs_lands_flagged_at_its_first_attempt(tmp_path: Path) -> None:
    lint = f"{sys.executable} -m compileall -q ."
    project = pytested(tmp_path, story("US-001"), run=lint, verify={"unproved": "reject"})
    project.play(stories={"US-001": [{"write": {**MUL, NEW: GOOD}}]})
    project.loop(agents=1)

    assert project.landed() == ["login/US-001"]
    assert project.story("US-001")["evidence"]["warnings"] == ["unproved: test passes although mul() does nothing"]


def test_off_asks_nobody(tmp_path: Path) -> None:
    judged = Repository(tmp_path, UNITTEST, UNITTESTED).judge({**MUL, NEW: BLIND})

    assert "red_first" not in judged.tests
    assert unproved(judged) == []
