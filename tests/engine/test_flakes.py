"""A test that fails now and then, or without the story, too, costs no attempt; one that never passed lands nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.engine.building import Act, Project, story
from tests.engine.pytested import CALC, feature, pytested

NET, TEST_NET = "tests/test_net.py", "tests/test_net.py::test_net"
WORKS = feature()
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


def played(tmp_path: Path, fails: str, act: Act = WORKS, **verify: Any) -> Project:
    project = pytested(tmp_path, story("US-001"), limits={"max_attempts": 2}, verify={"unproved": "off", **verify})
    (project.repo / NET).write_text(net(tmp_path / "log", fails))
    project.git("add", NET)
    project.git("commit", "--quiet", "-m", "test: the net")
    project.play(stories={"US-001": [act]})
    project.loop()
    return project


def flaky(project: Project) -> dict[str, str]:
    return dict(project.story("US-001")["evidence"]["tests"].get("flaky", {}))


def has_passed(project: Project) -> bool:
    return project.story("US-001")["passes"] is True


def attempts(project: Project) -> int:
    return int(project.story("US-001")["execution"]["attempts"])


def test_a_test_that_fails_now_and_then_costs_no_attempt(tmp_path: Path) -> None:
    project = played(tmp_path, f"n == {FIRST}")

    assert has_passed(project)
    assert attempts(project) == 1
    assert flaky(project) == {TEST_NET: "failed in 1 of 2 runs of the same code"}
    assert any(said.startswith(f"flaky: {TEST_NET}") for said in project.story("US-001")["evidence"]["warnings"])
    assert project.git("status", "--porcelain").strip() == ""


def test_a_test_that_fails_at_the_first_look_does_not_stop_the_night(tmp_path: Path) -> None:
    project = played(tmp_path, "n == 0")

    assert has_passed(project)
    assert attempts(project) == 1


def test_a_test_that_fails_without_the_story_too_is_not_its_fault(tmp_path: Path) -> None:
    project = played(tmp_path, f"n >= {FIRST}")

    assert has_passed(project)
    assert flaky(project) == {TEST_NET: "failed in 2 of 2 runs, and fails without the change, too"}


BREAKS = {"write": {"calc.py": CALC.replace("a + b", "a + b + 1")}}
LEAVES = {"write": {"calc.py": CALC.replace("return a + b", "calls.append(a)\n    return a + b") + "\n\ncalls = []\n"}}
OWN = "tests/test_own.py"


def test_a_test_that_the_change_breaks_is_no_flake(tmp_path: Path) -> None:
    project = played(tmp_path, "False", BREAKS)

    assert not has_passed(project)


def test_a_test_that_fails_beside_others_and_passes_alone_is_no_flake(tmp_path: Path) -> None:
    project = pytested(tmp_path, story("US-001"), limits={"max_attempts": 1})
    text = "import calc\n\n\ndef test_net():\n    assert getattr(calc, 'calls', []) == []\n"
    (project.repo / NET).write_text(text)
    project.git("add", NET)
    project.git("commit", "--quiet", "-m", "test: the net")
    project.play(stories={"US-001": [LEAVES]})
    project.loop()

    assert not has_passed(project)
    assert "test_net" in project.story("US-001")["execution"]["last_error"]


def test_a_new_test_that_fails_now_and_then_is_the_storys_own_fault(tmp_path: Path) -> None:
    own = net(tmp_path / "own", "n == 0")
    project = played(tmp_path, "False", {**WORKS, "write": {OWN: own}})

    assert attempts(project) == 2


def test_nothing_is_asked_again_where_the_settings_say_so(tmp_path: Path) -> None:
    project = played(tmp_path, f"n == {FIRST}", retries=0)

    assert attempts(project) == 2


def test_the_last_of_three_times_counts(tmp_path: Path) -> None:
    assert attempts(played(tmp_path, f"{FIRST} <= n < {FIRST + 3}")) == 1
