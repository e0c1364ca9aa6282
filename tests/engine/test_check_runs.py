"""How often the checks run for a story that lands: once, and once more for what asks for it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ralphy.pipeline.events import CheckRan, Landed
from tests.engine.building import Ended, Project, build, story
from tests.engine.pytested import TEST_FILE, TESTS, edited, feature, pytested
from tests.sampling import sampled


def landed(ended: Ended) -> dict[str, tuple[int, int]]:
    """Full runs of the checks, and runs of old tests, of each story that landed."""
    return {str(event.story): (event.check_runs, event.old_test_runs) for event in ended.events
            if isinstance(event, Landed)}  # fmt: skip


def ran(ended: Ended, of: str) -> list[tuple[str, str]]:
    """(check, purpose) of every check that was run for a story."""
    return [(event.check, event.purpose) for event in ended.events if isinstance(event, CheckRan) and event.story == of]


def test_an_honest_story_costs_one_full_run_of_the_checks(tmp_path: Path) -> None:
    lint = {"name": "lint", "run": f"{sys.executable} -c pass"}
    test = {"name": "test", "run": f"{sys.executable} check.py"}
    project = build(tmp_path, story("US-001"), story("US-002", priority=2), checks=[lint, test])
    ended = project.loop()
    assert landed(ended) == {"US-001": (1, 0), "US-002": (1, 0)}
    for name in ("US-001", "US-002"):
        assert ran(ended, name) == [("lint", "candidate"), ("test", "candidate")]
    before = [event.purpose for event in ended.events if isinstance(event, CheckRan) and event.story is None]
    assert before == ["baseline", "baseline"]  # once for all stories


def test_a_new_file_of_tests_costs_no_further_run(tmp_path: Path) -> None:
    added = {"tests/test_mul.py": "from calc import mul\n\n\ndef test_mul():\n    assert mul(2, 3) == 6\n"}
    ended = played(pytested(tmp_path, limits={"max_attempts": 1}), feature(write=added))
    assert landed(ended) == {"US-001": (1, 0)}


@pytest.mark.parametrize(
    "command", sampled(["-m pytest", "-c 'import pytest; raise SystemExit(pytest.main())' tests"], "-m pytest")
)
def test_tests_that_are_added_to_a_file_cost_no_further_run(tmp_path: Path, command: str) -> None:
    text = TESTS.replace("import add, sub", "import add, mul, sub")
    method = "        assert sub(3, 2) == 1\n"
    text = text.replace(method, f"{method}\n    def test_less(self):\n        assert sub(2, 3) == -1\n")
    text += "\n\n@pytest.fixture\ndef six():\n    return 6\n\n\ndef test_mul(six):\n    assert mul(2, 3) == six\n"
    project = pytested(tmp_path, run=f"{sys.executable} {command}", limits={"max_attempts": 1})
    ended = played(project, feature(write={TEST_FILE: text}))
    assert landed(ended) == {"US-001": (1, 0)}


@pytest.mark.parametrize(
    "added",
    [
        "@pytest.fixture(autouse=True)\ndef quiet(monkeypatch):\n    monkeypatch.setattr('calc.add', lambda a, b: 3)\n",
        "def setup_function():\n    pass\n",
    ],
    ids=["a fixture for all", "a set-up"],
)
def test_an_addition_that_reaches_the_old_tests_costs_one_run_of_the_old_version(tmp_path: Path, added: str) -> None:
    project = pytested(tmp_path, limits={"max_attempts": 1})
    ended = played(project, feature(append={TEST_FILE: f"\n\n{added}", "calc.py": "\n\nBASE = 10\n"}))
    assert landed(ended) == {"US-001": (1, 1)}


def test_a_name_in_the_tests_in_the_place_of_the_code_empties_them(tmp_path: Path) -> None:
    project = pytested(tmp_path, limits={"max_attempts": 1})
    ended = played(project, feature(append={TEST_FILE: "\n\ndef sub(a, b):\n    return a - b\n"}))
    assert landed(ended) == {} and "no longer assert anything" in project.story("US-001")["execution"]["last_error"]


def test_an_edited_test_costs_one_run_of_its_old_version_and_one_on_code_that_does_nothing(tmp_path: Path) -> None:
    project = pytested(tmp_path, limits={"max_attempts": 1})
    ended = played(project, feature(write=edited("add(1, 2) == 3", "add(2, 1) == 3")))
    assert landed(ended) == {"US-001": (1, 1)}
    assert ran(ended, "US-001") == [("test", "candidate"), ("test", "old_tests"), ("test", "red_first")]


def played(project: Project, act: dict[str, object]) -> Ended:
    project.play(stories={"US-001": [act]})
    return project.loop()
