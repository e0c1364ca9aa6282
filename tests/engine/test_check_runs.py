"""How often the checks run for a story that lands: once, and once more for what asks for it."""

from __future__ import annotations

import sys
from pathlib import Path

from ralphy.pipeline.events import CheckRan, Landed
from tests.engine.building import Ended, build, story
from tests.engine.judged import Files, Repository
from tests.engine.pytested import CALC, PYTEST, PYTESTS, TEST_FILE, TESTS, edited


def ran(ended: Ended, of: str | None) -> list[tuple[str, str]]:
    """(check, purpose) of every check that was run for a story."""
    return [(event.check, event.purpose) for event in ended.events if isinstance(event, CheckRan) and event.story == of]


def test_an_honest_story_costs_one_full_run_of_the_checks(tmp_path: Path) -> None:
    lint = {"name": "lint", "run": f"{sys.executable} -c pass"}
    test = {"name": "test", "run": f"{sys.executable} check.py"}
    project = build(tmp_path, story("US-001"), story("US-002", priority=2), checks=[lint, test])

    ended = project.loop(agents=2)

    landed = [event for event in ended.events if isinstance(event, Landed)]
    assert [(event.story, event.whole_runs, event.narrowed_runs) for event in landed] == [
        ("US-001", 1, 0), ("US-002", 1, 0)]  # fmt: skip
    for name in ("US-001", "US-002"):
        assert ran(ended, name) == [("lint", "candidate"), ("test", "candidate")]
    assert ran(ended, None) == [("lint", "baseline"), ("test", "baseline")]  # once for all stories


METHOD = "        assert sub(3, 2) == 1\n"
LESS = f"{METHOD}\n    def test_less(self):\n        assert sub(2, 3) == -1\n"
SIX = "\n\n@pytest.fixture\ndef six():\n    return 6\n\n\ndef test_mul(six):\n    assert mul(2, 3) == six\n"
ADDED = TESTS.replace("import add, sub", "import add, mul, sub").replace(METHOD, LESS) + SIX
ONE_MORE = TESTS.replace("import add, sub", "import add, mul, sub") + SIX
FOR_ALL = (
    "@pytest.fixture(autouse=True)\ndef quiet(monkeypatch):\n    monkeypatch.setattr('calc.add', lambda a, b: 3)\n"
)
# what a story does to its tests; whole runs of the checks, and narrowed ones
CHANGES: dict[str, tuple[Files, int, int]] = {
    "a new file of tests": (
        {"tests/test_mul.py": "from calc import mul\n\n\ndef test_mul():\n    assert mul(2, 3) == 6\n"}, 1, 1),
    "a test that is added to a file": ({TEST_FILE: ONE_MORE}, 1, 3),
    "tests that are added to a file, one of old code": ({TEST_FILE: ADDED}, 1, 3),
    "a fixture for all": ({TEST_FILE: f"{TESTS}\n\n{FOR_ALL}"}, 1, 3),
    "an edited test that proves nothing": (edited("add(1, 2) == 3", "add(2, 1) == 3"), 1, 4),
}  # fmt: skip


def test_what_a_story_does_to_its_tests_costs_a_run_where_it_reaches_old_ones(tmp_path: Path) -> None:
    repository = Repository(tmp_path, PYTEST, PYTESTS, unproved="flag")
    for name, (change, whole, narrowed) in CHANGES.items():
        judged = repository.judge({"calc.py": f"{CALC}\n\ndef mul(a, b):\n    return a * b\n", **change})
        assert (sum(judged.runs.values()) - judged.narrowed, judged.narrowed) == (whole, narrowed), (name, judged)
    assert judged.runs == {"candidate": 1, "old_tests": 1, "red_first": 3}  # twice with names alone, and on hollow code

    less = TESTS.replace("import add, sub", "import add, less").replace("assert sub(", "assert less(")
    renamed = repository.judge({"calc.py": CALC.replace("def sub", "def less"), TEST_FILE: less}, kind="refactor")
    assert renamed.runs == {"candidate": 1, "old_tests": 1, "red_first": 2}

    hides = f"{TESTS}\n\ndef sub(a, b):\n    return a - b\n"  # in the place of the code
    assert "no longer assert anything" in repository.judge({TEST_FILE: hides}).failure
