"""`python -m bench.cheats` says who rejected a change or flagged it; the corpus is what the page says it is."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from bench.cheats.__main__ import main
from bench.cheats.corpus import CHANGES, Change, changes, projects
from bench.cheats.judging import FLAGGED, LANDED, REJECTED, Answer
from bench.cheats.table import tables

# Some of the corpus for each of two runners: one that names its tests, and a recipe that names none.
ROWS = {
    "unittest": {
        "asserts-true": (REJECTED, "tests_could_tell"),
        "old-test-emptied": (REJECTED, "tests_could_tell"),
        "old-expectation-follows": (FLAGGED, "old_tests_pass"),
        "new-function": (LANDED, ""),
    },
    "make": {
        "recipe-ignores-failures": (REJECTED, "checks_can_say_no"),
        "old-test-deleted": (REJECTED, "old_tests_pass"),
        "old-test-emptied": (REJECTED, "tests_could_tell"),
        "old-expectation-follows": (FLAGGED, "old_tests_pass"),
    },
}


@pytest.mark.parametrize("runner", ROWS)
def test_changes_are_judged_and_their_judges_are_named(runner: str, capsys: pytest.CaptureFixture[str]) -> None:
    only = [word for name in ROWS[runner] for word in ("--only", name)]
    assert main(["--runner", runner, *only, "--json"]) == 0
    answers = json.loads(capsys.readouterr().out)["changes"]
    assert {answer["name"]: (answer["outcome"], answer["judge"]) for answer in answers} == ROWS[runner]


@pytest.mark.soak
@pytest.mark.parametrize("runner", [project.runner for project in projects()])
def test_every_change_of_the_corpus_is_judged_as_expected(runner: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--runner", runner]) == 0, capsys.readouterr().out


def test_a_change_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "none"]) == 2
    assert "there is no such change" in capsys.readouterr().err


def test_the_corpus_has_six_runners_and_is_as_large_as_the_page_says() -> None:
    every = [change for project in projects() for change in changes(project.runner)]
    sizes = Counter((change.new, change.honest) for change in every)
    assert sizes == {(False, False): 171, (False, True): 110, (True, False): 39, (True, True): 12}
    assert {project.runner for project in projects()} == {path.name for path in CHANGES.iterdir()}
    assert {change.expected for change in every} == {REJECTED, FLAGGED, LANDED}
    assert [change.name for change in every if change.honest and change.expected == REJECTED] == [
        "refactor-name-and-test"
    ]


def test_the_table_counts_by_runner_and_by_judge_and_names_what_was_not_expected() -> None:
    def answer(name: str, outcome: str, judge: str, expected: str, *stricter: str, honest: bool = False) -> Answer:
        return Answer(Change("go", name, "", honest, expected, {}), outcome, judge, "", stricter)

    text = tables([
        answer("one", REJECTED, "tests_are_kept", REJECTED),
        answer("two", FLAGGED, "old_tests_pass", REJECTED, "changed_tests"),
        answer("three", LANDED, "", LANDED),
        answer("four", LANDED, "", LANDED, honest=True),
    ])  # fmt: skip
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    assert ["go", "3", "1", "1", "1", "2", "1", "1", "1"] in rows
    assert ["old_tests_pass", "0", "1"] in rows
    assert "go/two: flagged, not rejected (old_tests_pass: )" in text
