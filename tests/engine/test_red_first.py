"""Red first: a story counts as proved when one of its tests fails without its code."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.engine.building import ONE_RUN, Act, Project, build, story
from tests.engine.judged import Repository
from tests.engine.pytested import CALC, PYPROJECT, TEST_FILE, TESTS, edited, pytested
from tests.sampling import sampled

MUL = {"append": {"calc.py": "\n\ndef mul(a, b):\n    return a * b\n"}}
NEW, TOLD = "tests/test_mul.py", "tests/test_mul.py::test_mul"
GOOD = "from calc import mul\n\n\ndef test_mul():\n    assert mul(2, 3) == 6\n"
INSIDE = "def test_mul():\n    from calc import mul\n\n    assert mul(2, 3) == 6\n"
FLAG = {"unproved": "flag"}
BLIND = "def test_mul():\n    assert True\n"


def played(tmp_path: Path, act: Act, *, run: str = "", verify: Act | None = None, **fields: Any) -> Project:
    settings = {"verify": verify or FLAG, "limits": {"max_attempts": 1}}
    project = pytested(tmp_path, story("US-001", **fields), run=run, **settings)
    project.play(stories={"US-001": [act]})
    project.loop(**ONE_RUN)
    return project


def evidence(project: Project) -> dict[str, Any]:
    return dict(project.story("US-001")["evidence"])


def proof(project: Project) -> dict[str, Any]:
    return dict(evidence(project)["tests"]["red_first"])


def unproved(project: Project) -> list[str]:
    return [said for said in evidence(project).get("warnings", ()) if said.startswith("unproved: ")]


@pytest.mark.parametrize("text", sampled([GOOD, INSIDE], INSIDE), ids=["imports what is new", "asks for it inside"])
def test_a_test_that_needs_the_code_is_the_storys_proof(tmp_path: Path, text: str) -> None:
    project = played(tmp_path, {**MUL, "write": {NEW: text}})

    assert proof(project) == {"number": 1, "tests": [TOLD]}
    assert unproved(project) == []
    assert evidence(project)["red_first_runs"] == 2  # without the code, and with its name alone


def test_the_tests_of_a_project_in_a_folder_are_a_proof(tmp_path: Path) -> None:
    run = f"env -C api {sys.executable} -m pytest"
    project = pytested(tmp_path, story("US-001"), run=run, verify=FLAG, limits={"max_attempts": 1})
    (project.repo / "api").mkdir()
    project.git("mv", "calc.py", "pyproject.toml", "tests", "api/")
    project.git("commit", "--quiet", "-m", "refactor: a folder of its own")
    project.play(
        stories={"US-001": [{"append": {"api/calc.py": MUL["append"]["calc.py"]}, "write": {f"api/{NEW}": GOOD}}]}
    )
    project.loop()

    assert proof(project) == {"number": 1, "tests": [f"api/{TOLD}"]}
    assert unproved(project) == []
    assert evidence(project)["red_first_runs"] == 2


def test_a_new_test_that_a_class_inherits_is_a_proof(tmp_path: Path) -> None:
    base = "class Asks:\n    def test_it(self):\n        assert self.ask(2, 3) == 6\n"
    text = "from base import Asks\n\nfrom calc import mul\n\n\nclass TestMul(Asks):\n    ask = staticmethod(mul)\n"
    project = played(tmp_path, {**MUL, "write": {"tests/base.py": base, NEW: text}})

    assert proof(project) == {"number": 1, "tests": ["tests/test_mul.py::TestMul::test_it"]}


def test_a_test_that_passes_without_the_code_is_named(tmp_path: Path) -> None:
    project = played(tmp_path, {**MUL, "write": {NEW: BLIND}})

    assert proof(project) == {"number": 0, "blind": [TOLD]}
    assert unproved(project) == [f"unproved: {TOLD} passes without the story's code"]


def test_a_story_without_a_test_is_unproved_and_costs_no_further_run(tmp_path: Path) -> None:
    project = played(tmp_path, MUL)

    assert unproved(project) == ["unproved: no test covers this story's code"]
    assert "red_first_runs" not in evidence(project)


@pytest.mark.parametrize(
    "asks",
    sampled(["assert callable(mul)", "mul(2, 3)", "for n in [mul(1, 1)][1:]:\n        assert n == 1"], "mul(2, 3)"),
)
def test_a_test_that_passes_as_soon_as_a_name_exists_proves_nothing(tmp_path: Path, asks: str) -> None:
    project = played(tmp_path, {**MUL, "write": {NEW: f"from calc import mul\n\n\ndef test_mul():\n    {asks}\n"}})

    assert proof(project) == {"number": 0, "weak": [TOLD]}
    assert unproved(project) == [f"unproved: {TOLD} passes although mul() does nothing"]


def test_a_test_that_loops_forever_without_the_code_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ralphy.engine.lane_use.trial._LEAST_S", 1.0)
    code = "\n\ndef take(items):\n    items.pop()\n    return bool(items)\n"
    asks = "from calc import take\n\n\ndef test_take():\n    items = [1, 2]\n    while take(items):\n        pass\n"
    project = played(tmp_path, {"append": {"calc.py": code}, "write": {"tests/test_take.py": asks}})

    assert proof(project) == {"number": 1, "tests": ["tests/test_take.py::test_take"]}
    assert unproved(project) == []


def test_an_old_test_whose_file_imports_something_new_is_not_called_weak(tmp_path: Path) -> None:
    own = "\n\ndef test_mul():\n    assert mul(2, 3) == 6\n\n\ndef test_name():\n    mul(1, 1)\n"
    text = TESTS.replace("from calc import", "from calc import mul,") + own
    project = played(tmp_path, {**MUL, "write": {TEST_FILE: text}})

    assert proof(project)["weak"] == [f"{TEST_FILE}::test_name"]
    assert proof(project)["tests"] == [f"{TEST_FILE}::test_mul"]


def test_tests_beside_a_good_one_are_named_if_they_notice_nothing(tmp_path: Path) -> None:
    others = {"true": "assert True", "guard": "import calc\n    assert calc.add(1, 1) == 2",
              "name": "from calc import mul\n    mul(1, 1)"}  # fmt: skip
    text = "".join(f"\n\ndef test_{name}():\n    {asks}\n" for name, asks in others.items())
    project = played(tmp_path, {**MUL, "write": {NEW: INSIDE + text}})
    true, guard, name = (f"tests/test_mul.py::test_{name}" for name in others)

    assert proof(project) == {"number": 1, "tests": [TOLD], "blind": [true, guard], "weak": [name]}
    assert evidence(project)["warnings"][-2:] == [
        f"tests that prove nothing, as they pass although mul() does nothing: {name}",
        f"tests that prove nothing, as they pass although no function does anything: {true}",
    ]


def test_a_test_that_guards_old_code_beside_a_new_import_is_not_called_weak(tmp_path: Path) -> None:
    guard = "from calc import add, mul\n\n\ndef test_mul():\n    assert mul(2, 3) == 6\n"
    guard += "\n\ndef test_add():\n    assert add(1, 1) == 2\n"
    base = {"calc.py": CALC, TEST_FILE: TESTS, "pyproject.toml": PYPROJECT}
    repository = Repository(tmp_path, f"{sys.executable} -m pytest", base, **FLAG)
    told = repository.judge({"calc.py": f"{CALC}\n\ndef mul(a, b):\n    return a * b\n", NEW: guard})

    assert (told.failure, told.flags) == ("", "")


def test_where_no_code_can_be_made_hollow_no_test_is_said_to_prove_nothing(tmp_path: Path) -> None:
    text = "import json\n\n\ndef test_rate():\n    assert json.load(open('rate.json'))['a'] == 1\n"
    base = {"rate.json": '{"a": 1}\n', "tests/test_rate.py": text, "pyproject.toml": PYPROJECT}
    repository = Repository(tmp_path, f"{sys.executable} -m pytest", base, **FLAG)
    change = {"rate.json": '{"a": 1, "b": 2}\n', "tests/test_more.py": text.replace("_rate", "_more")}

    assert repository.judge(change, kind="refactor").flags == ""


def test_an_edited_test_is_a_proof_as_well(tmp_path: Path) -> None:
    act = {"write": {"calc.py": CALC.replace("a + b", "int(a) + int(b)"),
                     **edited("add(1, 2) == 3", 'add("1", 2) == 3')}}  # fmt: skip
    project = played(tmp_path, act)

    assert proof(project)["tests"] == ["tests/test_calc.py::test_small"]


def test_a_changed_snapshot_is_a_proof_of_the_test_that_reads_it(tmp_path: Path) -> None:
    reads = ("from pathlib import Path\n\nfrom calc import add\n\n\ndef test_file():\n"
             "    assert str(add(1, 1)) == Path(__file__).with_name('sum.txt').read_text()\n")  # fmt: skip
    project = pytested(tmp_path, limits={"max_attempts": 1}, verify=FLAG)
    (project.repo / "tests" / "test_file.py").write_text(reads)
    (project.repo / "tests" / "sum.txt").write_text("2")
    project.git("add", "tests")
    project.git("commit", "--quiet", "-m", "test: what is expected stands in a file")
    changed = {"calc.py": CALC.replace("return a + b", "return 3 if a == b == 1 else a + b"), "tests/sum.txt": "3"}
    project.play(stories={"US-001": [{"write": changed}]})
    project.loop()

    assert proof(project)["tests"] == ["tests/test_file.py::test_file"]


def test_a_check_that_names_no_tests_is_asked_as_a_whole(tmp_path: Path) -> None:
    script = "import runpy\n\nrunpy.run_path('tests/run_all.py')\n"
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": f"{sys.executable} run_test.py"}],
                    limits={"max_attempts": 1}, verify=FLAG)  # fmt: skip
    (project.repo / "tests").mkdir()
    for name, text in {"calc.py": CALC, "run_test.py": script, "tests/run_all.py": "import calc\n"}.items():
        (project.repo / name).write_text(text)
    project.git("add", "calc.py", "run_test.py", "tests")
    project.git("commit", "--quiet", "-m", "feat: a calculator")
    asks = "import sys\n\nsys.path.insert(0, '.')\nimport calc\n\nassert calc.mul(2, 3) == 6\n"
    project.play(stories={"US-001": [{**MUL, "write": {"tests/run_all.py": asks}}]})
    project.loop()

    assert proof(project) == {"number": 0, "checks": ["test"]}
    assert unproved(project) == []


def test_reject_sends_the_names_of_blind_tests_to_the_next_attempt(tmp_path: Path) -> None:
    project = pytested(tmp_path, limits={"max_attempts": 2}, verify={"unproved": "reject"})
    project.play(stories={"US-001": [{**MUL, "write": {NEW: BLIND}}, {"write": {NEW: GOOD}}]})
    project.loop()

    assert project.landed() == ["login/US-001"]
    assert f"- {TOLD} passes without the story's code" in project.prompts("US-001")[1]
    assert proof(project) == {"number": 1, "tests": [TOLD]}


def test_off_asks_nobody(tmp_path: Path) -> None:
    project = played(tmp_path, {**MUL, "write": {NEW: BLIND}}, verify={"unproved": "off"})

    assert "red_first" not in evidence(project)["tests"]
    assert unproved(project) == []


def test_a_refactoring_has_no_test_that_fails_without_it(tmp_path: Path) -> None:
    twice = CALC.replace("return a + b", "total = a + b\n    return total")
    same = played(tmp_path / "same", {"write": {"calc.py": twice}}, kind="refactor")
    other = played(tmp_path / "other", {**MUL, "write": {NEW: INSIDE}}, kind="refactor")
    renamed = {"sums.py": CALC, TEST_FILE: TESTS.replace("from calc", "from sums")}
    moved = played(tmp_path / "moved", {"write": renamed, "delete": ["calc.py"]}, kind="refactor")

    assert unproved(same) == [] and unproved(moved) == []
    assert unproved(other) == [f"unproved: {TOLD} fails without the refactoring"]


@pytest.mark.skipif(not shutil.which("node"), reason="node is not installed")
def test_node_tells_which_tests_are_red_first(tmp_path: Path) -> None:
    tests = ("const {{ test }} = require('node:test');\nconst assert = require('node:assert');\n"
             "const calc = require('../calc.js');\ntest('{}', () => assert.strictEqual({}, {}));\n")  # fmt: skip
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": "node --test"}],
                    limits={"max_attempts": 1}, verify=FLAG)  # fmt: skip
    (project.repo / "tests").mkdir()
    (project.repo / "calc.js").write_text("exports.add = (a, b) => a + b;\n")
    (project.repo / "tests" / "add.test.js").write_text(tests.format("adds", "calc.add(1, 2)", 3))
    project.git("add", "calc.js", "tests")
    project.git("commit", "--quiet", "-m", "feat: a calculator")
    project.play(stories={"US-001": [{
        "append": {"calc.js": "exports.mul = (a, b) => a * b;\n"},
        "write": {"tests/mul.test.js": tests.format("multiplies", "calc.mul(2, 3)", 6)},
    }]})  # fmt: skip
    project.loop()

    assert proof(project) == {"number": 1, "tests": ["multiplies"]}


def test_a_story_of_documents_that_changes_code_is_flagged(tmp_path: Path) -> None:
    text = CALC.replace("b):\n", 'b):\n    """Two numbers."""\n', 1)
    documents = played(tmp_path / "documents", {"write": {"calc.py": text, "README.md": "# Calc\n"}}, kind="docs")
    code = played(tmp_path / "code", {**MUL, "write": {"README.md": "# Calc\n"}}, kind="docs")

    assert unproved(documents) == []
    assert unproved(code) == ["unproved: calc.py:9-10 is code, and the story is of kind docs"]


def test_tests_alone_prove_nothing(tmp_path: Path) -> None:
    text = "from calc import sub\n\n\ndef test_same():\n    assert sub(2, 2) == 0\n"
    project = played(tmp_path, {"write": {NEW: text}})

    assert unproved(project) == ["unproved: tests/test_mul.py::test_same passes without the story's code"]
