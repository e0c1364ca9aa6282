"""The baseline: red checks are found out before any money is spent, and budgets end a loop."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ralphy.errors import EnvironmentProblem, ExitCode
from tests.conftest import program
from tests.engine.building import Project, assert_clean, breaks, build, story, works
from tests.sampling import sampled


def red(tmp_path: Path, *stories: object, files: tuple[str, ...] = ("old.py",), **settings: object) -> Project:
    """A repository whose check is red from the beginning."""
    project = build(tmp_path, *stories, **settings)  # type: ignore[arg-type]
    for name in files:
        (project.repo / "src" / name).write_text("BROKEN = 1\n")
    project.commit("chore: break it", "src")
    return project


def test_a_red_baseline_halts_before_any_run_and_names_the_failures_until_it_is_mended(tmp_path: Path) -> None:
    project = red(tmp_path, story("US-001"))
    project.env["RALPHY_LANES_PROBE"] = "warn"

    ended = project.loop()

    assert (ended.code, ended.runs) == (ExitCode.CONFLICT, [])
    assert "src/old.py::works" in ended.rest.reason
    assert "--accept-red" in ended.rest.reason
    assert "fix them on main" in ended.rest.reason
    assert "probe skipped" in ended.text
    assert project.refs("refs/heads/ralph") == []
    assert project.git("status", "--short", "--untracked-files=no") == ""
    project.loop()
    assert len(project.journal("baseline")) == 1, "it is taken once a tree"
    (project.repo / "src" / "old.py").write_text("FINE = 1\n")
    project.git("commit", "--quiet", "-am", "fix: it")
    ended = project.loop(agents=1)
    assert ended.runs == ["US-001"]
    assert "Checking that the checks catch broken code" in ended.text


def test_a_red_baseline_halts_before_the_spec_agent_too(tmp_path: Path) -> None:
    ended = red(tmp_path).loop()

    assert (ended.code, ended.runs) == (ExitCode.CONFLICT, [])


def test_accepted_failures_may_only_shrink_and_a_new_one_rejects(tmp_path: Path) -> None:
    names = [f"US-00{number}" for number in range(1, 5)]
    project = red(tmp_path, *map(story, names), files=("old.py", "older.py"), limits={"max_attempts": 1})
    mends = {"write": {"src/old.py": "FINE = 1\n"}}
    breaks_again = {"write": {"src/old.py": "BROKEN = 2\n", "src/x.py": "X = 1\n"}}
    project.play(stories=dict(zip(names, ([works()], [mends], [breaks_again], [breaks()]), strict=True)))

    project.loop(agents=4, accepts_red=True)

    assert project.landed() == ["login/US-001", "login/US-002"]
    assert project.journal("accept_red")[0]["tests"] == ["src/old.py::works", "src/older.py::works"]
    assert "known failures are still there" in project.story("US-001")["evidence"]["warnings"]
    assert "src/old.py::works" in project.story("US-003")["execution"]["last_error"]
    assert "src/us_004.py::works" in project.story("US-004")["execution"]["last_error"]


def test_a_known_failure_spares_neither_another_check_nor_a_run_that_names_nothing(tmp_path: Path) -> None:
    silent = "sh -c 'if [ -e src/us_001.py ]; then exit 2; fi; echo FAILED tests/test_a.py::test_b; exit 1'"
    checks = [{"name": "test", "run": silent}, {"name": "lint", "run": "test ! -e src/us_002.py"}]
    project = build(tmp_path, story("US-001"), story("US-002"), checks=checks, limits={"max_attempts": 1})

    project.loop(agents=2, accepts_red=True)

    assert project.journal("accept_red")[0]["tests"] == ["tests/test_a.py::test_b"]
    assert project.landed() == []
    assert "test exit 2" in project.story("US-001")["execution"]["last_error"]
    assert "lint" in project.story("US-002")["execution"]["last_error"]


def test_neither_a_check_nor_a_hook_that_names_no_failing_test_is_accepted_as_known(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), checks=[{"name": "lint", "run": "sh -c 'echo 3 problems; exit 1'"}])

    ended = project.loop(accepts_red=True)

    assert (ended.code, ended.runs) == (ExitCode.CONFLICT, [])
    assert "lint failed without naming a test" in ended.rest.reason
    assert "take it out of `checks` until it is green" in ended.rest.reason
    assert project.journal("accept_red") == []

    project.configure()
    program(project.repo / ".git" / "hooks" / "pre-commit", "exit 1")
    ended = project.loop(accepts_red=True)
    assert (ended.code, ended.runs) == (ExitCode.CONFLICT, [])
    assert "fix it, or turn the hook off with git.hooks: skip" in ended.rest.reason
    assert "install the dependencies" not in ended.rest.reason


@pytest.mark.fault("A3")
def test_no_tests_at_all_are_an_empty_baseline_and_tests_that_are_gone_are_no_pass(tmp_path: Path) -> None:
    gone = "sh -c 'if [ -e src/us_002.py ]; then exit 5; fi' pytest"
    checks = [{"name": "none", "run": "sh -c 'exit 5' pytest"}, {"name": "some", "run": gone}]
    project = build(tmp_path, story("US-001"), story("US-002"), checks=checks, limits={"max_attempts": 1})

    project.loop(agents=2)

    assert project.landed() == ["login/US-001"]
    assert "no tests ran" in project.story("US-001")["evidence"]["warnings"]
    assert "some: no tests found" in project.story("US-002")["execution"]["last_error"]


TWO_SUITES = f"""\
set -e
{sys.executable} -m unittest discover -s first -t . || [ $? -eq 5 ]
{sys.executable} -m unittest discover -s second -t .
"""
FAILS = "import unittest\n\n\nclass TestIt(unittest.TestCase):\n    def test_it(self):\n        self.fail()\n"


def two_suites(tmp_path: Path, *, second: str) -> Project:
    """A check that runs two suites of unittest, the first of which is empty; one attempt, whose test fails."""
    checks = [{"name": "test", "run": "sh run-tests.sh"}]
    project = build(tmp_path, story("US-001"), checks=checks, limits={"max_attempts": 1})
    texts = {
        "run-tests.sh": TWO_SUITES,
        "first/__init__.py": "",
        "second/__init__.py": "",
        "second/test_old.py": second,
    }
    for name, text in texts.items():
        (project.repo / name).parent.mkdir(exist_ok=True)
        (project.repo / name).write_text(text)
    project.commit("test: two suites", *texts)
    project.play(stories={"US-001": [works(write={"src/a.py": "A = 1\n", "second/test_it.py": FAILS})]})
    return project


PASSES = FAILS.replace("self.fail()", "self.assertTrue(1)")


@pytest.mark.fault("A3")
@pytest.mark.parametrize("second", sampled(["", PASSES], ""))
def test_a_red_check_is_red_although_one_of_its_suites_is_empty(tmp_path: Path, second: str) -> None:
    project = two_suites(tmp_path, second=second)

    project.loop(agents=1)

    assert project.landed() == []
    assert "second/test_it.py::TestIt::test_it" in project.story("US-001")["execution"]["last_error"]


@pytest.mark.parametrize(("run", "said"), [("sh -c 'exit 5'", "test: exit 5"), ("no-such-program", "test: could not")])
def test_neither_a_code_of_5_alone_nor_a_check_that_cannot_be_started_is_green(
    tmp_path: Path, run: str, said: str
) -> None:
    ended = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": run}]).loop()

    assert (ended.code, ended.runs) == (ExitCode.CONFLICT, [])
    assert said in ended.text


def test_the_time_of_a_step_is_that_of_its_agents_and_checks_and_begins_anew_with_the_next_loop(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), story("US-002"), timeouts={"implementation": 0.01})

    ended = project.loop()

    assert (ended.code, ended.runs) == (ExitCode.BUDGET, ["US-001"])
    assert "implementation" in ended.rest.reason
    assert project.loop(agents=1).runs == ["US-002"]


def test_a_run_past_its_deadline_is_ended_and_counts(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), timeouts={"agent": 3.0})
    project.play(stories={"US-001": [{"hang": True}, works()]})

    project.loop(agents=2)

    assert project.outcomes()[:2] == [("US-001", "timed_out"), ("US-001", "succeeded")]


@pytest.mark.parametrize("number", [9, pytest.param(15, marks=pytest.mark.soak)])
@pytest.mark.fault("P14")
def test_a_check_that_was_killed_from_outside_is_no_red_baseline(tmp_path: Path, number: int) -> None:
    told = tmp_path / "told"
    once = f"if [ ! -e {told} ]; then touch {told}; kill -{number} $$; fi"
    project = build(tmp_path, story("US-001"), checks=[{"name": "test", "run": f'sh -c "{once}"'}])

    with pytest.raises(EnvironmentProblem, match=f"killed from outside .signal {number}"):
        project.loop()

    assert project.journal("baseline") == []
    project.loop(agents=1)
    assert project.landed() == ["login/US-001"]


@pytest.mark.parametrize("how", sampled(["kill -9 $$", "kill -15 $$", "exit 137"], "exit 137"))
@pytest.mark.fault("P14")
def test_a_check_that_is_killed_at_a_story_is_run_again_costs_no_attempt_and_rejects_in_the_end(
    tmp_path: Path, how: str
) -> None:
    """It is killed twice with the first story's work, and each time with the second one's."""
    run = (f"[ ! -e src/us_002.py ] || {{ echo ran >> {tmp_path}/second; kill -9 $$; }}; "
           f"[ -e src/us_001.py ] || exit 0; echo ran >> {tmp_path}/first; "
           f"[ $(wc -l < {tmp_path}/first) -gt 2 ] || {how}")  # fmt: skip
    check = {"name": "test", "run": f"sh -c '{run}'"}
    project = build(tmp_path, story("US-001"), story("US-002"), checks=[check], limits={"max_attempts": 1})

    ended = project.loop(agents=2)

    assert project.landed() == ["login/US-001"]
    assert project.outcomes() == [("US-001", "succeeded"), ("US-002", "rejected")]
    assert project.story("US-001")["execution"]["attempts"] == 1
    assert "test was killed" in ended.text
    assert "test was killed (signal 9)" in project.story("US-002")["execution"]["last_error"]
    assert (tmp_path / "second").read_text().split() == ["ran"] * 4
    assert ended.pauses == [5, 15, 5, 15, 45]
    assert_clean(project)


def test_an_agent_that_is_not_there_is_said_before_any_check_runs(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001"), agent={"preset": "claude", "command": ["claude-of-nobody"]})

    code, said = project.call("loop")

    assert code == ExitCode.ENVIRONMENT
    assert "claude-of-nobody is not on PATH" in said
    assert "put it on PATH, or set agent.command" in said
    assert project.journal("baseline") == []
