"""A test that fails now and then, or without the story, too, costs no attempt; one that never passed lands nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.engine.building import story
from tests.engine.judged import Files, Judged, Repository
from tests.engine.pytested import CALC, PYTEST, PYTESTS, UNITTEST, UNITTESTED, cases, feature, pytested

NET, TEST_NET = "tests/test_net.py", "tests/test_net.py::test_net"
WORKS = {"calc.py": f"{CALC}\n\ndef mul(a, b):\n    return a * b\n"}
BREAKS = {"calc.py": CALC.replace("a + b", "a + b + 1")}
LEAVES = {"calc.py": CALC.replace("return a + b", "calls.append(a)\n    return a + b") + "\n\ncalls = []\n"}
FIRST = 1  # behind the baseline; on broken code no test is run


def net(log: Path, fails: str) -> str:
    """A test that fails in the runs `n` (from 0) of which this is true."""
    return f"""\
import pathlib


def test_net():
    log = pathlib.Path({str(log)!r})
    n = len(log.read_text()) if log.exists() else 0
    log.write_text("x" * (n + 1))
    assert not ({fails})
"""


def judged(tmp_path: Path, text: str, change: Files = WORKS, **verify: Any) -> Judged:
    """What is said of a change where this is one of the tests."""
    return Repository(tmp_path, PYTEST, {**PYTESTS, NET: text}, **verify).judge(change)


def test_a_test_that_fails_now_and_then_costs_no_attempt(tmp_path: Path) -> None:
    found = judged(tmp_path, net(tmp_path / "log", f"n == {FIRST}"))

    assert found.failure == ""
    assert found.tests["flaky"] == {TEST_NET: "failed in 1 of 2 runs of the same code"}
    assert any(said.startswith(f"flaky: {TEST_NET}") for said in found.warnings)


def test_a_flaky_test_of_a_runner_that_cannot_be_asked_for_a_file_or_names_no_tests_costs_none(tmp_path: Path) -> None:
    fails_once = net(tmp_path / "unittest", f"n == {FIRST}").partition("def test_net():\n")[2].replace("\n    ", "\n")
    files = {**UNITTESTED, NET: cases("import pathlib", net=fails_once.strip())}
    unittest = Repository(tmp_path / "a", UNITTEST, files).judge(WORKS)
    assert unittest.failure == ""
    assert unittest.tests["flaky"] == {f"{NET}::TestIt::test_net": "failed in 1 of 2 runs of the same code"}

    files = {**PYTESTS, NET: net(tmp_path / "pytest", f"n == {FIRST}")}
    unlisted = Repository(tmp_path / "b", f"{PYTEST} -p no:junitxml", files).judge(WORKS)
    assert unlisted.failure == ""
    assert unlisted.tests["flaky"] == {TEST_NET: "failed in 1 of 2 runs of the same code"}


def test_a_test_that_fails_at_the_first_look_does_not_stop_the_night(tmp_path: Path) -> None:
    project = pytested(tmp_path, story("US-001"))
    (project.repo / NET).write_text(net(tmp_path / "log", "n == 0"))
    project.commit("test: the net", NET)
    project.play(stories={"US-001": [feature()]})

    project.loop(agents=1)

    assert project.landed() == ["login/US-001"]
    assert project.git("status", "--porcelain").strip() == ""


def test_a_test_that_fails_without_the_story_too_is_not_its_fault(tmp_path: Path) -> None:
    found = judged(tmp_path, net(tmp_path / "log", f"n >= {FIRST}"))

    assert found.failure == ""
    assert found.tests["flaky"] == {TEST_NET: "failed in 2 of 2 runs, and fails without the change, too"}


def test_what_a_change_breaks_or_brings_is_no_flake(tmp_path: Path) -> None:
    beside = "import calc\n\n\ndef test_net():\n    assert getattr(calc, 'calls', []) == []\n"
    repository = Repository(tmp_path, PYTEST, {**PYTESTS, NET: beside})

    assert repository.judge(BREAKS).failure
    assert "test_net" in repository.judge(LEAVES).failure  # it fails beside others, and passes alone
    own = repository.judge({**WORKS, "tests/test_own.py": net(tmp_path / "own", "n == 0")})
    assert "tests/test_own.py" in own.failure  # new, and failed now and then


def test_nothing_is_asked_again_where_the_settings_say_so(tmp_path: Path) -> None:
    assert judged(tmp_path, net(tmp_path / "log", f"n == {FIRST}"), retries=0).failure


def test_the_last_of_three_times_counts(tmp_path: Path) -> None:
    assert judged(tmp_path, net(tmp_path / "log", f"{FIRST} <= n < {FIRST + 3}")).failure == ""
