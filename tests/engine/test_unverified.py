"""Without checks a story lands unverified, and nothing that a person reads claims more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ralphy.engine.publish import evidence_of
from ralphy.errors import ExitCode
from ralphy.forge.body import evidence_table
from ralphy.pipeline.stories import completed
from ralphy.pipeline.verification import is_unverified, unverified, verified_by
from tests.core.building import done, one, prd
from tests.engine.building import Project, assert_clean, build, story, works
from tests.engine.nights import played_once

CRITERIA = [{"id": "AC1", "description": "All checks pass", "done": False}]
RAN = {"run": "r1", "checks": [{"name": "test", "exit": 0, "seconds": 1.0}]}


@played_once
def unchecked(tmp_path: Path) -> Project:
    """A feature without any check, at its end."""
    auto = {"spec": "auto", "qa": "auto"}
    project = build(tmp_path, story("US-001", acceptanceCriteria=CRITERIA), checks=[], gates=auto)
    project.play(stories={"*": [works()]})
    ended = project.loop()
    assert ended.code == ExitCode.DONE
    assert "landed US-001 unverified: " in ended.text and "verified and committed" not in ended.text
    assert "all stories are completed; landed unverified" in ended.rest.reason
    assert "no remote" in ended.text
    return project


@pytest.mark.fault("G7")
def test_a_story_without_checks_lands_unverified_and_without_a_remote_the_branch_is_the_result(
    unchecked: Project,
) -> None:
    found = unchecked.story("US-001")
    assert (found["evidence"]["checks"], found["evidence"]["verified"]) == ([], False)
    assert found["acceptanceCriteria"] == CRITERIA
    message = unchecked.git("log", "-1", "--format=%b", unchecked.commit_of("US-001"))
    assert message.startswith("This story is unverified: no checks ran.\n\nRalphy-Story:")
    assert "US-001: completed; unverified: no checks ran" in unchecked.prompts("qa")[0]
    assert "US-001: completed; unverified: no checks ran" in unchecked.prompts("pr")[0]
    assert "## Unverified\n\nThese stories landed unverified" in unchecked.read("PR.md")
    tasks = unchecked.read("TASKS.md")
    assert "completed, unverified" in tasks and "[ ] AC1: All checks pass" in tasks
    assert unchecked.prd()["workflow"]["pr"]["pushed"] is False
    assert_clean(unchecked)


def test_status_and_show_say_it(unchecked: Project, capfd: pytest.CaptureFixture[str]) -> None:
    from ralphy.cli.main import main

    for words, said in (
        (["status"], "unverified: 1 of 1 completed stories (no checks ran)"),
        (["status"], "US-001 Story US-001 (completed, unverified"),
        (["--json", "status"], '"verified":false'),
        (["story", "show", "US-001"], "checks: unverified: no checks ran"),
        (["story", "show", "US-001"], "[ ] AC1: All checks pass"),
    ):
        assert main(["-C", str(unchecked.repo), *words]) == 0
        assert said in capfd.readouterr().out.replace(": false", ":false")


def test_a_story_with_a_check_is_verified_and_its_criteria_are_ticked(tmp_path: Path) -> None:
    project = build(tmp_path, story("US-001", acceptanceCriteria=CRITERIA))

    ended = project.loop()

    assert "verified and committed US-001: " in ended.text
    assert project.story("US-001")["evidence"]["verified"] is True
    assert project.story("US-001")["acceptanceCriteria"] == [{**CRITERIA[0], "done": True}]
    assert project.git("log", "-1", "--format=%b", project.commit_of("US-001")).startswith("Ralphy-Story:")


def test_the_pull_request_says_which_stories_are_unverified() -> None:
    rows = [
        evidence_of(s) for s in prd(done("A", evidence={"run": "r", "checks": []}), done("B", evidence=RAN)).stories
    ]
    table = evidence_table(rows)
    assert "| A Story A | 0 | $0.00 | unverified | 0 |" in table
    assert "**1 of 2 stories landed unverified: no checks ran.**" in table
    assert "unverified" not in evidence_table(rows[1:])


@pytest.mark.parametrize(
    ("evidence", "is_so", "said"),
    [
        ({}, False, ""),  # imported
        ({"run": "r", "checks": []}, True, "unverified: no checks ran"),
        ({"run": "r", "checks": [], "verified": False}, True, "unverified: no checks ran"),
        ({"checks": [{"name": "test", "exit": 5}], "verified": False}, True, "unverified: no tests ran (test exit 5)"),
        (RAN, False, "test passed"),
        ({"checks": [{"name": "test", "exit": 1}], "verified": True}, False, "test exit 1"),  # known red
        ({"accepted": "by a person", "checks": [], "verified": False}, False, "unverified: no checks ran"),
    ],
)
def test_what_counts_as_unverified(evidence: dict[str, Any], is_so: bool, said: str) -> None:
    found = prd(done("A", evidence=evidence))
    assert is_unverified(found.stories[0]) is is_so
    assert verified_by(evidence) == said
    assert bool(unverified(found)) is is_so


def test_criteria_of_an_unverified_story_are_left_as_they_were() -> None:
    found = one(acceptanceCriteria=CRITERIA, tasks=[{"title": "x"}])
    fields = completed(found, {}, {"verified": False}, [])
    assert "acceptanceCriteria" not in fields and fields["tasks"] == [{"title": "x", "done": True}]
